"""Faults that show when the real document is opened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from looseleaf.benchmarks.faults import Fault, FaultKind
from looseleaf.document import Document
from looseleaf.question import Question

__all__ = ["PageNumbering", "document_faults", "page_faults"]

OFFSET_SHARE = 0.4
"""Share of the pages with text that must print the same offset before it counts as the document's numbering."""

OFFSET_PAGES = 3
"""Fewest pages that must print it."""

_EDGE_LINES = 2
"""Lines at the top and at the bottom of a page where a printed page number is looked for."""

_EDGE_NUMBER = re.compile(r"^\W*(\d{1,4})\b|\b(\d{1,4})\W*$")
"""A number at the start or the end of a line."""


class PageNumbering:
    """How a document's printed page numbers relate to its physical pages.

    Args:
        labels: printed labels of the pages, in order.
        texts: text layers of the pages, in order.
    """

    def __init__(self, labels: Sequence[str], texts: Sequence[str]) -> None:
        self._labels = labels
        self._texts = texts

    def physical(self, printed: int) -> int | None:
        """The physical 1-based page that prints this number, or `None` where that is not known.

        The document's own page labels come first; without a fitting one, a constant offset that enough pages print
        in their first or last lines.
        """
        if (page := self._by_label.get(printed)) is not None:
            return page
        if self._offset is None or not 1 <= printed - self._offset <= len(self._texts):
            return None
        return printed - self._offset

    @cached_property
    def _by_label(self) -> Mapping[int, int]:
        counts = Counter(self._labels)
        return {
            int(label): page
            for page, label in enumerate(self._labels, start=1)
            if counts[label] == 1 and label.isascii() and label.isdecimal() and int(label) != page
        }

    @cached_property
    def _offset(self) -> int | None:
        votes = Counter(
            number - page
            for page, text in enumerate(self._texts, start=1)
            for number in _edge_numbers(text)
            if number != page
        )
        if not votes:
            return None
        offset, count = votes.most_common(1)[0]
        with_text = sum(bool(text.strip()) for text in self._texts)
        return offset if count >= max(OFFSET_PAGES, OFFSET_SHARE * with_text) else None


def document_faults(document: Document, questions: Sequence[Question]) -> Iterator[Fault]:
    """Faults of one document and of its questions' evidence pages."""
    if document.unreadable:
        pages = sorted(document.unreadable)
        message = f"the text of pages {pages} cannot be read: {document.unreadable[pages[0]]}"
        yield Fault(
            kind=FaultKind.UNREADABLE_PAGES, message=message, doc_id=document.doc_id, detail={"pages": pages}
        )
    yield from _page_count_fault(document, questions)
    numbering = PageNumbering(document.labels, document.texts())
    for question in questions:
        yield from page_faults(question, document.page_count, numbering)


def page_faults(question: Question, page_count: int, numbering: PageNumbering) -> Iterator[Fault]:
    """Faults of evidence pages beyond the last page.

    A number beyond the last page is, in this order: a printed number, if every such number of the row is printed on
    some page; two numbers written as one, if cutting it gives two pages that fit into the row's ascending order
    between in-range neighbours; otherwise out of range.

    Args:
        question: whose evidence pages.
        page_count: pages of its document.
        numbering: printed numbers of the document.
    """
    pages = question.evidence_pages or ()
    beyond = [page for page in pages if page > page_count]
    if not beyond:
        return
    physical = [numbering.physical(page) for page in beyond]
    if None not in physical:
        message = (
            f"evidence pages {beyond} are printed numbers; the document has {page_count} pages, and these are its "
            f"physical pages {physical}"
        )
        yield Fault.of(FaultKind.PRINTED_PAGES, question, message, pages=beyond, physical=physical)
        return
    for page in beyond:
        yield _beyond(question, pages, page, page_count)


def _beyond(question: Question, pages: Sequence[int], page: int, page_count: int) -> Fault:
    parts = _unfused(pages, pages.index(page), page_count)
    if parts is not None:
        message = f'evidence page {page} of {page_count} is "{parts[0]}, {parts[1]}" written as one number'
        return Fault.of(FaultKind.FUSED_PAGES, question, message, pages=[page], physical=list(parts))
    message = f"evidence page {page} does not exist; the document has {page_count} pages"
    return Fault.of(FaultKind.PAGE_OUT_OF_RANGE, question, message, pages=[page], page_count=page_count)


def _unfused(pages: Sequence[int], at: int, page_count: int) -> tuple[int, int] | None:
    """The two pages that `pages[at]` runs together, if exactly one cut fits between in-range neighbours."""
    before = pages[at - 1] if at else 0
    after = pages[at + 1] if at + 1 < len(pages) else page_count + 1
    if len(pages) == 1 or before > page_count or (at + 1 < len(pages) and after > page_count):
        return None
    digits = str(pages[at])
    cuts = [(int(digits[:cut]), digits[cut:]) for cut in range(1, len(digits))]
    fitting = [
        (left, int(right))
        for left, right in cuts
        if not right.startswith("0") and before < left < int(right) < after and int(right) <= page_count
    ]
    return fitting[0] if len(fitting) == 1 else None


def _page_count_fault(document: Document, questions: Iterable[Question]) -> Iterator[Fault]:
    said = {question.tags["total_pages"] for question in questions if "total_pages" in question.tags}
    if said and said != {document.page_count}:
        numbers = ", ".join(str(number) for number in sorted(said, key=str))
        message = f"the document has {document.page_count} pages, but the source says {numbers}"
        yield Fault(kind=FaultKind.PAGE_COUNT, message=message, doc_id=document.doc_id)


def _edge_numbers(text: str) -> set[int]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    edges = [*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:]]
    return {
        int(number)
        for line in edges
        for match in _EDGE_NUMBER.finditer(line)
        for number in match.groups()
        if number
    }
