"""A training reward can be recomputed from the stored trajectory under its saved scorer configuration."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes import make_question
from looseleaf.errors import ConfigError, RunError
from looseleaf.question import Question
from looseleaf.reward import (
    AldenReward,
    AnswerOnlyReward,
    AWMReward,
    CellReward,
    Outcome,
    Reward,
    RewardRecord,
    RewardWarning,
    alden_episode,
    cells,
    check_records,
    make_record,
    recompute,
    reward_from_config,
    reward_id,
    reward_ledger,
    stored_outcomes,
)
from looseleaf.roles import Action
from looseleaf.runstore import Run, ScoreRow, config_id
from looseleaf.scoring import mmlongbench
from looseleaf.trajectory import Trajectory
from reward_runs import READING_ID, SCORE_ID, make_scored_run, make_trajectory, score_row

GOLDEN = Path(__file__).parent / "golden" / "reward_records.jsonl"
SCORER = {"scorer": "mmlongbench", "extraction_id": None}
SCORER_ID = config_id("mmlongbench", SCORER)
ANSWERS = ["7 units", "7 units", "eight", "nothing"]


def training_run(path: Path) -> Run:
    """Four samples of one question, their answers and the readings of their memories, not scored yet."""
    run = Run.create(path)
    run.write_questions([make_question(answer_format="Str", references=("7 units",), evidence_pages=(5,))])
    run.write_config({"run": {"samples": len(ANSWERS)}})
    run.write_sidecar("scores", SCORER_ID, SCORER)
    with run.writing():
        for sample, answer in enumerate(ANSWERS):
            run.trajectory_ledger.append(answered(f"mini:0#{sample}", answer))
    return run


def answered(trajectory_id: str, answer: str) -> Trajectory:
    *steps, last = make_trajectory(trajectory_id).steps
    steps.append(msgspec.structs.replace(last, action=Action.answer(answer)))
    return make_trajectory(trajectory_id, answer=answer, steps=tuple(steps))


def score_stored(run: Run, readings: dict[str, str]) -> None:
    """Score the stored answers and readings by the official rule, as scoring a run does."""
    (question,) = run.questions()
    ledger = run.scores(SCORER_ID)
    for key, trajectory in run.trajectories().items():
        ledger.append(scored(question, trajectory, "answer", trajectory.answer or ""))
        ledger.append(scored(question, trajectory, "memory", readings[key]))
    ledger.close()


def scored(question: Question, trajectory: Trajectory, target: str, text: str) -> ScoreRow:
    result = mmlongbench.score(question.references[0], text, question.answer_format)
    return ScoreRow(
        trajectory_id=trajectory.trajectory_id,
        target=target,
        reading_id=READING_ID if target == "memory" else None,
        value=result.value,
        unscored=result.unscored,
    )


READINGS = {f"mini:0#{sample}": text for sample, text in enumerate(["7 units", "nothing", "7 units", "no"])}


@pytest.fixture
def trained(tmp_path: Path) -> tuple[Run, list[RewardRecord]]:
    """A run whose rewards were recorded in training."""
    run = training_run(tmp_path / "train")
    score_stored(run, READINGS)
    reward = AWMReward(memory="graded")
    records = [
        make_record(reward, outcome, trajectory_id=key, score_id=SCORER_ID, reading_id=READING_ID)
        for key, outcome in stored_outcomes(run, SCORER_ID, READING_ID).items()
    ]
    assert [record.value for record in records] == [2.0, 0.0, -0.1, -1.0]
    return run, records


def test_recomputed_rewards_equal_the_training_values(trained: tuple[Run, list[RewardRecord]]) -> None:
    run, records = trained
    assert check_records(records, run) == 4
    assert [recompute(record) for record in records] == [record.value for record in records]
    # Scoring the stored run again from scratch, under the saved configuration, changes nothing.
    (run.path / "scores" / f"{SCORER_ID}.jsonl").unlink()
    score_stored(run, READINGS)
    assert check_records(records, Run.open(run.path)) == 4


def test_a_changed_scorer_is_caught(
    trained: tuple[Run, list[RewardRecord]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, records = trained
    original = mmlongbench.score
    monkeypatch.setattr(
        mmlongbench, "score", lambda gold, text, kind: original(gold, text.upper() + "!", kind)
    )
    (run.path / "scores" / f"{SCORER_ID}.jsonl").unlink()
    score_stored(run, READINGS)
    with pytest.raises(RunError, match="is not what"):
        check_records(records, run)


def test_a_changed_formula_is_caught(
    trained: tuple[Run, list[RewardRecord]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, records = trained
    monkeypatch.setattr(cells.CellReward, "_memory", lambda self, outcome: 1.0)
    with pytest.raises(RunError, match="the formula or the record has changed"):
        check_records(records, run)


def test_a_changed_record_is_caught(trained: tuple[Run, list[RewardRecord]]) -> None:
    run, (record, *_) = trained
    for change in (
        {"value": 1.5},
        {"value": None},
        {"reward": AWMReward(r11=3)},
        {"cells": Outcome(answer=0.0, memory=(0.0,))},
        {"score_id": "mmlongbench-00000000"},
        {"reading_id": "other-00000000"},
        {"trajectory_id": "mini:9#0"},
        {"version": 2},
    ):
        with pytest.raises(RunError):
            check_records([msgspec.structs.replace(record, **change)], run)


def test_an_edited_scorer_configuration_is_caught(trained: tuple[Run, list[RewardRecord]]) -> None:
    run, records = trained
    run.write_sidecar("scores", SCORER_ID, SCORER | {"scorer": "another"})
    with pytest.raises(RunError, match="scorer configuration"):
        check_records(records, run)


def test_pinned_records_still_give_their_values() -> None:
    """Fails if a constant, a formula or the stored format changes without `REWARD_VERSION`."""
    lines = GOLDEN.read_text("utf-8").splitlines()
    assert len(lines) >= 12
    for line in lines:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RewardWarning)  # one of them has r01 = r00
            record = msgspec.json.decode(line, type=RewardRecord)
        assert recompute(record) == record.value
        assert json.loads(msgspec.json.encode(record)) == json.loads(line)


def test_aldens_reward_is_recomputed_from_the_trajectory(tmp_path: Path) -> None:
    run = training_run(tmp_path / "train")
    (question,) = run.questions()
    reward = AldenReward(version="paper")
    records = [
        make_record(reward, alden_episode(reward, trajectory, question), trajectory_id=key)
        for key, trajectory in run.trajectories().items()
    ]
    assert check_records(records, run) == 4
    changed = msgspec.structs.replace(records[0], episode=records[2].episode)
    with pytest.raises(RunError):
        check_records([changed], run)
    run.trajectory_ledger.append(answered("mini:0#0", "9"))
    run.close()
    with pytest.raises(RunError):
        check_records(records, run)


def test_records_round_trip_through_their_ledger(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", [[(1.0, 1.0), (None, 1.0)]])
    reward = AWMReward()
    ledger = reward_ledger(run, reward)
    records = [
        make_record(
            reward, outcome, trajectory_id=key, score_id=SCORE_ID, reading_id=READING_ID, step_of_training=3
        )
        for key, outcome in stored_outcomes(run).items()
    ]
    for record in records:
        ledger.append(record)
    ledger.close()
    assert list(reward_ledger(run, reward).read()) == records
    assert [record.value for record in records] == [2.0, None]
    assert records[0].key == "mini:0#0|3"
    assert ledger.path.name == f"{reward_id(reward)}.jsonl"
    assert check_records(records, run) == 2


def test_the_answer_only_reward_needs_no_reading(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", [[(1.0, None), (0.0, 1.0)]])
    records = [
        make_record(AnswerOnlyReward(), outcome, trajectory_id=key, score_id=SCORE_ID)
        for key, outcome in stored_outcomes(run).items()
    ]
    assert [record.value for record in records] == [1.0, 0.0]
    assert check_records(records, run) == 2


def test_k_readings_are_read_again(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", [[(1.0, 1.0)]], readings=3)
    outcome = stored_outcomes(run, readers=3)["mini:0#0"]
    assert outcome.memory == (1.0, 1.0, 1.0)
    record = make_record(
        AWMReward(readers=3), outcome, trajectory_id="mini:0#0", score_id=SCORE_ID, reading_id=READING_ID
    )
    assert check_records([record], run) == 1
    with run.writing():
        run.scores(SCORE_ID).append(score_row("mini:0#0", "memory", 0.0, 2))
    with pytest.raises(RunError):
        check_records([record], run)


def test_stored_outcomes_cover_every_selected_sample(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", [[(1.0, 1.0), (0.0, None)], [(1.0, 0.0)]], unanswerable=[1])
    found = stored_outcomes(run, grounded={"mini:0#0": (True,)})
    assert list(found) == ["mini:0#0", "mini:0#1", "mini:1#0", "mini:1#1"]
    assert found["mini:1#1"] == Outcome(answer=None, memory=(None,), unanswerable=True)
    assert found["mini:0#0"].grounded == (True,)
    assert found["mini:0#0"].echoed == (False,)


def test_ledgers_have_to_be_named_where_there_are_several(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", [[(1.0, 1.0)]])
    with run.writing():
        run.scores(SCORE_ID).append(
            msgspec.structs.replace(score_row("mini:0#0", "memory", 0.0), reading_id="other")
        )
    with pytest.raises(RunError, match="several readings"):
        stored_outcomes(run)
    assert stored_outcomes(run, reading_id="other")["mini:0#0"].memory == (0.0,)
    with pytest.raises(RunError, match="no scores"):
        stored_outcomes(run, "unknown-1")
    with pytest.raises(RunError, match="not scored yet"):
        stored_outcomes(Run.create(tmp_path / "empty"))


@pytest.mark.parametrize(
    ("config", "reward"),
    [
        ("awm", AWMReward()),
        ("answer-only", AnswerOnlyReward()),
        ("alden", AldenReward()),
        ({"name": "awm", "r11": 3}, AWMReward(r11=3)),
        ({"name": "cells", "r11": 2, "r10": 0, "r01": -0.1, "r00": -1}, CellReward(2, 0, -0.1, -1)),
    ],
)
def test_rewards_come_from_configurations(config: Any, reward: Reward) -> None:
    found = reward_from_config(config)
    assert found == reward
    assert type(found) is type(reward)
    assert reward_id(found) == reward_id(reward_from_config(msgspec.to_builtins(found)))


@pytest.mark.parametrize(
    "config", ["grpo", {"name": "awm", "beta": 2}, {"name": "cells"}, {"r11": 2}, {"name": "awm", "r11": -1}]
)
def test_configurations_that_cannot_be_used_are_refused(config: Any) -> None:
    with pytest.raises(ConfigError):
        reward_from_config(config)


def test_evidence_must_be_of_the_rewards_kind() -> None:
    with pytest.raises(ConfigError, match="turns and gold pages"):
        make_record(AldenReward(), Outcome(answer=1.0), trajectory_id="a", score_id="b")
    with pytest.raises(ConfigError, match="score_id"):
        make_record(AWMReward(), Outcome(answer=1.0), trajectory_id="a")
