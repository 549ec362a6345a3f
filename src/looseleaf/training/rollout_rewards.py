"""What a rollout is rewarded for: its answer scored, its memory read and scored, by the roles of training.

An answer-only reward asks for one scoring a rollout. AWM's adds two calls, the reader's answer and its scoring, in
training and none when the policy is used (AWM, arXiv 2608.25618: "2 extra short text passes a rollout"). Both are
counted. A role that fails leaves the rollout unscored, which leaves it out of its group: never 0.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from looseleaf.errors import AgentError, FaultError, boundary
from looseleaf.models.registry import make_extractor, make_judge, make_reader
from looseleaf.question import Question
from looseleaf.reward import (
    AldenEpisode,
    AldenReward,
    Outcome,
    Reward,
    RewardRecord,
    alden_episode,
    echoes_answer,
    make_record,
)
from looseleaf.roles import Extraction
from looseleaf.runner.answers import Response
from looseleaf.runner.checked import role_result
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.scorers import rule_named, score_row
from looseleaf.runner.stages import ReadingTask, reading_config, reading_id_of, reading_row
from looseleaf.runstore import ExtractionRow, ReadingRow, ScoreRow, config_id
from looseleaf.score import Unscored
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["Evidence", "LedgerIds", "RolloutScorer", "placebo", "reward_records"]

CONCURRENCY = 16
"""Rollouts that are read and scored at the same time."""

ANSWER_SCORING, READING, MEMORY_SCORING = "answer_scoring", "reading", "memory_scoring"
"""What a call was for, in the counts."""


class LedgerIds(NamedTuple):
    """Ledgers that the rows of training belong to, as `looseleaf score` would name them."""

    score: str
    reading: str | None
    extraction: str | None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What one rollout is rewarded for, with the rows that it was taken from.

    Attributes:
        trajectory_id: whose.
        seen: the scores, or the turns and pages of ALDEN's reward.
        readings: the reader's answers.
        extractions: short answers of the response and the readings.
        scores: of the response, then of the readings.
        calls: calls of roles by what they were for.
        why: why the answer or the memory is unscored.
    """

    trajectory_id: str
    seen: Outcome | AldenEpisode
    readings: tuple[ReadingRow, ...] = ()
    extractions: tuple[ExtractionRow, ...] = ()
    scores: tuple[ScoreRow, ...] = ()
    calls: dict[str, int] = {}
    why: Unscored | None = None


class RolloutScorer:
    """Reads and scores rollouts.

    Args:
        reward: what will be computed from the evidence.
        config: scorer and roles of training.
        benchmark: of the training questions, whose official scorer an empty name stands for.
        reads_memory: whether the reader is asked.
        overflow: what a rollout that outgrew its token budget is: left out, since the budget is the engine's and not
            the agent's, or scored as the empty prediction that evaluation takes it for.
        tokenize: tokens of a search query, for ALDEN's penalty of repeated ones.
        concurrency: rollouts in flight.

    Raises:
        ConfigError: a role or the scorer cannot be made.
    """

    def __init__(
        self,
        reward: Reward,
        config: ScoreConfig,
        benchmark: str,
        *,
        reads_memory: bool,
        overflow: Literal["left-out", "scored"] = "left-out",
        tokenize: Callable[[str], Sequence[str]] = str.split,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self.reward = reward
        self._config = config
        self._rule = rule_named(config.scorer, benchmark, make_judge(config.judge))
        self._extractor = make_extractor(config.extractor) if self._rule.wants_extraction else None
        self._reader = make_reader(config.readers[0]) if reads_memory else None
        self._samples = getattr(reward, "readers", 1)
        self._leaves_out = frozenset({StopReason.CONTEXT_OVERFLOW} if overflow == "left-out" else ())
        self._concurrency = concurrency
        self._tokenize = tokenize
        self.ids = self._ledger_ids()

    def _ledger_ids(self) -> LedgerIds:
        extraction = config_id(self._config.extractor.name, self.sidecars["extractions"])
        return LedgerIds(
            config_id(self._rule.name, self.sidecars["scores"]),
            None if self._reader is None else reading_id_of(self._config.readers[0]),
            None if self._extractor is None else extraction,
        )

    @property
    def threshold(self) -> str:
        """When a graded score counts as correct, in the reward and in what is logged beside it."""
        return self._config.threshold

    @property
    def sidecars(self) -> dict[str, dict[str, Any]]:
        """Configurations that the ledgers' ids stand for, by kind of ledger."""
        extractor = {"extractor": self._config.extractor.identity()}
        extraction = None
        if self._extractor is not None:
            extraction = config_id(self._config.extractor.name, extractor)
        judge = self._config.judge.identity()
        return {
            "scores": {"scorer": self._rule.name, "extraction_id": extraction, "judge": judge},
            "extractions": extractor,
            "readings": reading_config(self._config.readers[0]),
        }

    async def evidence(self, rollouts: Iterable[tuple[Question, Trajectory]]) -> list[Evidence]:
        """Evidence of each rollout, in order."""
        free = asyncio.Semaphore(self._concurrency)

        async def one(question: Question, trajectory: Trajectory) -> Evidence:
            async with free:
                return await self._evidence(question, trajectory)

        return list(await asyncio.gather(*(one(*rollout) for rollout in rollouts)))

    async def _evidence(self, question: Question, trajectory: Trajectory) -> Evidence:
        if isinstance(self.reward, AldenReward):
            return self._alden(question, trajectory, self.reward)
        left_out = trajectory.stop_reason.is_fault or trajectory.stop_reason in self._leaves_out
        readings = [] if left_out or self._reader is None else await self._readings(trajectory)
        responses = [
            _answer(question, trajectory, left_out),
            *(_of_reading(question, row, self.ids.reading) for row in readings),
        ]
        extractions = [await self._extraction(response) for response in responses]
        scores = [
            await score_row(self._rule, response, self.ids.extraction, extraction)
            for response, extraction in zip(responses, extractions, strict=True)
        ]
        return Evidence(
            trajectory_id=trajectory.trajectory_id,
            seen=_outcome(question, trajectory, scores, self._samples if self._reader else 0),
            readings=tuple(readings),
            extractions=tuple(row for row in extractions if row is not None),
            scores=tuple(scores),
            calls=_calls(responses, len(readings)),
            why=next((row.unscored for row in scores if row.unscored is not None), None),
        )

    def _alden(self, question: Question, trajectory: Trajectory, reward: AldenReward) -> Evidence:
        episode = alden_episode(reward, trajectory, question, self._tokenize)
        left_out = trajectory.stop_reason in self._leaves_out
        if left_out:
            episode = msgspec.structs.replace(episode, turns=None)
        why = Unscored.AGENT_FAULT if episode.turns is None else None
        return Evidence(trajectory_id=trajectory.trajectory_id, seen=episode, why=why)

    async def _readings(self, trajectory: Trajectory) -> list[ReadingRow]:
        assert self._reader is not None
        tasks = [
            ReadingTask(
                trajectory.trajectory_id,
                trajectory.question,
                trajectory.working_memory,
                sample_index=sample,
                seed=sample if self._samples > 1 else None,
            )
            for sample in range(self._samples)
        ]
        return [await reading_row(self._reader, task) for task in tasks]

    async def _extraction(self, response: Response) -> ExtractionRow | None:
        if self._extractor is None or response.unscored is not None or not response.text:
            return None
        fields: dict[str, Any] = {
            "trajectory_id": response.trajectory_id,
            "target": response.target,
            "reading_id": response.reading_id,
            "sample_index": response.sample_index,
        }
        try:
            with boundary(AgentError, "The extractor failed"):
                asked = self._extractor.extract(response.question.question, response.text)
                found = await role_result(asked, Extraction, "extractor")
        except FaultError as problem:
            return ExtractionRow(**fields, unscored=Unscored.EXTRACTOR_FAULT, error=str(problem))
        return ExtractionRow(**fields, text=found.text, usage=found.usage)


def reward_records(
    reward: Reward, evidence: Sequence[Evidence], ids: LedgerIds, step: int
) -> list[RewardRecord]:
    """The reward of each rollout, with the evidence and the configuration that it was computed from."""
    return [
        make_record(
            reward,
            each.seen,
            trajectory_id=each.trajectory_id,
            score_id=ids.score,
            reading_id=ids.reading,
            step_of_training=step,
        )
        for each in evidence
    ]


def placebo(evidence: Sequence[Evidence], groups: Sequence[int], seed: Sequence[int]) -> list[Evidence]:
    """The evidence with memory scores handed to members of the same group at random: an ablation.

    Groups keep their means and spreads, so what remains of AWM's reward is all but the tie between a rollout and its
    own memory. Rollouts without memory scores keep theirs.

    Args:
        evidence: one a rollout.
        groups: group of each rollout.
        seed: of the permutations.
    """
    changed = list(evidence)
    generator = np.random.default_rng(tuple(seed))
    for group in dict.fromkeys(groups):
        members = [
            index for index, label in enumerate(groups) if label == group and _is_read(evidence[index])
        ]
        for index, source in zip(members, generator.permutation(members), strict=True):
            own, other = evidence[index].seen, evidence[int(source)].seen
            assert isinstance(own, Outcome)
            assert isinstance(other, Outcome)
            seen = msgspec.structs.replace(own, memory=other.memory)
            changed[index] = msgspec.structs.replace(evidence[index], seen=seen)
    return changed


def _is_read(evidence: Evidence) -> bool:
    seen = evidence.seen
    return isinstance(seen, Outcome) and bool(seen.memory) and None not in (*seen.memory, seen.answer)


def _answer(question: Question, trajectory: Trajectory, left_out: bool) -> Response:
    unscored = Unscored.AGENT_FAULT if left_out else None if question.references else Unscored.NO_GOLD
    return Response(
        question=question,
        trajectory_id=trajectory.trajectory_id,
        target="answer",
        text=trajectory.answer or "",
        unscored=unscored,
        error=trajectory.error if left_out else None,
    )


def _of_reading(question: Question, row: ReadingRow, reading_id: str | None) -> Response:
    return Response(
        question=question,
        trajectory_id=row.trajectory_id,
        target="memory",
        reading_id=reading_id,
        sample_index=row.sample_index,
        text=row.text or "",
        unscored=row.unscored or (None if question.references else Unscored.NO_GOLD),
        error=row.error,
    )


def _outcome(question: Question, trajectory: Trajectory, scores: Sequence[ScoreRow], readers: int) -> Outcome:
    answer, *memory = [row.value for row in scores]
    return Outcome(
        answer=answer,
        memory=tuple(memory) if memory else (None,) * readers,
        unanswerable=question.unanswerable,
        echoed=echoes_answer(trajectory.memory, trajectory.answer),
    )


def _calls(responses: Sequence[Response], readings: int) -> dict[str, int]:
    """Calls made; an empty response scores 0 by rule and no role is asked."""
    scored = Counter(
        ANSWER_SCORING if response.target == "answer" else MEMORY_SCORING
        for response in responses
        if response.unscored is None and response.text
    )
    return {**scored, **({READING: readings} if readings else {})}
