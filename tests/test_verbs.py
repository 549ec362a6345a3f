"""Verbs that exist as functions beside the command line: `ask`, the demo, and what constant policies score."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Action, PolicyView, Reading, WorkingMemory
from looseleaf.benchmarks import constant_scores, load_benchmark
from looseleaf.demo_data import DEMO_DATA
from looseleaf.errors import ConfigError
from looseleaf.models.scripted import ScriptedPolicy
from looseleaf.runner.ask import ask
from looseleaf.runner.demo import NOTE_STYLES, run_demo
from looseleaf.trajectory import StopReason

REPORT = DEMO_DATA / "documents" / "northmere_annual_report_2023.pdf"
QUESTION = "What was the revenue of Pressure sensors in 2023, in EUR million?"
TURNS = [Action.fetch(4), Action.note("Pressure sensors, 2023: 31.8", 4), Action.answer("31.8.")]


def test_ask_gives_answer_findings_and_what_the_findings_alone_give() -> None:
    asked = ask(REPORT, QUESTION, policy=ScriptedPolicy(TURNS))
    assert asked.answer == "31.8."
    assert [finding.source_page for finding in asked.trajectory.memory] == [4]
    assert asked.reading == "31.8"
    assert asked.memory_agrees is True


def test_a_memory_that_says_something_else_does_not_agree() -> None:
    class Other:
        def read(self, question: str, memory: WorkingMemory) -> Reading:
            return Reading(text=f"{len(memory)} findings")

    asked = ask(REPORT, QUESTION, policy=ScriptedPolicy(TURNS), reader=Other())
    assert asked.reading == "1 findings"
    assert asked.memory_agrees is False


def test_without_a_memory_or_after_a_fault_nothing_is_read() -> None:
    class Broken:
        def act(self, view: PolicyView) -> Action:
            raise RuntimeError("no")

    assert ask(REPORT, QUESTION, protocol="rag").memory_agrees is None
    asked = ask(REPORT, QUESTION, policy=Broken())
    assert asked.trajectory.stop_reason is StopReason.PROVIDER_ERROR
    assert asked.reading is None


def test_a_folder_is_asked_as_one_document() -> None:
    asked = ask(DEMO_DATA / "documents", QUESTION, policy=ScriptedPolicy([Action.answer("31.8")]))
    assert asked.document.page_count > 8


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"question": "  "}, "empty"),
        ({"protocol": "ep-given"}, "gold pages"),
        ({"retriever": "gold-pages"}, "gold pages"),
        ({"policy": "nobody"}, "no policy"),
        ({"reader": "nobody"}, "no reader"),
    ],
)
def test_what_cannot_be_asked_is_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ask(REPORT, **{"question": QUESTION, **given})


def test_constant_policies_score_what_refusals_are_worth() -> None:
    questions = load_benchmark("procedural", DEMO_DATA)
    found = constant_scores(questions)
    unanswerable = [question for question in questions.questions if question.unanswerable]
    assert found.questions == len(questions.questions)
    assert found.always == pytest.approx(len(unanswerable) / found.questions)
    assert found.without_pages == len(unanswerable)
    assert found.informed == found.always
    assert found.reveals


def test_the_demo_runs_and_scores_every_note_writer_once(tmp_path: Path) -> None:
    told: list[str] = []
    runs = run_demo(tmp_path, progress=lambda stage, finished, total: told.append(stage))
    assert [made.style for made in runs] == list(NOTE_STYLES)
    answers = [
        {key: found.answer for key, found in made.run.trajectories().items()} for made in runs
    ]  # they finish in any order
    assert answers[0] == answers[1] == answers[2]
    assert all(made.scored.unscored == 0 for made in runs)
    assert set(NOTE_STYLES) <= set(told)
    told.clear()
    run_demo(tmp_path, progress=lambda stage, finished, total: told.append(stage))
    assert told == []
