"""Scoring one trajectory in memory, by the code that scores a stored run."""

from __future__ import annotations

from typing import Any, NamedTuple

from looseleaf.errors import AgentError, FaultError, boundary
from looseleaf.question import Question
from looseleaf.roles import Extraction, Extractor, Reader
from looseleaf.runner.answers import Response, responses_of
from looseleaf.runner.checked import role_result
from looseleaf.runner.score import own_task
from looseleaf.runner.scorers import ScoringRule, score_row
from looseleaf.runner.stages import reading_row
from looseleaf.runstore import ExtractionRow, ReadingRow, ScoreRow
from looseleaf.score import Unscored
from looseleaf.trajectory import Trajectory

__all__ = ["Judged", "judge_trajectory"]

READING_ID = "reader"
"""Ledger id of the one reader, where there are no ledgers."""


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
    who: dict[str, Any] = {"trajectory_id": response.trajectory_id, "target": response.target}
    try:
        with boundary(AgentError, "The extractor failed"):
            asked = extractor.extract(response.question.question, response.text)
            extraction = await role_result(asked, Extraction, "extractor")
    except FaultError as problem:
        return ExtractionRow(**who, unscored=Unscored.EXTRACTOR_FAULT, error=str(problem))
    return ExtractionRow(**who, text=extraction.text, usage=extraction.usage)
