"""What can be wrong with a question or a document, as records."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from looseleaf.question import Question

__all__ = ["Fault", "FaultKind"]


class FaultKind(StrEnum):
    """Every fault that `check` knows; each is found by a rule, none by a list of known rows."""

    ZERO_PAGE = "zero_page"
    """An evidence page below 1, which no page of a 1-based numbering is."""
    DUPLICATE_PAGES = "duplicate_pages"
    """The evidence pages name a page more than once."""
    ANSWERABLE_WITHOUT_PAGES = "answerable_without_pages"
    """The set gives evidence pages, the row is answerable, and its list is empty."""
    UNANSWERABLE_WITH_PAGES = "unanswerable_with_pages"
    """The row is unanswerable, yet names evidence pages."""
    UNANSWERABLE_WITH_SOURCES = "unanswerable_with_sources"
    """The row is unanswerable and names no page, yet names evidence sources."""
    DUPLICATE_QUESTION = "duplicate_question"
    """An earlier row asks the same about the same document."""
    EMPTY_GOLD = "empty_gold"
    """The row is answerable and its gold answer is blank text."""
    UNREACHABLE_GOLD = "unreachable_gold"
    """The gold answer, given as the prediction, does not score 1 under the official rule."""
    PAGE_OUT_OF_RANGE = "page_out_of_range"
    """An evidence page lies beyond the document's last page, and nothing explains it."""
    FUSED_PAGES = "fused_pages"
    """Two page numbers were written as one: 1418 for "14, 18"."""
    PRINTED_PAGES = "printed_pages"
    """The evidence pages are printed numbers, not physical pages."""
    OUTSIDE_WINDOW = "outside_window"
    """An evidence page lies outside the page window of the official input."""
    PAGE_COUNT = "page_count"
    """The document has another number of pages than the source says."""
    BROKEN_DOCUMENT = "broken_document"
    """The document cannot be opened, or has no page."""
    UNREADABLE_PAGES = "unreadable_pages"
    """The text of some pages cannot be read."""
    DUPLICATE_DOCUMENT = "duplicate_document"
    """Another document of the folder has the same bytes."""
    RENAMED_DOCUMENT = "renamed_document"
    """The document was found under a name that is not exactly the source's."""
    WRONG_DOCUMENT = "wrong_document"
    """The document's words fit its questions worse than unrelated documents do; a suspicion."""
    MISPLACED_DOCUMENT = "misplaced_document"
    """A file that no question names resembles the name of a missing document; a suspicion."""
    UNREADABLE_NAME = "unreadable_name"
    """A file's name is not UTF-8, so that no question can name it."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault.

    Attributes:
        kind: which rule found it.
        message: one sentence for the reader.
        doc_id: the document concerned.
        row: row index, as in the `question_id`; `None` for a fault of a document.
        question_id: the question concerned.
        certain: whether the rule proves the fault; otherwise it is a suspicion to look into.
        detail: the values behind the message, e.g. `{"pages": [1418], "physical": [14, 18]}`.
    """

    kind: FaultKind
    message: str
    doc_id: str
    row: int | None = None
    question_id: str = ""
    certain: bool = True
    detail: dict[str, Any] = {}

    @classmethod
    def of(cls, kind: FaultKind, question: Question, message: str, **detail: Any) -> Fault:
        """A fault of one question."""
        return cls(
            kind=kind,
            message=message,
            doc_id=question.doc_id,
            row=int(question.question_id.rpartition(":")[2]),
            question_id=question.question_id,
            detail=detail,
        )
