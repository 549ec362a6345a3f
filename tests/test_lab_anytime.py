"""Anytime memory from stored runs: latency, regret, curves, and no call of the policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from fakes import make_question
from lab_runs import LAST_VALUE, Case, config_for, examined, trajectory_of, write_run
from looseleaf.lab.anytime import Anytime, anytime
from looseleaf.lab.history import row_history, turns_written
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.variants import VariantKind
from looseleaf.memory import Finding
from looseleaf.roles import Action, NoteWriting, Observation
from looseleaf.trajectory import Step, StopReason, Trajectory

MakeModule = Callable[[str], str]


def found_in(scored: ScoredRun, reading_id: str) -> Anytime:
    found = anytime(scored, reading_id, ">0")
    assert found is not None
    return found


def test_a_gold_finding_at_step_2_contradicted_at_step_4(tmp_path: Path, agent_module: MakeModule) -> None:
    """Latency 2 and regret 1; the policy of this run does not even exist, so it cannot have been called."""
    run = write_run(tmp_path / "run", [Case("7 m", "7 m", [(2, "The oak is 7 m."), (4, "The oak is 8 m.")])])
    scored, outcome = examined(run, config_for(agent_module(LAST_VALUE)))
    found = found_in(scored, outcome.reading_ids[0])
    assert found.first_answerable.value == 2
    assert found.median_first == 2
    assert (found.regret.value, found.ever.value) == (1, 1)
    assert found.regretted == ["mini:0#0"]
    assert found.policy_calls == 0
    assert found.lag.value == 3, "turns 3, 4 and 5"


def test_curves_and_areas_by_hand(tmp_path: Path, agent_module: MakeModule) -> None:
    late = Case("9 m", "9 m", [(2, "A page about trees."), (4, "The elm is 9 m.")])
    lost = Case("7 m", "7 m", [(2, "The oak is 7 m."), (4, "The oak is 8 m.")])
    never = Case("5 m", "5 m", [(2, "A page about trees.")])
    run = write_run(tmp_path / "run", [late, lost, never], max_turns=6)
    config = config_for(agent_module(LAST_VALUE), budgets=(4, 8))
    scored, outcome = examined(run, config)
    found = found_in(scored, outcome.reading_ids[0])
    curves = {curve.unit: curve for curve in found.curves}
    by_turn = {point.x: point.value for point in curves["turns"].points}
    assert by_turn == pytest.approx({1: 0, 2: 1 / 3, 3: 1 / 3, 4: 1 / 3, 5: 1 / 3, 6: 1 / 3})
    assert curves["turns"].area.value == pytest.approx((3 / 6 + 2 / 6 + 0) / 3)
    by_page = {point.x: point.value for point in curves["unique pages shown"].points}
    assert by_page == pytest.approx({1: 1 / 3, 2: 1 / 3})
    assert curves["unique pages shown"].area.value == pytest.approx((1 / 2 + 1 / 2) / 3)
    assert curves["policy tokens"].widest == 32, "10 a search, 5 a note, 2 the answer"
    assert curves["policy tokens"].area.value == pytest.approx((3 / 32 + 15 / 32) / 3)
    by_words = {point.x: point.value for point in curves["words of memory"].points}
    assert by_words == pytest.approx({4: 0, 8: 1 / 3}), "5 words of the first finding do not fit 4"
    assert (found.regret.value, found.ever.value) == pytest.approx((1 / 3, 2 / 3))
    assert found.first_answerable.value == pytest.approx(3)


def test_unanswerable_rows_do_not_count_and_faults_are_unscored(
    tmp_path: Path, agent_module: MakeModule
) -> None:
    none = Case("Not answerable", "Not answerable", [(2, "Nothing here.")], fields={"unanswerable": True})
    broken = Case("7 m", None, stop=StopReason.PROVIDER_ERROR)
    run = write_run(tmp_path / "run", [none, broken, Case("7 m", "7 m", [(2, "The oak is 7 m.")])])
    scored, outcome = examined(run, config_for(agent_module(LAST_VALUE)))
    found = found_in(scored, outcome.reading_ids[0])
    assert (found.regret.n, found.regret.n_scored) == (2, 1)
    assert (found.regret.lowest, found.regret.highest) == (0, 0.5)


def test_without_prefixes_there_is_no_curve(tmp_path: Path, agent_module: MakeModule) -> None:
    run = write_run(tmp_path / "run", [Case("7 m", "7 m", [(2, "The oak is 7 m.")])])
    scored, outcome = examined(run, config_for(agent_module(LAST_VALUE), kinds=(VariantKind.EMPTY,)))
    assert anytime(scored, outcome.reading_ids[0], ">0") is None


def test_an_empty_memory_has_no_regret(tmp_path: Path, agent_module: MakeModule) -> None:
    run = write_run(tmp_path / "run", [Case("7 m", "7 m"), Case("7 m", "7 m", [(2, "The oak is 7 m.")])])
    scored, outcome = examined(run, config_for(agent_module(LAST_VALUE)))
    history = row_history(scored, outcome.reading_ids[0], scored.items[0])
    assert history is not None
    assert history.values == (0.0,)
    assert history.regrets(">0") is False


# -- the turns that wrote findings --------------------------------------------------------------------------------


def with_steps(memory: list[Finding], *steps: Step) -> Trajectory:
    base = trajectory_of(make_question(), Case("7", "7"))
    return msgspec.structs.replace(base, steps=steps, memory=tuple(memory))


def note(turn: int, text: str, page: object = 1, invalid: str | None = None) -> Step:
    action = Action("note", {"text": text, "source_page": page})
    return Step(turn=turn, action=action, observation=Observation(""), invalid=invalid)


def test_turns_of_findings() -> None:
    a, b = Finding("a", 1), Finding("b", 2)
    riding = Step(
        turn=5,
        action=Action.search("x"),
        notes=(NoteWriting(" b ", 2),),
        observation=Observation(""),
    )
    assert turns_written(with_steps([a], note(2, "refused", invalid="Refused"), note(3, " a "))) == (3,)
    assert turns_written(with_steps([a, b], note(2, "a", "1"), riding)) == (2, 5)
    assert turns_written(with_steps([a, a], note(2, "a"), note(4, "a"))) == (2, 4)


def test_imported_memories_without_steps_count_their_findings() -> None:
    assert turns_written(with_steps([Finding("a", 1), Finding("b", 2)])) == (1, 2)
    assert turns_written(with_steps([Finding("a", 1), Finding("b", 2)], note(7, "a"))) == (1, 2)
