"""Causal memory score: a memory that follows the document against one that was memorised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lab_runs import LAST_VALUE, Case, config_for, examined, write_run
from looseleaf.errors import RunError
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.twins import CausalScore, causal_score

MakeModule = Callable[[str], str]
OLD, NEW = ("7 m", "5 m", "3 m"), ("8 m", "6 m", "4 m")


def scored_run(path: Path, golds: Sequence[str], noted: Sequence[str], reader: str) -> tuple[ScoredRun, str]:
    cases = [Case(gold, text, [(2, f"The oak is {text}.")]) for gold, text in zip(golds, noted, strict=True)]
    scored, outcome = examined(write_run(path, cases), config_for(reader))
    return scored, outcome.reading_ids[0]


def score_of(
    path: Path, reader: str, base: Sequence[str], changed: Sequence[str], control: Sequence[str]
) -> CausalScore:
    return causal_score(
        scored_run(path / "base", OLD, base, reader),
        scored_run(path / "changed", NEW, changed, reader),
        scored_run(path / "control", OLD, control, reader),
    )


def test_a_memory_that_follows_the_document(tmp_path: Path, agent_module: MakeModule) -> None:
    found = score_of(tmp_path, agent_module(LAST_VALUE), OLD, NEW, OLD)
    assert (found.cf.value, found.stability.value, found.score, found.stuck.value) == (1, 1, 1, 0)
    assert found.pairs == found.n_answered == 3


def test_a_policy_that_memorised_the_answer_has_p_mmc_0_and_cf_0(
    tmp_path: Path, agent_module: MakeModule
) -> None:
    found = score_of(tmp_path, agent_module(LAST_VALUE), OLD, OLD, OLD)
    assert (found.p_mmc.value, found.cf.value, found.stability.value, found.score) == (0, 0, 1, 0)
    assert found.stuck.value == 1


def test_only_questions_that_the_memory_of_d_answers_count(tmp_path: Path, agent_module: MakeModule) -> None:
    base, changed, control = ("7 m", "5 m", "9 m"), ("8 m", "5 m", "4 m"), ("7 m", "1 m", "3 m")
    found = score_of(tmp_path, agent_module(LAST_VALUE), base, changed, control)
    assert found.n_answered == 2
    assert (found.cf.value, found.stability.value, found.score) == (0.5, 0.5, 0)


def test_no_answers_have_no_score(tmp_path: Path, agent_module: MakeModule) -> None:
    found = score_of(tmp_path, agent_module(LAST_VALUE), ("1 m",) * 3, NEW, OLD)
    assert (found.cf.value, found.score, found.n_answered) == (None, None, 0)


def test_runs_that_are_no_twins_are_refused(tmp_path: Path, agent_module: MakeModule) -> None:
    reader = agent_module(LAST_VALUE)
    base = scored_run(tmp_path / "base", OLD, OLD, reader)
    changed = scored_run(tmp_path / "changed", NEW, NEW, reader)
    other = examined(
        write_run(tmp_path / "o", [Case("8 m", "8 m", fields={"question": "Another?"})]), config_for(reader)
    )
    for runs, why in (
        ((base, base, base), "the same gold answer in the changed"),
        ((base, changed, changed), "another gold answer in the control"),
        ((base, (other[0], other[1].reading_ids[0]), base), "mini:0 differs"),
    ):
        with pytest.raises(RunError, match=why):
            causal_score(*runs)


def test_unanswerable_questions_are_not_in_the_headline(tmp_path: Path, agent_module: MakeModule) -> None:
    """A memory that found nothing answers an unanswerable question, and does not follow D′ where it has an answer."""
    reader = agent_module(LAST_VALUE)
    nothing = Case("Not answerable", "Not answerable", [(2, "Nothing.")], fields={"unanswerable": True})
    late = Case("9 m", "9 m", [(2, "Nothing.")])
    runs = []
    for name, cases in (
        ("base", [Case("7 m", "7 m", [(2, "The oak is 7 m.")]), nothing]),
        ("changed", [Case("8 m", "8 m", [(2, "The oak is 8 m.")]), late]),
        ("control", [Case("7 m", "7 m", [(2, "The oak is 7 m.")]), nothing]),
    ):
        scored, outcome = examined(write_run(tmp_path / name, cases), config_for(reader))
        runs.append((scored, outcome.reading_ids[0]))
    found = causal_score(*runs)
    assert (found.rows, found.pairs, found.score) == ("answerable", 1, 1)
    assert found.everything is not None
    assert (found.everything.pairs, found.everything.cf.value, found.everything.score) == (2, 0.5, 0.5)
