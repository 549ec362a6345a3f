"""Audits of findings and of memories that say the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from lab_runs import LAST_VALUE, Case, config_for, examined, step, write_run
from looseleaf.lab.echoes import audit_echoes
from looseleaf.lab.findings import audit_findings, was_shown
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.specificity import is_generic, says_nothing_found
from looseleaf.memory import Finding
from looseleaf.roles import Action
from looseleaf.trajectory import Step, Trajectory

MakeModule = Callable[[str], str]
QUESTION = "What is the 2020 rate of unemployment in Oslo?"


@pytest.mark.parametrize(
    ("text", "generic", "negative"),
    [
        ("The chart shows trends.", True, False),
        ("This page has information related to: rate of unemployment in Oslo", True, False),
        ("The rate of unemployment in Oslo in 2020 is discussed.", True, False),
        ("Page 4 shows a table of rates, see Table 3.", True, False),
        ("The 2020 rate is 4.7 %.", False, False),
        ("Oslo had its highest unemployment in spring.", False, False),
        ("The minister of labour is Bodo Karst.", False, False),
        ("Nothing found here that answers.", False, True),
        ("The page does not mention the rate.", False, True),
        ("There is no information about Oslo.", False, True),
        ("It doesn't give the rate for 2020, which was 4.7 % in Bergen.", False, False),
    ],
)
def test_what_a_finding_says(text: str, generic: bool, negative: bool) -> None:
    assert (is_generic(text, QUESTION), says_nothing_found(text)) == (generic, negative)


def scored_of(path: Path, reader: str, cases: list[Case], **protocol: object) -> tuple[ScoredRun, str]:
    scored, outcome = examined(write_run(path, cases, **protocol), config_for(reader))
    return scored, outcome.reading_ids[0]


def test_findings_by_hand(tmp_path: Path, agent_module: MakeModule) -> None:
    cases = [
        Case(
            "7 m",
            "7 m",
            [(2, "The oak is 7 m."), (4, "The chart shows trends.")],
            fields={"evidence_pages": (1,)},
        ),
        Case("9 m", "9 m", [(2, "Nothing found.")], fields={"evidence_pages": (3,)}),
        Case("5 m", "5 m", [(2, "word " * 41)], fields={"evidence_pages": None}),
        Case("1 m", "1 m"),
    ]
    scored, _ = scored_of(tmp_path / "run", agent_module(LAST_VALUE), cases, validation="record")
    found = audit_findings(scored)
    assert (found.findings, found.memories, found.empty) == (4, 3, 1)
    assert (found.shown.value, found.shown_cannot_fail) == (1, "")
    assert (found.gold.value, found.gold.n, found.gold_cannot_fail) == (pytest.approx(1 / 3), 3, "")
    assert found.all_gold.value == 0
    assert (found.over_length.value, found.longest, found.over_length_cannot_fail) == (0.25, 41, "")
    assert found.words.value == pytest.approx((5 + 4 + 2 + 41) / 4)
    assert (found.generic.value, found.nothing_found.value) == (0.25, 0.25)


def test_what_the_protocol_makes_impossible_is_said(tmp_path: Path, agent_module: MakeModule) -> None:
    case = Case("7 m", "7 m", [(2, "The oak is 7 m.")], fields={"evidence_pages": (1,)})
    reader = agent_module(LAST_VALUE)
    scored, _ = scored_of(tmp_path / "run", reader, [case])
    found = audit_findings(scored)
    assert "rejects" in found.shown_cannot_fail
    assert "rejects" in found.over_length_cannot_fail
    assert found.gold_cannot_fail == ""
    run = write_run(tmp_path / "ep-given", [case])
    record = msgspec.structs.replace(run.trajectories()["mini:0#0"], oracle={"gold_pages": True})
    run.trajectory_ledger.append(record)
    scored, _ = examined(run, config_for(reader))
    assert "only gold pages were shown" in audit_findings(scored).gold_cannot_fail


def test_a_page_counts_as_shown_from_the_turn_that_showed_it() -> None:
    steps: tuple[Step, ...] = (
        step(1, Action.search("x"), shown=(2,)),
        step(2, Action.note("a", 2)),
        step(3, Action.note("b", 5)),
        step(4, Action.fetch(5), shown=(5,)),
        step(5, Action.note("c", 5)),
    )
    trajectory = msgspec.convert(
        {
            "trajectory_id": "m:0#0",
            "question_id": "m:0",
            "benchmark": "m",
            "doc_id": "a",
            "question": "?",
            "stop_reason": "answered",
        },
        Trajectory,
    )
    memory = (Finding("a", 2), Finding("b", 5), Finding("c", 5))
    assert was_shown(msgspec.structs.replace(trajectory, steps=steps, memory=memory)) == (True, False, True)


def test_echo_of_gold_and_of_the_prediction_apart(tmp_path: Path, agent_module: MakeModule) -> None:
    cases = [
        Case("7 m", "7 m", [(2, "The oak is 7 m.")]),
        Case("9 m", "8 m", [(2, "The elm is 8 m.")]),
        Case("4,700,000", "4.7 million", [(2, "It cost 4.7 million.")], fields={"answer_format": "Int"}),
        Case("electric car sales", "cars", [(2, "Sales of electric cars grew.")]),
        Case("5 m", "5 m", [(2, "A page about trees.")]),
        Case("Not answerable", "Not answerable", [(2, "Nothing.")], fields={"unanswerable": True}),
    ]
    scored, reader = scored_of(tmp_path / "run", agent_module(LAST_VALUE), cases)
    found = audit_echoes(scored, reader, ">0")
    assert found.rows == 5
    assert found.gold == {"exact": 1, "normalised": 0, "numeric": 1, "paraphrase": 1, "none": 2}
    assert found.predicted == {"exact": 4, "normalised": 0, "numeric": 0, "paraphrase": 0, "none": 1}
    assert (found.paper_filter.value, found.without_gold.n) == (1 / 5, 4)
    assert found.without_gold.value == 0
    assert found.without_predicted.n == 1
    assert found.unremovable == 1


def test_a_bare_echo_is_a_finding_that_says_nothing_but_the_answer(
    tmp_path: Path, agent_module: MakeModule
) -> None:
    cases = [Case("7 m", "7 m", [(2, "The answer is 7 m.")]), Case("9 m", "9 m", [(2, "The elm is 9 m.")])]
    scored, reader = scored_of(tmp_path / "run", agent_module(LAST_VALUE), cases)
    assert audit_echoes(scored, reader, ">0").bare.value == 0.5
