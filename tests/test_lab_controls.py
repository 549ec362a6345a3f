"""Controls move as constructed: answer removal, shuffling, leave-one-out, keep-one-in, prefixes and budgets."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from lab_runs import (
    FIRST_VALUE,
    LAST_VALUE,
    Case,
    config_for,
    examined,
    question_of,
    trajectory_of,
    value_of,
    write_run,
)
from looseleaf.errors import ConfigError, RunError
from looseleaf.lab.carriers import carriers, row_carriers
from looseleaf.lab.controls import controls
from looseleaf.lab.donors import donor_questions
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.variants import Material, Variant, VariantKind, kinds_named, memories_of
from looseleaf.runstore import Run
from looseleaf.trajectory import StopReason

MakeModule = Callable[[str], str]
GOLD = "The oak is 7 m."


def two_rows(path: Path) -> Run:
    """Both answer 7 and 9; the other finding of each says nothing."""
    return write_run(
        path,
        [
            Case("7 m", "7 m", [(2, GOLD), (4, "A page about trees.")]),
            Case("9 m", "9 m", [(2, "A page about trees."), (4, "The elm is 9 m.")]),
        ],
    )


def test_every_control_moves_as_constructed(tmp_path: Path, agent_module: MakeModule) -> None:
    scored, outcome = examined(two_rows(tmp_path / "run"), config_for(agent_module(LAST_VALUE)))
    reader = outcome.reading_ids[0]
    expected = {
        "own": (1, 1),
        "empty": (0, 0),
        "question-only": (0, 0),
        "answer-removed": (0, 0),
        "prediction-removed": (0, 0),
        "shuffled": (0, 0),
        "leave-one-out:1": (0, 1),
        "leave-one-out:2": (1, 0),
        "keep-one-in:1": (1, 0),
        "keep-one-in:2": (0, 1),
        "prefix:1": (1, 0),
        "prefix:2": (1, 1),
        "budget:10": (1, 1),
        "gold-text": (-1, -1),
    }
    for name, values in expected.items():
        found = tuple(value_of(scored, reader, name, f"mini:{row}#0") for row in range(2))
        assert found == values, name
    assert outcome.unscored == 0


def test_the_control_table_says_what_was_lost_and_gained(tmp_path: Path, agent_module: MakeModule) -> None:
    scored, outcome = examined(two_rows(tmp_path / "run"), config_for(agent_module(LAST_VALUE)))
    table = {control.variant: control for control in controls(scored, outcome.reading_ids[0], ">0")}
    assert list(table) == [
        *("own", "empty", "question-only", "answer-removed", "prediction-removed", "shuffled"),
    ]
    assert (table["own"].lost.value, table["own"].gained.value) == (0, None)
    assert table["shuffled"].lost.value == 1
    assert table["shuffled"].same_gold is not None
    assert table["shuffled"].same_gold.value == 0
    assert table["own"].table["P_mmc[answerable]"].value == 0
    assert table["answer-removed"].table["P_mmc[answerable]"].value == 1


def test_which_finding_carries_the_answer(tmp_path: Path, agent_module: MakeModule) -> None:
    twice = Case("7 m", "7 m", [(2, GOLD), (4, "The oak is 7 m.")], fields={"evidence_pages": (1,)})
    drowned = Case("7 m", "7 m", [(2, GOLD), (4, "The oak is 8 m.")], fields={"evidence_pages": (1,)})
    run = write_run(tmp_path / "run", [Case("7 m", "7 m", [(2, GOLD)]), twice, drowned])
    scored, outcome = examined(run, config_for(agent_module(LAST_VALUE)))
    reader = outcome.reading_ids[0]
    rows = [row_carriers(scored, reader, item, ">0") for item in scored.items]
    assert [row.necessary for row in rows] == [(1,), (), ()]
    assert [row.sufficient for row in rows] == [(1,), (1, 2), (1,)]
    summary = carriers(scored, reader, ">0")
    assert summary is not None
    assert (summary.one_suffices.value, summary.redundant.value, summary.one_needed.value) == (1, 0.5, 0.5)
    assert (summary.drowned.value, summary.drowned.n) == (1, 1)
    assert summary.gold_page.value == pytest.approx(2 / 3), "pages 1, 2 and 1 against gold page 1"
    assert summary.places == {"only": 1, "first": 2, "last": 1}


def test_parts_that_were_not_read_are_unknown_and_not_wrong(tmp_path: Path, agent_module: MakeModule) -> None:
    config = config_for(agent_module(LAST_VALUE), kinds=(VariantKind.KEEP_ONE_IN,))
    scored, outcome = examined(two_rows(tmp_path / "run"), config)
    row = row_carriers(scored, outcome.reading_ids[0], scored.items[0], ">0")
    assert (row.necessary, row.sufficient) == (None, (1,))
    summary = carriers(scored, outcome.reading_ids[0], ">0")
    assert summary is not None
    assert (summary.one_needed.value, summary.one_needed.n) == (None, 0)


def test_the_first_reader_reads_everything_and_the_others_the_main_three(
    tmp_path: Path, agent_module: MakeModule
) -> None:
    first, second = agent_module(LAST_VALUE), agent_module(FIRST_VALUE)
    scored, outcome = examined(two_rows(tmp_path / "run"), config_for(first, second))
    assert scored.variants(outcome.reading_ids[1]) == ["own", "empty", "question-only"]
    scored, outcome = examined(scored.run, config_for(first, second, all_readers=True))
    assert set(scored.variants(outcome.reading_ids[1])) == set(scored.variants(outcome.reading_ids[0]))


def test_equal_memories_are_read_once_and_nothing_twice(tmp_path: Path, agent_module: MakeModule) -> None:
    name = agent_module(LAST_VALUE)
    run = write_run(tmp_path / "run", [Case("7 m", "7 m", [(2, GOLD)])])
    examined(run, config_for(name))
    asked = importlib.import_module(name).asked
    memories = [memory for _, memory, _ in asked]
    assert (
        sorted(memories) == ["", "", "[page 1] The oak is 7 m.", "[page 1] The oak is … m."]
        or len(memories) <= 5
    )
    before = len(asked)
    examined(run, config_for(name))
    assert len(asked) == before


def test_a_faulty_trajectory_is_unscored_under_every_variant(
    tmp_path: Path, agent_module: MakeModule
) -> None:
    broken = Case("7 m", None, stop=StopReason.PROVIDER_ERROR)
    run = write_run(tmp_path / "run", [Case("7 m", "7 m", [(2, GOLD)]), broken])
    scored, outcome = examined(run, config_for(agent_module(LAST_VALUE)))
    for name in ("own", "empty", "keep-one-in:1"):
        assert value_of(scored, outcome.reading_ids[0], name, "mini:1#0") is None
    assert outcome.unscored == 1, "its final answer"


# -- derangement --------------------------------------------------------------------------------------------------


def many(count: int, doc: str = "a.pdf", answer_format: str = "Int") -> list[Case]:
    return [Case(str(i), str(i), doc=doc, fields={"answer_format": answer_format}) for i in range(count)]


def test_donors_share_document_and_format_and_are_never_oneself() -> None:
    cases = [*many(5), *many(4, "b.pdf"), *many(3, answer_format="Str"), *many(1, "c.pdf")]
    questions = [question_of(index, case) for index, case in enumerate(cases)]
    by_id = {question.question_id: question for question in questions}
    donors = donor_questions(questions)
    assert set(donors) == {question.question_id for question in questions[:12]}, "the last one is alone"
    for receiver, donor in donors.items():
        assert receiver != donor
        a, b = by_id[receiver], by_id[donor]
        assert (a.doc_id, a.answer_format) == (b.doc_id, b.answer_format)
    for document in (questions[:5], questions[5:9]):
        ids = {question.question_id for question in document}
        assert {donors[name] for name in ids} == ids, "a permutation"


def test_donors_follow_the_seed_only() -> None:
    questions = [question_of(index, case) for index, case in enumerate(many(9))]
    assert donor_questions(questions) == donor_questions(questions)
    assert donor_questions(questions, 1) != donor_questions(questions, 2)


def test_a_pair_swaps() -> None:
    questions = [question_of(index, case) for index, case in enumerate(many(2))]
    assert donor_questions(questions) == {"mini:0": "mini:1", "mini:1": "mini:0"}


# -- names --------------------------------------------------------------------------------------------------------


def test_names_of_variants_are_read_back() -> None:
    for kind in VariantKind:
        for argument in ("", "3"):
            assert Variant.parse(Variant(kind, argument).name) == Variant(kind, argument)
    with pytest.raises(ConfigError, match="no memory variant 'mine'"):
        kinds_named(["own", "mine"])


def test_word_budgets_keep_whole_findings() -> None:
    case = Case("7", "7", [(2, "one two three"), (4, "four five"), (6, "six")])
    run_question = question_of(0, case)
    trajectory = trajectory_of(run_question, case)
    material = Material(budgets=(2, 3, 5, 99))
    found = {
        variant.name: len(memory)
        for variant, memory in memories_of(VariantKind.BUDGET, run_question, trajectory, material)
    }
    assert found == {"budget:2": 0, "budget:3": 1, "budget:5": 2, "budget:99": 3}


def test_unanswerable_questions_have_no_answer_to_remove() -> None:
    case = Case("Not answerable", "Not answerable", [(2, GOLD)], fields={"unanswerable": True})
    question = question_of(0, case)
    found = list(memories_of(VariantKind.ANSWER_REMOVED, question, trajectory_of(question, case), Material()))
    assert found == []


def test_runs_without_scores_and_without_memory_are_sentences(
    tmp_path: Path, agent_module: MakeModule
) -> None:
    run = write_run(tmp_path / "run", [Case("7", "7")], memory="none")
    with pytest.raises(ConfigError, match="without a working memory"):
        examined(run, config_for(agent_module(LAST_VALUE)))
    with pytest.raises(RunError, match="has no scores"):
        ScoredRun(run, "nothing")
    empty = Run.create(tmp_path / "empty")
    with pytest.raises(RunError, match=r"no questions\.jsonl"):
        examined(empty, config_for(agent_module(LAST_VALUE)))
