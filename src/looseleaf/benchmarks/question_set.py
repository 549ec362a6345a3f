"""`QuestionSet`: the questions of a benchmark with the documents that are present."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from looseleaf.document import Document, PageStore
from looseleaf.errors import DataError
from looseleaf.question import Question

__all__ = ["AppliedOverlay", "QuestionSet"]


@dataclass(frozen=True, kw_only=True)
class AppliedOverlay:
    """Which corrections were applied to the source's rows.

    Attributes:
        name: name that the overlay file gives itself.
        sha256: hex digest of the file.
        changed: row indices whose fields were changed.
        dropped: row indices that were left out.
    """

    name: str
    sha256: str
    changed: tuple[int, ...]
    dropped: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class QuestionSet:
    """Questions in the order of their source, and where their documents are.

    Attributes:
        name: canonical benchmark name, or the stem of one's own question file.
        split: name of the split.
        version: which release of the source this is, e.g. `v1-1082 (2025-09-24)`.
        questions: every row of the source, whether its document is present or not.
        documents: `doc_id` to the path of the present document, always inside `data`.
        missing: `doc_id`s whose document is not present, in order of first use.
        data: the data folder.
        annotations: annotation file name to the sha256 of its bytes.
        sha256: one digest that stands for the annotation files.
        extra: documents that no question asks about: printable name to path.
        notes: warnings, one sentence each.
        options: options that the set was loaded with.
        oracle: what this input tells the agent beyond the document, e.g. `{"page_window": "official-30"}`.
        overlay: corrections that were applied, or `None` for the source's rows as they are.
        first_index: number of the first page in the names of page images, where the source fixes it.
    """

    name: str
    split: str
    version: str
    questions: tuple[Question, ...]
    documents: Mapping[str, Path]
    missing: tuple[str, ...]
    data: Path
    annotations: Mapping[str, str]
    sha256: str
    extra: Mapping[str, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    oracle: Mapping[str, Any] = field(default_factory=dict)
    overlay: AppliedOverlay | None = None
    first_index: Literal[0, 1] | None = None

    def __len__(self) -> int:
        return len(self.questions)

    @cached_property
    def runnable(self) -> tuple[Question, ...]:
        """The questions whose document is present, in order: the denominator `n_total`."""
        return tuple(question for question in self.questions if question.doc_id in self.documents)

    @cached_property
    def _by_id(self) -> Mapping[str, Question]:
        return {question.question_id: question for question in self.questions}

    def question(self, question_id: str) -> Question:
        """The question with this id.

        Raises:
            DataError: there is none.
        """
        if question_id not in self._by_id:
            raise DataError(f'{self.name} has no question "{question_id}"; ids look like "{self.name}:0".')
        return self._by_id[question_id]

    def path_of(self, question: Question) -> Path:
        """The question's document.

        Raises:
            DataError: the document is not present.
        """
        if question.doc_id not in self.documents:
            raise DataError(
                f'{question.question_id}: the document "{question.doc_id}" is not in {self.data}; add it.'
            )
        return self.documents[question.doc_id]

    def window_of(self, question: Question) -> tuple[int, int] | None:
        """The page window that this set restricts the question to, or `None` for the whole document.

        `Question.window` is what the source says; it binds only where the set was loaded with a page window.
        """
        return question.window if "page_window" in self.oracle else None

    def open(
        self, question: Question, store: PageStore | None = None, *, ocr: bool | None = None
    ) -> Document:
        """The question's document, opened.

        Args:
            question: one of the set.
            store: where pages are cached and read; the process-wide one by default.
            ocr: read what has no text layer by OCR; what the store says by default.

        Raises:
            DataError: the document is not present.
            DocumentError: it cannot be opened.
        """
        first_index = "auto" if self.first_index is None else self.first_index
        path = self.path_of(question)
        return Document.open(path, store=store, doc_id=question.doc_id, first_index=first_index, ocr=ocr)

    def only(self, questions: Iterable[Question]) -> QuestionSet:
        """The same set restricted to `questions`; documents and provenance stay."""
        return replace(self, questions=tuple(questions))

    def describe(self) -> dict[str, Any]:
        """Provenance and counts as JSON values, for a manifest or a report."""
        return {
            "name": self.name,
            "split": self.split,
            "version": self.version,
            "sha256": self.sha256,
            "annotations": dict(self.annotations),
            "n_questions": len(self.questions),
            "n_runnable": len(self.runnable),
            "n_documents": len(self.documents),
            "n_missing_documents": len(self.missing),
            "options": dict(self.options),
            "oracle": dict(self.oracle),
            "overlay": None if self.overlay is None else _overlay_json(self.overlay),
            "notes": list(self.notes),
        }


def _overlay_json(overlay: AppliedOverlay) -> dict[str, Any]:
    return {
        "name": overlay.name,
        "sha256": overlay.sha256,
        "changed": list(overlay.changed),
        "dropped": list(overlay.dropped),
    }
