"""`Session`: what all rollouts of one agent loop worker share."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import socket
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from looseleaf.errors import DocumentError, FaultError
from looseleaf.question import Question
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import load_config
from looseleaf.training.conversation import Conversation
from looseleaf.training.faults import TrainingError
from looseleaf.training.grpo import ROLLOUTS, task_source
from looseleaf.training.questions import training_set
from looseleaf.training.rollout import Rollout
from looseleaf.training.rollout_record import RolloutRecord
from looseleaf.training.rollout_rewards import CONCURRENCY, Evidence, RolloutScorer, reward_records
from looseleaf.training.shim import RolloutShim, TaskSource, TokenBudget
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["NO_PROCESSOR", "Place", "Rewarded", "Session", "open_session", "weights_of"]

NO_PROCESSOR = (
    "verl found no image processor for this model, and would train it without the pages; "
    "install torchvision, which the stock processor of Qwen3-VL wants, and see that the model takes images."
)


class Place(NamedTuple):
    """Where in a training a rollout belongs.

    Attributes:
        question_id: whose question.
        sample_index: number of the rollout among all of its question.
        step: optimiser steps that its policy has behind it.
    """

    question_id: str
    sample_index: int
    step: int


class Rewarded(NamedTuple):
    """A finished rollout with its reward, NaN where it could not be scored."""

    trajectory: Trajectory
    evidence: Evidence
    reward: float

    @property
    def is_scored(self) -> bool:
        """Whether the rollout may take part in its group."""
        return not math.isnan(self.reward)


class Session:
    """Starts and rewards rollouts.

    Args:
        config: the training.
        conversation: makes the model's tokens.
        questions: the training questions by id.
        source: opens the task of a question.
        scorer: gives evidence for rewards.
        budget: tokens of a rollout.
        record: where rollouts are kept, if anywhere.
    """

    def __init__(
        self,
        config: TrainConfig,
        conversation: Conversation,
        questions: Mapping[str, Question],
        source: TaskSource,
        scorer: RolloutScorer,
        budget: TokenBudget,
        record: RolloutRecord | None = None,
    ) -> None:
        self.conversation = conversation
        self.budget = budget
        self._config = config
        self._questions = questions
        self._source = source
        self._scorer = scorer
        self._record = record
        self._free = asyncio.Semaphore(CONCURRENCY)
        self._numbers: dict[Hashable, Iterator[int]] = {}

    def place(self, row: Mapping[str, Any]) -> Place:
        """Where a row of the data set belongs.

        verl's v1 trainer numbers the rollouts of a group (`session_id`); the older one does not, and there they are
        numbered as they come.
        """
        question_id, visit = str(row["question_id"]), int(row["visit"])
        number = row.get("session_id")
        if number is None:
            number = next(self._numbers.setdefault((question_id, visit), itertools.count()))
        sample_index = visit * self._config.train.group_size + int(number)
        return Place(question_id, sample_index, weights_of(row))

    async def begin(self, place: Place) -> Rollout | Trajectory:
        """A rollout with its opening taken up, or what is left of one whose document cannot be opened."""
        shim = RolloutShim(self._source, self.conversation, self.budget)
        try:
            await asyncio.to_thread(shim.reset, place.question_id)  # reading and encoding may take long
        except DocumentError as problem:
            return self._unstarted(place, StopReason.DOCUMENT_ERROR, str(problem))
        except FaultError as problem:
            return self._unstarted(place, StopReason.PROVIDER_ERROR, str(problem))
        rollout = Rollout(shim, self.conversation)
        try:
            await rollout.begin()
        except DocumentError as problem:
            shim._environment.stop(StopReason.DOCUMENT_ERROR, str(problem))
        return rollout

    async def reward(self, place: Place, found: Rollout | Trajectory) -> Rewarded:
        """Read, score and record a rollout that has ended."""
        trajectory = found if isinstance(found, Trajectory) else self._trajectory(place, found)
        question = self._questions[place.question_id]
        async with self._free:
            evidence = await self._scorer.evidence([(question, trajectory)])
        records = reward_records(self._scorer.reward, evidence, self._scorer.ids, place.step)
        if self._record is not None:
            self._record.append([trajectory], evidence, records)
        value = records[0].value
        return Rewarded(trajectory, evidence[0], math.nan if value is None else value)

    def _trajectory(self, place: Place, rollout: Rollout) -> Trajectory:
        return rollout.shim._trajectory(
            sample_index=place.sample_index,
            seed=self._config.train.seed,
            step=place.step,
            run_id=self._run_id,
        )

    @property
    def _run_id(self) -> str:
        return Path(self._config.train.output).name

    def _unstarted(self, place: Place, reason: StopReason, error: str) -> Trajectory:
        question = self._questions[place.question_id]
        return Trajectory(
            run_id=self._run_id,
            trajectory_id=f"{question.question_id}#{place.sample_index}",
            question_id=question.question_id,
            benchmark=question.benchmark,
            doc_id=question.doc_id,
            question=question.question,
            protocol=self._config.protocol.name,
            seed=self._config.train.seed,
            sample_index=place.sample_index,
            step_of_training=place.step,
            stop_reason=reason,
            error=error,
        )


def weights_of(row: Mapping[str, Any]) -> int:
    """Version of the weights that a rollout starts from: verl's steps count from 1, its versions from 0.

    The older trainer does not tell an agent loop its step; there it is 0.
    """
    return int(row.get("global_steps", 1)) - 1


_sessions: dict[tuple[Path, TokenBudget], Session] = {}
"""Sessions of this process: verl makes a new agent loop for every rollout."""


def open_session(config_file: Path, processor: Any, response_length: int) -> Session:
    """The session of a training in this process; opened once.

    Args:
        config_file: the training configuration.
        processor: the model's, as verl loaded it.
        response_length: verl's longest response in tokens; the shorter of it and `max_completion_tokens` counts.

    Raises:
        UserError: the configuration, its data or a role cannot be used, or the model takes no images.
    """
    if processor is None:
        raise TrainingError(NO_PROCESSOR)
    config = load_config(config_file)
    train = config.train
    budget = TokenBudget(min(response_length, train.max_completion_tokens), train.max_turn_tokens)
    key = (config_file.resolve(), budget)
    if key not in _sessions:
        _sessions[key] = _open(config, processor, budget)
    return _sessions[key]


def _open(config: TrainConfig, processor: Any, budget: TokenBudget) -> Session:
    questions = training_set(config)
    scorer = RolloutScorer(
        config.reward.make(),
        config.training_score,
        questions.questions[0].benchmark,
        reads_memory=config.reward.reads_memory,
    )
    record = RolloutRecord(
        Path(config.train.output) / ROLLOUTS / _worker_name(),
        config.rollout_run,
        questions.questions,
        scorer,
        is_placebo=False,
    )
    return Session(
        config,
        Conversation(processor, config.protocol),
        {question.question_id: question for question in questions.questions},
        task_source(config, questions),
        scorer,
        budget,
        record,
    )


def _worker_name() -> str:
    """Each worker keeps a RUN of its own: several nodes cannot append to one file."""
    return f"{socket.gethostname()}-{os.getpid()}"
