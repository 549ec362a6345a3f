"""The responses of a run that wait for an extractor and a scorer: final answers and readings from memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from looseleaf.question import Question
from looseleaf.runstore import ReadingRow
from looseleaf.score import Unscored
from looseleaf.trajectory import Trajectory

__all__ = ["Response", "responses_of"]


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """One response to be scored.

    Attributes:
        question: the question, with its gold answer.
        trajectory_id: the trajectory it came from or would have come from.
        target: `answer` or `memory`.
        reading_id: ledger id of the reading for `memory`.
        variant: memory variant of the reading.
        sample_index: sample of the reading.
        text: the response; an empty one is an empty prediction and scores 0 by rule.
        unscored: why there is no response.
        error: the sentence of the fault.
    """

    question: Question
    trajectory_id: str
    target: str
    reading_id: str | None = None
    variant: str = "own"
    sample_index: int = 0
    text: str = ""
    unscored: Unscored | None = None
    error: str | None = None

    @property
    def key(self) -> str:
        """Identity of the response inside a ledger of extractions or scores."""
        return f"{self.trajectory_id}|{self.target}|{self.reading_id}|{self.variant}|{self.sample_index}"


def responses_of(
    questions: Iterable[Question],
    trajectories: Mapping[str, Trajectory],
    readings: Mapping[str, Iterable[ReadingRow]],
    samples: int,
    documents_missing: frozenset[str] = frozenset(),
) -> Iterator[Response]:
    """Every final answer and every reading that the selected questions should have, in order.

    Args:
        questions: the selected questions.
        trajectories: by trajectory id.
        readings: rows of each reading ledger, by ledger id.
        samples: trajectories a question.
        documents_missing: ids of selected questions without a document (`--strict`).
    """
    by_id = {
        f"{question.question_id}#{sample}": question for question in questions for sample in range(samples)
    }
    for trajectory_id, question in by_id.items():
        missing = question.question_id in documents_missing
        yield _answer(question, trajectory_id, trajectories.get(trajectory_id), missing)
    for reading_id, rows in readings.items():
        for row in rows:
            if row.trajectory_id in by_id:
                yield _reading(by_id[row.trajectory_id], reading_id, row)


def _answer(question: Question, trajectory_id: str, trajectory: Trajectory | None, missing: bool) -> Response:
    unscored = _why_unscored(question, trajectory, missing)
    return Response(
        question=question,
        trajectory_id=trajectory_id,
        target="answer",
        text="" if trajectory is None else trajectory.answer or "",
        unscored=unscored,
        error=trajectory.error if trajectory is not None and unscored else None,
    )


def _why_unscored(question: Question, trajectory: Trajectory | None, missing: bool) -> Unscored | None:
    if missing:
        return Unscored.MISSING_DOCUMENT
    if trajectory is None or trajectory.stop_reason.is_fault:
        return Unscored.AGENT_FAULT
    return None if question.references else Unscored.NO_GOLD


def _reading(question: Question, reading_id: str, row: ReadingRow) -> Response:
    return Response(
        question=question,
        trajectory_id=row.trajectory_id,
        target="memory",
        reading_id=reading_id,
        variant=row.variant,
        sample_index=row.sample_index,
        text=row.text or "",
        unscored=row.unscored or (None if question.references else Unscored.NO_GOLD),
        error=row.error,
    )
