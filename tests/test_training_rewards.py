"""Rewards of rollouts: who is asked how often, outages that are left out, the placebo, and records that recompute."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fakes import make_question
from looseleaf.errors import ProviderError
from looseleaf.memory import WorkingMemory
from looseleaf.models.role_spec import RoleSpec
from looseleaf.reward import AldenReward, AnswerOnlyReward, AWMReward, CellReward, Outcome, check_records
from looseleaf.reward.record import RewardRecord
from looseleaf.roles import Extraction, Reading
from looseleaf.runner.config import ScoreConfig
from looseleaf.runstore import Ledger, Run
from looseleaf.score import Unscored
from looseleaf.training.rollout_rewards import Evidence, RolloutScorer, placebo, reward_records
from looseleaf.trajectory import StopReason, Trajectory
from reward_runs import make_trajectory
from training_world import by_member, call, config_of, play, trainer_of

QUESTION = make_question(references=("7",), answer_format="Int", evidence_pages=(5,))
ASKED: Counter[str] = Counter()


class CountedReader:
    """Answers with the first finding's number, and fails where the memory says so."""

    def read(self, question: str, memory: WorkingMemory) -> Reading:
        ASKED["reader"] += 1
        if "outage" in memory.as_text():
            raise ProviderError("the reader is down")
        return Reading(text="7" if "7" in memory.as_text() else "unknown")


class CountedExtractor:
    """Takes a response as it is."""

    def extract(self, question: str, response: str) -> Extraction:
        ASKED["extractor"] += 1
        if response == "broken":
            raise ProviderError("the extractor is down")
        return Extraction(text=f"Extracted answer: {response}\nAnswer format: Integer")


def counted_reader() -> CountedReader:
    return CountedReader()


def counted_extractor() -> CountedExtractor:
    return CountedExtractor()


ROLES = ScoreConfig(
    scorer="mmlongbench",
    extractor=RoleSpec(backend="python", argument="test_training_rewards:counted_extractor"),
    readers=(RoleSpec(backend="python", argument="test_training_rewards:counted_reader"),),
)


def rollout(answer: str | None, note: str, **fields: Any) -> Trajectory:
    from looseleaf.memory import Finding

    return make_trajectory("mini:0#0", answer=answer, memory=(Finding(note, 5),), **fields)


def evidence_of(scorer: RolloutScorer, *trajectories: Trajectory) -> list[Evidence]:
    return asyncio.run(scorer.evidence([(QUESTION, found) for found in trajectories]))


def test_awm_adds_two_calls_and_answer_only_adds_none() -> None:
    counts = {}
    for name, reward, reads in (("answer-only", AnswerOnlyReward(), False), ("awm", AWMReward(), True)):
        ASKED.clear()
        scorer = RolloutScorer(reward, ROLES, "mini", reads_memory=reads)
        found = evidence_of(scorer, rollout("7", "it is 7"), rollout("8", "it is unclear"))
        counts[name] = dict(ASKED)
        assert sum(sum(each.calls.values()) for each in found) == sum(ASKED.values())
    assert counts == {"answer-only": {"extractor": 2}, "awm": {"extractor": 4, "reader": 2}}


def test_cells_become_awms_values() -> None:
    scorer = RolloutScorer(AWMReward(), ROLES, "mini", reads_memory=True)
    found = evidence_of(
        scorer,
        rollout("7", "it is 7"),
        rollout("7", "it is unclear"),
        rollout("8", "it is 7"),
        rollout(None, "it is unclear", stop_reason=StopReason.TURN_LIMIT),
    )
    records = reward_records(AWMReward(), found, scorer.ids, step=3)
    assert [record.value for record in records] == [2.0, 0.0, -0.1, -1.0]
    assert {record.step_of_training for record in records} == {3}


@pytest.mark.parametrize(
    ("trajectory", "why"),
    [
        (rollout("7", "outage"), Unscored.READER_FAULT),
        (rollout("broken", "it is 7"), Unscored.EXTRACTOR_FAULT),
        (rollout("7", "it is 7", stop_reason=StopReason.PROVIDER_ERROR), Unscored.AGENT_FAULT),
        (rollout("7", "it is 7", stop_reason=StopReason.DOCUMENT_ERROR), Unscored.AGENT_FAULT),
        (rollout(None, "it is 7", stop_reason=StopReason.CONTEXT_OVERFLOW), Unscored.AGENT_FAULT),
    ],
)
def test_a_fault_leaves_the_rollout_without_a_reward(trajectory: Trajectory, why: Unscored) -> None:
    scorer = RolloutScorer(AWMReward(), ROLES, "mini", reads_memory=True)
    (found,) = evidence_of(scorer, trajectory)
    assert found.why is why
    (record,) = reward_records(AWMReward(), [found], scorer.ids, step=0)
    assert record.value is None


def test_an_overflow_can_be_scored_as_evaluation_scores_it() -> None:
    scorer = RolloutScorer(AWMReward(), ROLES, "mini", reads_memory=True, overflow="scored")
    (found,) = evidence_of(scorer, rollout(None, "it is 7", stop_reason=StopReason.CONTEXT_OVERFLOW))
    assert AWMReward().value(found.seen) == -0.1  # type: ignore[arg-type]


class CrowdedReader:
    """Counts how many readings are asked for at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def read(self, question: str, memory: WorkingMemory) -> Reading:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.005)
        self.now -= 1
        return Reading(text="7")


@pytest.mark.parametrize("concurrency", [1, 3])
def test_rollouts_are_read_side_by_side_and_never_more_than_may_be(concurrency: int) -> None:
    scorer = RolloutScorer(AWMReward(), ROLES, "mini", reads_memory=True, concurrency=concurrency)
    scorer._reader = crowded = CrowdedReader()
    found = evidence_of(scorer, *[rollout("7", "it is 7")] * 8)
    assert crowded.most == concurrency
    assert [each.calls["reading"] for each in found] == [1] * 8


def test_alden_looks_at_turns_and_not_at_roles() -> None:
    ASKED.clear()
    scorer = RolloutScorer(AldenReward(), ROLES, "mini", reads_memory=False)
    (found,) = evidence_of(scorer, rollout("7", "it is 7"))
    (record,) = reward_records(AldenReward(), [found], scorer.ids, step=0)
    assert record.episode is not None
    assert record.value is not None
    assert not ASKED


def test_any_four_values_reward_as_they_say() -> None:
    reward = CellReward(5.0, 4.0, 3.0, 2.0)
    scorer = RolloutScorer(reward, ROLES, "mini", reads_memory=True)
    found = evidence_of(scorer, rollout("7", "it is unclear"), rollout("8", "it is 7"))
    assert [reward.value(each.seen) for each in found] == [4.0, 3.0]  # type: ignore[arg-type]


def _plain(name: str, answer: float | None, memory: tuple[float | None, ...]) -> Evidence:
    return Evidence(trajectory_id=name, seen=Outcome(answer=answer, memory=memory))


def test_placebo_permutes_within_groups_and_keeps_each_groups_scores() -> None:
    evidence = [_plain(str(index), float(index % 2), (float(index % 3 == 0),)) for index in range(64)]
    evidence[5] = _plain("5", None, (1.0,))
    evidence[6] = _plain("6", 1.0, (None,))
    groups = [index // 8 for index in range(64)]
    changed = placebo(evidence, groups, (1, 2))
    memories = [each.seen.memory for each in evidence]  # type: ignore[union-attr]
    permuted = [each.seen.memory for each in changed]  # type: ignore[union-attr]
    for group in range(8):
        members = slice(8 * group, 8 * group + 8)
        assert sorted(map(str, memories[members])) == sorted(map(str, permuted[members]))
    assert permuted != memories
    assert (permuted[5], permuted[6]) == (memories[5], memories[6])  # what is unscored stays where it was
    assert [each.seen.answer for each in changed] == [each.seen.answer for each in evidence]  # type: ignore[union-attr]
    assert placebo(evidence, groups, (1, 2)) == changed
    assert placebo(evidence, groups, (1, 3)) != changed


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of AWM in which half of the rollouts are right and their notes say so."""
    folder = tmp_path_factory.mktemp("trained")
    trainer = trainer_of(config_of(folder))
    play(trainer, by_member)
    trainer.train()
    trainer.close()
    return folder / "out"


def test_rewards_are_kept_with_everything_and_recompute(trained: Path) -> None:
    run = Run.open(trained / "rollouts")
    (path,) = (run.path / "rewards").glob("*.jsonl")
    records = list(Ledger(path, RewardRecord).read())
    assert path.stem.startswith("awm-")
    assert len(records) == 16
    assert check_records(records, run) == 16
    assert {record.step_of_training for record in records} == {0, 1}
    (record, *_) = records
    assert record.score_id in run.sidecars("scores")
    assert record.reading_id in run.sidecars("readings")


def test_steps_say_what_happened(trained: Path) -> None:
    steps = [json.loads(line) for line in (trained / "steps.jsonl").read_text().splitlines()]
    assert [step["step"] for step in steps] == [1, 2]
    first = steps[0]
    share = sum(first[f"looseleaf/cells/{cell}"] for cell in ("00", "01", "10", "11"))
    assert share == pytest.approx(1.0)
    assert first["looseleaf/calls/reading"] == 8
    assert first["looseleaf/calls/answer_scoring"] == 8
    assert first["looseleaf/calls/memory_scoring"] == 8
    assert first["looseleaf/invalid_rate"] == 0
    assert first["looseleaf/images"] == 8
    assert first["looseleaf/turns"] == 3
    assert first["looseleaf/stopped/answered"] == 8
    assert first["looseleaf/tokens/generated"] > 0
    assert "loss" in first


def test_the_placebos_rewards_have_a_ledger_of_their_own(tmp_path: Path) -> None:
    trainer = trainer_of(config_of(tmp_path, train={"steps": 1}, reward={"name": "placebo"}))
    play(trainer, by_member)
    trainer.train()
    trainer.close()
    (path,) = (tmp_path / "out" / "rollouts" / "rewards").glob("*.jsonl")
    assert path.stem.startswith("placebo-")


def test_an_outage_of_the_reader_teaches_nothing_and_stops_nothing(tmp_path: Path) -> None:
    reader = {"backend": "python", "argument": "test_training_rewards:counted_reader"}
    config = config_of(tmp_path, train={"steps": 1}, roles={"reader": reader})
    trainer = trainer_of(config)

    def failing(rollout: int, turn: int) -> str:
        if rollout % 4 == 1 and turn == 1:
            return call("note", text="outage", source_page=1)
        return by_member(rollout, turn)

    play(trainer, failing)
    trainer.train()
    trainer.close()
    assert trainer.sampled.scored.tolist() == [True, False, True, True] * 2
    assert trainer.sampled.values[[1, 5]].tolist() == [0.0, 0.0]
    (line,) = trainer._step_log.read()
    assert line["looseleaf/unscored/reader_fault"] == 2
    assert line["looseleaf/rollouts/unscored"] == 2
    (path,) = (tmp_path / "out" / "rollouts" / "rewards").glob("*.jsonl")
    values = [record.value for record in Ledger(path, RewardRecord).read()]
    assert [value is None for value in values] == [False, True, False, False] * 2
