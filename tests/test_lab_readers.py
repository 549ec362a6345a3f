"""Do readers agree, do they agree with themselves, and what did they know already?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from lab_runs import FIRST_VALUE, LAST_VALUE, NO_EXTRACTOR, Case, config_for, examined, write_run
from looseleaf.lab.answerability import answerability
from looseleaf.lab.question_only import QuestionOnlyReader
from looseleaf.lab.robustness import agreements, cohens_kappa, knowledge, sampled
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.models.role_spec import RoleSpec
from looseleaf.models.scripted import ConstantReader
from looseleaf.roles import Reader, Reading
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.lab import LabConfig
from looseleaf.runner.lab.config import last_score_config
from looseleaf.runstore import Run
from looseleaf.trajectory import StopReason
from stub_server import StubServer, completion

MakeModule = Callable[[str], str]


def rows(path: Path) -> Run:
    """Of four right answers the last-value reader supports two and the first-value reader two others, one shared."""
    return write_run(
        path,
        [
            Case("7 m", "7 m", [(2, "The oak is 7 m.")]),
            Case("8 m", "8 m", [(2, "The ash is 7 m."), (4, "The ash is 8 m.")]),
            Case("9 m", "9 m", [(2, "The elm is 9 m."), (4, "The elm is 7 m.")]),
            Case("5 m", "5 m", [(2, "A page about trees.")]),
            Case("4 m", "wrong", [(2, "The fir is 4 m.")]),
        ],
    )


def test_agreement_by_hand(tmp_path: Path, agent_module: MakeModule) -> None:
    config = config_for(agent_module(LAST_VALUE), agent_module(FIRST_VALUE))
    scored, outcome = examined(rows(tmp_path / "run"), config)
    found = agreements(scored, outcome.reading_ids, ">0")
    assert len(found) == 1
    both = found[0]
    assert (both.n, both.agree.value) == (5, 3 / 5)
    # each reader answers 3 of 5: chance agreement is .36 + .16
    assert both.kappa == pytest.approx((0.6 - 0.52) / 0.48)
    assert [share.value for share in both.p_mmc] == [0.5, 0.5]
    assert (both.flips.value, both.flips.n) == (0.5, 4)
    assert (both.rescued.value, both.lost.value) == (0.5, 0.5)


def test_kappa_is_undefined_where_there_is_nothing_to_agree_on() -> None:
    assert cohens_kappa([]) is None
    assert cohens_kappa([(True, True)] * 3) is None
    assert cohens_kappa([(True, True), (False, False)]) == 1
    assert cohens_kappa([(True, False), (False, True)]) == -1


DICE = """
from looseleaf.models.chat.sampling import current_sample
from looseleaf.roles import Reading

class Dice:
    '''Gives the last value in its even samples only.'''
    def read(self, question, memory):
        values = [f.text.split(" is ")[1].rstrip(".") for f in memory if " is " in f.text]
        even = current_sample().number % 2 == 0
        return Reading(text=values[-1] if values and even else "Not answerable")

def make():
    return Dice()
"""


def test_samples_by_hand(tmp_path: Path, agent_module: MakeModule) -> None:
    config = config_for(agent_module(DICE), samples=4)
    scored, outcome = examined(rows(tmp_path / "run"), config)
    found = sampled(scored, outcome.sampled_ids[0], ">0")
    assert found is not None
    assert found.samples == 4
    # rows 0, 1 and 4 are right in 2 of 4 samples, rows 2 and 3 in none
    assert found.mean_correct.value == pytest.approx(3 * 0.5 / 5)
    assert found.unanimous.value == pytest.approx(2 / 5)
    assert found.p_mmc.values == (0.5, 1.0, 0.5, 1.0)
    assert found.p_mmc.mean == 0.75


def test_samples_of_a_reader_that_cannot_differ_are_not_read(tmp_path: Path) -> None:
    config = LabConfig(
        score=ScoreConfig(extractor=NO_EXTRACTOR), samples=3, grounding=RoleSpec(backend="none")
    )
    scored, outcome = examined(rows(tmp_path / "run"), config)
    assert outcome.sampled_ids == ()
    assert any("not sampled" in notice for notice in outcome.notices)
    assert sampled(scored, outcome.reading_ids[0], ">0") is None


def test_chat_readers_are_sampled_at_a_temperature_with_a_ledger_of_their_own() -> None:
    reader = RoleSpec(backend="openai", argument="m", options={"base_url": "http://127.0.0.1:1/v1"})
    again = LabConfig(samples=2, temperature=0.9).sampled(reader)
    assert again is not None
    assert again.options == {"base_url": "http://127.0.0.1:1/v1", "temperature": 0.9}
    assert LabConfig().sampled(reader) is None


KNOWS = """
from looseleaf.roles import Reading

class Knows:
    '''Knows that the oak has 7 m, whatever the notes say.'''
    def read(self, question, memory):
        values = [f.text.split(" is ")[1].rstrip(".") for f in memory if " is " in f.text]
        return Reading(text=values[-1] if values else "7 m")

def make():
    return Knows()
"""


def test_what_a_reader_knew_already(tmp_path: Path, agent_module: MakeModule) -> None:
    scored, outcome = examined(rows(tmp_path / "run"), config_for(agent_module(KNOWS)))
    found = knowledge(scored, outcome.reading_ids[0], ">0")
    assert found is not None
    assert found.known.value == pytest.approx(1 / 5)
    assert found.supported_known.value == pytest.approx(1 / 3), "row 0 of the rows 0, 1 and 4"
    assert found.p_mmc_unknown.value == pytest.approx(2 / 3), "rows 2 and 3 of 1, 2 and 3"


def test_other_readers_get_an_empty_memory_for_the_question_alone() -> None:
    class Echo:
        def read(self, question: str, memory: WorkingMemory) -> Reading:
            return Reading(text=f"{question}{len(memory)}")

    def alone(reader: Reader) -> str:
        memory = WorkingMemory([Finding("Because.", 1)])
        return asyncio.run(QuestionOnlyReader(reader).read("Why?", memory)).text

    assert alone(Echo()) == "Why?0"
    assert alone(ConstantReader("x")) == "x"


def test_a_chat_model_is_allowed_to_know_for_the_question_alone(tmp_path: Path) -> None:
    with StubServer(answer=lambda request: completion("7 m")) as stub:
        options = {"base_url": stub.base_url, "cache": False}
        reader = RoleSpec(backend="openai", argument="m", options=options)
        config = LabConfig(
            score=ScoreConfig(extractor=NO_EXTRACTOR, readers=(reader,)), grounding=RoleSpec(backend="none")
        )
        run = write_run(tmp_path / "run", [Case("7 m", "7 m", [(2, "The oak is 7 m.")])])
        scored, outcome = examined(run, config)
        prompts = [request.json["messages"][0]["content"] for request in stub.log.chats]
    alone = [prompt for prompt in prompts if "from what you already know" in prompt]
    assert len(alone) == 1
    assert "Notes:" not in alone[0]
    assert all("Notes:" in prompt for prompt in prompts if prompt not in alone)
    assert knowledge(scored, outcome.reading_ids[0], ">0") is not None


# -- the tables ---------------------------------------------------------------------------------------------------


def test_cells_thresholds_and_breakdowns(tmp_path: Path, agent_module: MakeModule) -> None:
    cases = [
        Case("7 m", "7 m", [(2, "The oak is 7 m.")], fields={"sources": ("Table",), "doc_type": "Report"}),
        Case("9 m", "9 m", [(2, "No tree.")], fields={"sources": ("Chart", "Table"), "doc_type": "Report"}),
        Case("Not answerable", "Not answerable", fields={"unanswerable": True, "answer_format": "None"}),
        Case("4 m", None, stop=StopReason.PROVIDER_ERROR, fields={"sources": ("Figure",)}),
    ]
    scored, outcome = examined(write_run(tmp_path / "run", cases), config_for(agent_module(LAST_VALUE)))
    found = answerability(scored, outcome.reading_ids[0])
    assert found.headline["P_mmc[answerable]"].value == 0.5
    assert found.headline["P_mmc"].value == pytest.approx(1 / 3), "the empty memory wins the unanswerable row"
    assert found.headline["MemAcc[answerable]"].n == 3
    assert found.headline["MemAcc[answerable]"].n_scored == 2
    assert set(found.by_threshold) == {">0", ">=0.5", "=1"}
    parts = {
        breakdown.name.partition(",")[0] + ("*" if breakdown.overlapping else ""): {
            table.label: table.n_rows for table in breakdown.tables
        }
        for breakdown in found.breakdowns
    }
    assert parts["evidence source"] == {"table": 1, "mixed": 1, "none": 1, "figure": 1}
    assert parts["evidence source*"] == {"table": 2, "chart": 1, "none": 1, "figure": 1}
    assert parts["document type"] == {"Report": 2, "(none)": 2}
    assert parts["training step"] == {"(none)": 4}
    assert parts["answerability"] == {"answerable": 3, "unanswerable": 1}


def test_the_scoring_of_before_is_the_default(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [Case("7 m", "7 m")])
    assert last_score_config(run) == ScoreConfig()
    reader = RoleSpec(backend="constant", argument="x")
    roles = {"reader": [reader.as_config()], "extractor": NO_EXTRACTOR.as_config()}
    run.write_config(run.config | {"roles": roles, "score": {"scorer": "dude.anls"}})
    found = last_score_config(run)
    assert found == ScoreConfig(scorer="dude.anls", readers=(reader,), extractor=NO_EXTRACTOR)
