"""`SourceRow`: one foreign trajectory in our words, before it is matched with a question; `SourceFormat`: who reads it.

A reader converts page numbers to physical 1-based ones, once, and keeps the source's own values beside them. It says
which parts the source does not record (`undefined`), so that their metrics are undefined and not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.memory import Finding
from looseleaf.question import Question
from looseleaf.roles import Usage
from looseleaf.trajectory import Part, Step, StopReason

__all__ = ["Gold", "Rejected", "RowProblem", "SourceFormat", "SourceRow", "converted"]


class RowProblem(Exception):  # noqa: N818  (never leaves a reader: it becomes a `Rejected`)
    """Why one row cannot be used, in words."""


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """What a source says of the right answer; see `looseleaf.question.Question` for the fields.

    Attributes:
        unanswerable: `None` where the source does not say, so that it follows from the reference.
    """

    references: tuple[Any, ...] = ()
    answer_format: str = ""
    evidence_pages: tuple[int, ...] | None = None
    raw_evidence: Any = None
    sources: tuple[str, ...] = ()
    doc_type: str = ""
    tags: dict[str, Any] = {}
    unanswerable: bool | None = None


class SourceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One foreign trajectory.

    Attributes:
        where: file and position, for messages and provenance.
        question: the question as asked; may be empty where `native_id` names it.
        doc_id: the source's name of the document; empty where it has none.
        native_id: the source's own identifier of the question; empty where it has none.
        steps: the turns, pages physical and 1-based.
        memory: findings.
        answer: the final answer.
        stop_reason: why it ended; `None` where the source holds the question only, so that nothing ran.
        undefined: parts that the source does not record.
        gold: what the source says of the right answer.
        raw_pages: the source's page values, unchanged.
        notes: what a reader of the numbers should know of this row.
        model: who acted, as the source names it.
        sample_index: 0-based sample of the question; `None` = in order of appearance.
        seed: seed of the sample.
        usage: tokens.
        seconds: wall time.
        error: the sentence of the fault.
        known: the question itself, where the source holds it in our own form.
    """

    where: str
    question: str
    doc_id: str = ""
    native_id: str = ""
    steps: tuple[Step, ...] = ()
    memory: tuple[Finding, ...] = ()
    answer: str | None = None
    stop_reason: StopReason | None = StopReason.ANSWERED
    undefined: tuple[Part, ...] = ()
    gold: Gold = Gold()
    raw_pages: Any = None
    notes: tuple[str, ...] = ()
    model: str = ""
    sample_index: int | None = None
    seed: int | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None
    known: Question | None = None


class Rejected(msgspec.Struct, frozen=True):
    """A row that cannot be used, and why."""

    where: str
    why: str


class SourceFormat(msgspec.Struct, frozen=True, kw_only=True):
    """A format.

    Attributes:
        name: canonical name, the command-line argument.
        title: what it is, in one line.
        upstream: repositories and commits whose writers were followed.
        pages: how the source numbers pages.
        read: called with the file or folder and the options; yields rows in order.
        questions: where the source holds the questions themselves in our own form, reads them from the file or folder.
        options: names of the options that it takes, with what they do.
    """

    name: str
    title: str
    upstream: str
    pages: str
    read: Callable[[Path, Mapping[str, str]], Iterable[SourceRow | Rejected]]
    questions: Callable[[Path], Iterable[Question]] | None = None
    options: Mapping[str, str] = {}


def converted(
    records: Iterable[tuple[str, Any]], convert: Callable[[str, Any], SourceRow]
) -> Iterator[SourceRow | Rejected]:
    """Each record (place and JSON value) as a row, or why it is none.

    A record that is an exception stands for one that could not be read.
    """
    for where, record in records:
        try:
            if isinstance(record, RowProblem):
                raise record
            yield convert(where, record)
        except RowProblem as problem:
            yield Rejected(where, str(problem))
