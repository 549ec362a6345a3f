"""Training rollouts as an ordinary RUN: trajectories, readings, extractions, scores and rewards, with settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from looseleaf.question import Question
from looseleaf.reward import RewardRecord, reward_id
from looseleaf.runner.config import RunConfig
from looseleaf.runstore import Ledger, Run
from looseleaf.training.rollout_rewards import Evidence, RolloutScorer
from looseleaf.trajectory import Trajectory

__all__ = ["RolloutRecord"]


class RolloutRecord:
    """`OUT/rollouts`; rewards are recomputed from it by `looseleaf.reward.check_records`.

    The placebo's rewards have a ledger of their own name, and what they were computed from is not what the run holds:
    that is what makes them a placebo.

    Args:
        path: the RUN folder.
        config: data, protocol and roles, for `config.toml`.
        questions: the training questions.
        scorer: names the ledgers.
        is_placebo: whether memory scores were permuted.
    """

    def __init__(
        self,
        path: Path,
        config: RunConfig,
        questions: Iterable[Question],
        scorer: RolloutScorer,
        *,
        is_placebo: bool,
    ) -> None:
        self.run = Run.create(path)
        self.run_id = path.parent.name
        if not self.run.config:
            self.run.write_config(config.as_tables())
            self.run.write_questions(questions)
        ids, sidecars = scorer.ids, scorer.sidecars
        wanted = {"scores": ids.score, "readings": ids.reading, "extractions": ids.extraction}
        for kind, ledger_id in wanted.items():
            if ledger_id is not None:
                self.run.write_sidecar(kind, ledger_id, sidecars[kind])
        self._scores = self.run.scores(ids.score)
        self._readings = None if ids.reading is None else self.run.readings(ids.reading)
        self._extractions = None if ids.extraction is None else self.run.extractions(ids.extraction)
        name = reward_id(scorer.reward)
        if is_placebo:
            name = "placebo-" + name.rpartition("-")[2]
        self._rewards = Ledger(path / "rewards" / f"{name}.jsonl", RewardRecord)

    def append(
        self,
        trajectories: Sequence[Trajectory],
        evidence: Sequence[Evidence],
        rewards: Sequence[RewardRecord],
    ) -> None:
        """Write a step's rollouts; one that is done again writes the same keys, of which the last counts."""
        for trajectory in trajectories:
            self.run.trajectory_ledger.append(trajectory)
        for each in evidence:
            for reading in each.readings if self._readings is not None else ():
                self._readings.append(reading)  # type: ignore[union-attr]
            for extraction in each.extractions if self._extractions is not None else ():
                self._extractions.append(extraction)  # type: ignore[union-attr]
            for score in each.scores:
                self._scores.append(score)
        for record in rewards:
            self._rewards.append(record)

    def close(self) -> None:
        """Close every file."""
        self.run.close()
        self._rewards.close()
