"""`RewardRecord`: a training reward with all that it was computed from, and its recomputation.

A reward that cannot be recomputed cannot be trusted after the fact. A record holds the reward's configuration with
every constant, the ledger ids of scorer and reader, and the evidence. `recompute` applies the present code to the
record; `check_records` also takes the evidence anew from a stored run. Both fail if either side changes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.errors import ConfigError, RunError
from looseleaf.reward.alden import AldenEpisode, AldenReward, alden_episode
from looseleaf.reward.cells import AnswerOnlyReward, AWMReward, CellReward
from looseleaf.reward.outcome import Outcome
from looseleaf.reward.stored import stored_outcomes
from looseleaf.runstore import Ledger, Run, config_id

__all__ = [
    "REWARD_VERSION",
    "Reward",
    "RewardRecord",
    "check_records",
    "make_record",
    "recompute",
    "reward_from_config",
    "reward_id",
    "reward_ledger",
    "value_of",
]

REWARD_VERSION = 1
"""Version of the formulas; raised whenever an old configuration would give another value."""

Reward = AWMReward | CellReward | AnswerOnlyReward | AldenReward
"""Every reward; each is a frozen configuration, tagged by its canonical name."""


class RewardRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One reward of one trajectory.

    Attributes:
        version: `REWARD_VERSION` of the writer.
        trajectory_id: whose reward.
        step_of_training: optimiser step of the policy, or `None` outside training.
        reward: the configuration, every constant spelled out.
        score_id: ledger of the scores, whose sidecar is the scorer's configuration; `None` for rewards without one.
        reading_id: ledger of the readings from memory; `None` for rewards without one.
        cells: the scores that an answer-and-memory reward looked at.
        episode: the turns and gold pages that ALDEN's reward looked at; exactly one of the two is set.
        value: the reward, or `None` for an unscored trajectory.
    """

    version: int = REWARD_VERSION
    trajectory_id: str
    step_of_training: int | None = None
    reward: Reward
    score_id: str | None = None
    reading_id: str | None = None
    cells: Outcome | None = None
    episode: AldenEpisode | None = None
    value: float | None

    @property
    def key(self) -> str:
        """Identity of the record inside its ledger."""
        return f"{self.trajectory_id}|{self.step_of_training}"


def reward_from_config(config: str | Mapping[str, Any]) -> Reward:
    """A reward by its name (`awm`, `answer-only`, `alden`) or by a table with `name` and constants.

    Raises:
        ConfigError: there is no such reward or constant, or the values do not go together.
    """
    table = {"name": config} if isinstance(config, str) else dict(config)
    try:
        return msgspec.convert(table, Reward)  # type: ignore[no-any-return]
    except msgspec.ValidationError as problem:
        raise ConfigError(
            f"The reward {table.get('name')!r} cannot be used ({problem}); "
            "use awm, answer-only, alden or cells with the constants that it has."
        ) from problem


def reward_id(reward: Reward) -> str:
    """`<name>-<8 hex of the configuration>`, the name of a ledger of records."""
    config = msgspec.to_builtins(reward)
    return config_id(config["name"], config)


def reward_ledger(run: Run, reward: Reward) -> Ledger[RewardRecord]:
    """`RUN/rewards/<id>.jsonl`; the caller closes it."""
    return Ledger(Path(run.path) / "rewards" / f"{reward_id(reward)}.jsonl", RewardRecord)


def make_record(
    reward: Reward,
    evidence: Outcome | AldenEpisode,
    *,
    trajectory_id: str,
    score_id: str | None = None,
    reading_id: str | None = None,
    step_of_training: int | None = None,
) -> RewardRecord:
    """Compute a reward and keep what it was computed from.

    Args:
        reward: the configuration.
        evidence: scores of answer and memory, or turns and gold pages for ALDEN's reward.
        trajectory_id: whose reward.
        score_id: ledger of the scores, needed with scores.
        reading_id: ledger of the readings, where the memory was read.
        step_of_training: optimiser step of the policy.

    Raises:
        ConfigError: the evidence is of the other kind, or an answer-and-memory reward names no scores.
    """
    if isinstance(evidence, Outcome) and score_id is None:
        raise ConfigError("A reward from scores needs the id of their ledger; give score_id.")
    return RewardRecord(
        trajectory_id=trajectory_id,
        step_of_training=step_of_training,
        reward=reward,
        score_id=score_id,
        reading_id=reading_id,
        cells=evidence if isinstance(evidence, Outcome) else None,
        episode=evidence if isinstance(evidence, AldenEpisode) else None,
        value=value_of(reward, evidence),
    )


def value_of(reward: Reward, evidence: Outcome | AldenEpisode | None) -> float | None:
    """The reward of one trajectory from the evidence of its kind.

    Raises:
        ConfigError: the evidence is of the other kind.
    """
    if isinstance(reward, AldenReward):
        if isinstance(evidence, AldenEpisode):
            return reward.value(evidence)
    elif isinstance(evidence, Outcome):
        return reward.value(evidence)
    wanted = "turns and gold pages" if isinstance(reward, AldenReward) else "scores of answer and memory"
    raise ConfigError(f"The reward {reward.label} needs {wanted}; give it evidence of that kind.")


def recompute(record: RewardRecord) -> float | None:
    """The value that the present code gives under the saved configuration, from the saved evidence.

    Raises:
        RunError: the record was written under another version of the formulas.
    """
    if record.version != REWARD_VERSION:
        raise RunError(
            f"The reward of {record.trajectory_id} was written under version {record.version} of the formulas and this "
            f"is version {REWARD_VERSION}; use the looseleaf that wrote it."
        )
    return value_of(record.reward, record.cells if record.cells is not None else record.episode)


def check_records(
    records: Iterable[RewardRecord], run: Run, *, tokenize: Callable[[str], Sequence[str]] = str.split
) -> int:
    """Recompute rewards from stored trajectories and their stored scores, and compare.

    Args:
        records: training rewards.
        run: holds the trajectories, and for rewards from scores the ledgers that the records name, with sidecars.
        tokenize: as in training, for ALDEN's query penalty.

    Returns:
        How many records were checked.

    Raises:
        RunError: a scorer's configuration, a score, a trajectory or a formula is not what it was.
    """
    stored = _Stored(run, tokenize)
    count = 0
    for record in records:
        _compare(record, stored.evidence(record), run)
        count += 1
    return count


def _compare(record: RewardRecord, evidence: Outcome | AldenEpisode, run: Run) -> None:
    saved = record.cells if record.cells is not None else record.episode
    if _scored_part(record, evidence) != _scored_part(record, saved):
        raise RunError(
            f"What {record.trajectory_id} was rewarded for is not what {run.path} holds now: "
            f"{saved} against {evidence}; look for a changed scorer or an edited record."
        )
    value = recompute(record)
    if value != record.value:
        raise RunError(
            f"{record.trajectory_id} was rewarded with {record.value} and its saved configuration gives {value} now; "
            "the formula or the record has changed."
        )


def _scored_part(record: RewardRecord, evidence: Outcome | AldenEpisode | None) -> object:
    """What the run's scores decide: without verdicts on findings, and without a memory that nobody read."""
    if not isinstance(evidence, Outcome):
        return evidence
    return evidence.answer, evidence.memory if record.reading_id else (), evidence.unanswerable


class _Stored:
    """Evidence taken anew from a run; each ledger is read once."""

    def __init__(self, run: Run, tokenize: Callable[[str], Sequence[str]]) -> None:
        self._run = run
        self._tokenize = tokenize
        self._outcomes: dict[tuple[str, str | None, int], dict[str, Outcome]] = {}
        self._trajectories = run.trajectories()
        self._questions = {question.question_id: question for question in run.questions()}

    def evidence(self, record: RewardRecord) -> Outcome | AldenEpisode:
        """What the record's reward looks at, as the run holds it now."""
        trajectory = self._trajectories.get(record.trajectory_id)
        if trajectory is None or trajectory.question_id not in self._questions:
            raise RunError(
                f"{self._run.path} does not hold the trajectory {record.trajectory_id}; give its own run."
            )
        if isinstance(record.reward, AldenReward):
            question = self._questions[trajectory.question_id]
            return alden_episode(record.reward, trajectory, question, self._tokenize)
        return self._outcome(record, len(record.cells.memory) if record.cells else 0)

    def _outcome(self, record: RewardRecord, readers: int) -> Outcome:
        key = (record.score_id or "", record.reading_id, readers)
        if key not in self._outcomes:
            self._check_scorer(key[0])
            self._outcomes[key] = stored_outcomes(self._run, key[0], record.reading_id, readers=readers)
        return self._outcomes[key][record.trajectory_id]

    def _check_scorer(self, score_id: str) -> None:
        sidecar = self._run.sidecars("scores").get(score_id)
        if sidecar is None or config_id(score_id.rpartition("-")[0], sidecar) != score_id:
            raise RunError(
                f"{self._run.path} does not hold the scorer configuration {score_id!r} as it was; score with it again."
            )
