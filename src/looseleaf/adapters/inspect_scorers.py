"""Our scorers as one Inspect scorer with two values, `answer` and `memory`, and our metrics as Inspect metrics.

A value that is unscored is NaN, which Inspect leaves out of metrics and counts apart; it is never 0. Standard errors
take documents as clusters; slices by evidence source overlap, since a question may have several.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Scorer,
    Target,
    Value,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import TaskState

from looseleaf.adapters.inspect_model import InspectClient, as_client, model_of_role
from looseleaf.errors import AgentError, FaultError, boundary
from looseleaf.metrics.row import Row
from looseleaf.metrics.sources import source_names
from looseleaf.metrics.table import evaluate_rows
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.text_roles import ChatExtractor, ChatJudge, ChatReader
from looseleaf.models.embedded import EmbeddedReader
from looseleaf.models.role_spec import RoleName, RoleSpec
from looseleaf.protocol import Protocol
from looseleaf.question import Question
from looseleaf.reward import AnswerOnlyReward, AWMReward, Outcome
from looseleaf.roles import Extraction, Extractor, Judge, Reader
from looseleaf.runner.answers import Response, responses_of
from looseleaf.runner.checked import role_result
from looseleaf.runner.score import own_task
from looseleaf.runner.scorers import ScoringRule, rule_named, score_row
from looseleaf.runner.stages import reading_row
from looseleaf.runstore import ExtractionRow, ReadingRow, ScoreRow
from looseleaf.score import Score, Unscored
from looseleaf.scoring.extraction import RuleExtractor
from looseleaf.scoring.thresholds import threshold_named
from looseleaf.statistics import Clusters, linearised_error
from looseleaf.trajectory import Trajectory

__all__ = [
    "METRICS",
    "SCORE_NAME",
    "TRAJECTORY_KEY",
    "Judged",
    "by_source",
    "inspect_score",
    "judge_trajectory",
    "looseleaf_scorer",
    "outcome",
    "question_of",
]

TRAJECTORY_KEY = "looseleaf_trajectory"
"""Name of the stored trajectory in a sample's store: the record as a RUN has it, so that nothing is lost in a log."""
SCORE_NAME = "looseleaf"
"""Name of the scorer, and so of the score of a sample."""
READING_ID = "inspect"
"""Ledger id of the one reader, where there are no ledgers."""
OUTCOME_METRICS = ("P_mmc[answerable]", "P_mmc", "Cell11", "Cell10", "Cell01", "Cell00", "Gap")
"""Our metrics of the two scores together, by their canonical names (`looseleaf.metrics`)."""
MIN_CLUSTERS = 2
"""Fewest documents with a standard error."""


class Judged(NamedTuple):
    """The scores of one trajectory, as the ledgers of a stored run have them.

    Attributes:
        answer: of the final answer.
        memory: of the reader's answer from the memory alone, or `None` without a memory.
        reading: the reader's answer as it came.
    """

    answer: ScoreRow
    memory: ScoreRow | None = None
    reading: ReadingRow | None = None


async def judge_trajectory(
    question: Question,
    trajectory: Trajectory | None,
    rule: ScoringRule,
    *,
    reader: Reader | None,
    extractor: Extractor | None,
    sample_index: int = 0,
    missing: bool = False,
) -> Judged:
    """Read, extract and score as `looseleaf score` does on a stored run.

    Args:
        question: with its gold answer.
        trajectory: what was run, or `None` where nothing was.
        rule: the scorer.
        reader: who answers from the memory, or `None` where the protocol has none.
        extractor: who turns responses into short answers, or `None` to take them as they are.
        sample_index: sample of the question.
        missing: whether the question's document is not there.
    """
    reading = None
    if reader is not None and trajectory is not None and not trajectory.stop_reason.is_fault:
        reading = await reading_row(reader, own_task(trajectory))
    responses = responses_of(
        [question],
        {} if trajectory is None else {trajectory.trajectory_id: trajectory},
        {READING_ID: [] if reading is None else [reading]},
        sample_index + 1,
        frozenset({question.question_id} if missing else ()),
    )
    own = [one for one in responses if one.trajectory_id == f"{question.question_id}#{sample_index}"]
    rows = [await _scored(rule, extractor, response) for response in own]
    return Judged(rows[0], rows[1] if len(rows) > 1 else None, reading)


async def _scored(rule: ScoringRule, extractor: Extractor | None, response: Response) -> ScoreRow:
    wanted = rule.wants_extraction and response.unscored is None and bool(response.text)
    extraction = await _extracted(extractor, response) if wanted and extractor is not None else None
    return await score_row(rule, response, None, extraction)


async def _extracted(extractor: Extractor, response: Response) -> ExtractionRow:
    who = {"trajectory_id": response.trajectory_id, "target": response.target}
    try:
        with boundary(AgentError, "The extractor failed"):
            asked = extractor.extract(response.question.question, response.text)
            extraction = await role_result(asked, Extraction, "extractor")
    except FaultError as problem:
        return ExtractionRow(**who, unscored=Unscored.EXTRACTOR_FAULT, error=str(problem))
    return ExtractionRow(**who, text=extraction.text, usage=extraction.usage)


# -- the scorer ------------------------------------------------------------------------------------------------


def inspect_score(
    question: Question,
    trajectory: Trajectory | None,
    judged: Judged,
    *,
    has_memory: bool,
    threshold: str,
    settings: dict[str, Any],
) -> InspectScore:
    """Both scores as Inspect's, with outcome cell, rewards and settings as metadata.

    Args:
        question: the question.
        trajectory: what was run, or `None`.
        judged: the scores.
        has_memory: whether the protocol has a memory; without one there is no value `memory`.
        threshold: above what a graded score counts as correct in the cell.
        settings: what the result depends on, by name.
    """
    answer, memory = judged.answer, judged.memory
    evidence = Outcome(
        answer=answer.value,
        memory=() if memory is None else (memory.value,),
        unanswerable=question.unanswerable,
    )
    unscored = answer.unscored or (memory.unscored if memory is not None else None)
    value = {"answer": _number(answer.value)}
    if has_memory:
        value["memory"] = _number(memory.value if memory is not None else None)
    return InspectScore(
        value=value,
        answer=None if trajectory is None else trajectory.answer,
        explanation=_explanation(trajectory, judged),
        reason=None if unscored is None else str(unscored),
        metadata={
            "memory_answers": None if memory is None else _correct(memory.value, threshold),
            "outcome_cell": _cell(evidence, threshold),
            "reading": None if judged.reading is None else judged.reading.text,
            "stop_reason": None if trajectory is None else str(trajectory.stop_reason),
            "rewards": {reward.label: reward.value(evidence) for reward in (AWMReward(), AnswerOnlyReward())},
            "scores": {
                "answer": msgspec.to_builtins(answer),
                "memory": None if memory is None else msgspec.to_builtins(memory),
            },
            "settings": settings | {"threshold": threshold},
        },
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _correct(value: float | None, threshold: str) -> bool | None:
    return None if value is None else threshold_named(threshold)(value)


def _cell(evidence: Outcome, threshold: str) -> str | None:
    """(s_ans, s_mem) as two digits, e.g. `10`: right, and the memory alone does not give it."""
    answer = _correct(evidence.answer, threshold)
    memory = _correct(evidence.memory[0] if evidence.memory else None, threshold)
    return None if answer is None or memory is None else f"{int(answer)}{int(memory)}"


def _explanation(trajectory: Trajectory | None, judged: Judged) -> str:
    lines = [row.error for row in (judged.answer, judged.memory) if row is not None and row.error]
    if judged.answer.unscored is not None:
        lines.insert(0, f"Unscored: {judged.answer.unscored}.")
    if trajectory is not None and trajectory.memory:
        lines.append(f"Memory:\n{trajectory.working_memory.as_text()}")
    if judged.reading is not None and judged.reading.text is not None:
        lines.append(f"From the memory alone: {judged.reading.text}")
    return "\n\n".join(lines)


@scorer(metrics=[], name=SCORE_NAME)
def _placeholder() -> Scorer:  # pragma: no cover
    raise NotImplementedError
