"""Rows of a stored run: trajectories joined with the scores of one scorer and one reader.

Ledgers are read one record at a time, and what is kept of a record is what rows need: a million trajectories of 1 kB
take some hundred megabytes, not gigabytes. The place of a row follows from its trajectory id: nothing is looked up.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec

from looseleaf.errors import RunError
from looseleaf.metrics.row import Row
from looseleaf.metrics.summary import TrajectorySummary, summary_of
from looseleaf.question import NOT_ANSWERABLE, Question
from looseleaf.runstore import Run, ScoreRow
from looseleaf.score import Score, Unscored
from looseleaf.scoring.thresholds import threshold_named

__all__ = ["StoredRun", "stored_rows"]

FAULT = Score(unscored=Unscored.AGENT_FAULT)
"""The score of a row for which there is none: unscored, never absent."""
MOST_KNOWN = 65_536
"""Different scores with short answers that are kept as one object each."""


class StoredRun:
    """The questions and trajectories of a stored run, read once, and its rows under any scorer and reader.

    Args:
        run: the run.
        slim: leave out what only reports of one run print: tokens, seconds, and short answers that are no refusal.
        like: another run; questions that are equal in both are kept once.
    """

    def __init__(self, run: Run, *, slim: bool = False, like: StoredRun | None = None) -> None:
        self.run = run
        self._like = like
        self._slim = slim
        self.samples = run.samples
        self._known: dict[tuple[float | None, str | None, str | None, float | None, str], Kept] = {}
        self._rows: dict[tuple[str, str | None, str, str], list[Row]] = {}

    @cached_property
    def questions(self) -> list[Question]:
        """The selected questions, in order."""
        known = {}
        if self._like is not None:
            known = {question.question_id: question for question in self._like.questions}
        return [_slimmed(known.get(each.question_id), each) for each in self.run.read_questions()]

    @cached_property
    def _places(self) -> dict[str, int]:
        """Place of each question's first row."""
        return {question.question_id: number * self.samples for number, question in enumerate(self.questions)}

    def _place(self, trajectory_id: str) -> int | None:
        """Place of a trajectory's row; `None` for one that is not selected."""
        question_id, _, sample = trajectory_id.rpartition("#")
        start = self._places.get(question_id)
        if start is None or not sample.isascii() or not sample.isdigit() or len(sample) > LONGEST_SAMPLE:
            return None
        number = int(sample)
        return start + number if number < self.samples and str(number) == sample else None

    @cached_property
    def trajectories(self) -> list[TrajectorySummary | None]:
        """What is counted of each row's trajectory; the last record of each counts.

        Raises:
            RunError: a record cannot be read, or a later version of looseleaf wrote it.
        """
        found: list[TrajectorySummary | None] = [None] * (len(self.questions) * self.samples)
        oracles: dict[str, dict[str, Any]] = {}
        for record in self.run.read_all_trajectories():
            place = self._place(record.trajectory_id)
            if place is not None:
                found[place] = summary_of(record, oracles, slim=self._slim)
        return found

    def rows(
        self, score_id: str, reading_id: str | None, *, threshold: str = ">0", variant: str = "own"
    ) -> list[Row]:
        """One row for every selected question and sample; the same list where it was asked for before.

        Args:
            score_id: ledger of the scores.
            reading_id: reader whose readings count as the memory's answer; `None` leaves memory metrics undefined.
            threshold: name of the binarisation.
            variant: memory variant that was read.

        Raises:
            RunError: there is no such ledger.
            ConfigError: there is no such threshold.
        """
        threshold_named(threshold)
        key = (score_id, reading_id, threshold, variant)
        if key not in self._rows:
            self._rows[key] = list(self._joined(score_id, reading_id, threshold, variant))
        return self._rows[key]

    def _joined(self, score_id: str, reading_id: str | None, threshold: str, variant: str) -> Iterator[Row]:
        answers, memories = self._scored(score_id, reading_id, variant)
        keeps_memory = self.run.keeps_memory
        reads = reading_id is not None and keeps_memory
        for place, trajectory in enumerate(self.trajectories):
            answer, memory = answers[place], memories[place]
            lacks = trajectory is not None and "memory" in trajectory.undefined
            yield Row(
                question=self.questions[place // self.samples],
                trajectory=trajectory,
                answer=FAULT if answer is None else answer[0],
                memory=None if lacks or not reads else FAULT if memory is None else memory[0],
                upstream=None if answer is None else answer[1],
                memory_upstream=None if memory is None else memory[1],
                prediction="" if answer is None else answer[2],
                reading="" if memory is None else memory[2],
                threshold=threshold,
                keeps_memory=keeps_memory,
                sample=place % self.samples,
            )

    def _scored(
        self, score_id: str, reading_id: str | None, variant: str
    ) -> tuple[list[Kept | None], list[Kept | None]]:
        """Scores of answers and of readings by place; the last record of each counts."""
        ledger = self.run.scores(score_id)
        if not ledger.path.exists():
            raise RunError(
                f"{self.run.path} has no scores {score_id!r}; make them with `looseleaf score {self.run.path}`."
            )
        answers: list[Kept | None] = [None] * (len(self.questions) * self.samples)
        memories: list[Kept | None] = [None] * len(answers)
        wanted = ("memory", reading_id, variant, 0)
        for row in ledger.read():
            if row.target == "answer":
                kept = answers
            elif (row.target, row.reading_id, row.variant, row.sample_index) == wanted:
                kept = memories
            else:
                continue
            place = self._place(row.trajectory_id)
            if place is not None:
                kept[place] = self._kept(row)
        return answers, memories

    def _kept(self, row: ScoreRow) -> Kept:
        """What is kept of a score; equal ones are one object, as most scores and many answers are."""
        text = "" if row.prediction is None else str(row.prediction)
        if self._slim and text != NOT_ANSWERABLE:
            text = ""
        key = (row.value, row.unscored, row.upstream_raises, row.upstream_value, text)
        kept = self._known.get(key)
        if kept is None:
            kept = (row.score, row.upstream_value, text)
            if len(self._known) < MOST_KNOWN:
                self._known[key] = kept
        return kept


def _slimmed(known: Question | None, question: Question) -> Question:
    """The question as the object that is there already, or with the labels that many questions share kept once."""
    if known is not None and known == question:
        return known
    shared = {name: sys.intern(getattr(question, name)) for name in SHARED_LABELS}
    return msgspec.structs.replace(question, **shared, sources=tuple(map(sys.intern, question.sources)))


SHARED_LABELS = ("benchmark", "split", "doc_id", "answer_format", "doc_type")
Kept = tuple[Score, float | None, str]
"""What is kept of a score: itself, what upstream would have recorded, and the short answer."""
LONGEST_SAMPLE = 9
"""Digits of a sample number."""


def stored_rows(
    run: Run, score_id: str, reading_id: str | None, *, threshold: str = ">0", variant: str = "own"
) -> Sequence[Row]:
    """One row for every selected question and sample; see `StoredRun.rows`.

    Raises:
        RunError: there is no such ledger.
    """
    return StoredRun(run).rows(score_id, reading_id, threshold=threshold, variant=variant)
