"""Faults that the annotations show by themselves."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from looseleaf.benchmarks.faults import Fault, FaultKind
from looseleaf.benchmarks.golds import gold_against_itself
from looseleaf.question import Question

__all__ = ["annotation_faults", "normalised_question"]


def normalised_question(text: str) -> str:
    """The form in which questions are compared: compatibility-composed, case-folded, blanks squeezed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def annotation_faults(questions: Iterable[Question]) -> Iterator[Fault]:
    """Faults of the rows, in their order."""
    seen: dict[tuple[str, str], Question] = {}
    for question in questions:
        yield from _page_faults(question)
        yield from _gold_faults(question)
        key = question.doc_id, normalised_question(question.question)
        if key in seen:
            yield _duplicate(question, seen[key])
        seen.setdefault(key, question)


def _page_faults(question: Question) -> Iterator[Fault]:
    pages = question.evidence_pages
    if pages is None:
        return
    if low := [page for page in pages if page < 1]:
        message = f"evidence pages {list(pages)} hold {low[0]}, but the first page is 1"
        yield Fault.of(FaultKind.ZERO_PAGE, question, message, pages=low)
    if len(set(pages)) < len(pages):
        repeated = sorted({page for page in pages if pages.count(page) > 1})
        message = f"evidence pages {list(pages)} name a page more than once"
        yield Fault.of(FaultKind.DUPLICATE_PAGES, question, message, pages=repeated)
    if not question.unanswerable and not pages:
        message = "the question is answerable, but has no evidence page"
        yield Fault.of(FaultKind.ANSWERABLE_WITHOUT_PAGES, question, message)
    if question.unanswerable and pages:
        message = f"the question is unanswerable, but has evidence pages {list(pages)}"
        yield Fault.of(FaultKind.UNANSWERABLE_WITH_PAGES, question, message, pages=list(pages))
    if question.unanswerable and not pages and question.sources:
        message = f"the question is unanswerable, but has evidence sources {list(question.sources)}"
        yield Fault.of(FaultKind.UNANSWERABLE_WITH_SOURCES, question, message, sources=list(question.sources))
    if question.window and (outside := [page for page in pages if page >= 1 and not _inside(page, question)]):
        first, last = question.window
        message = f"evidence pages {outside} lie outside the official input, pages {first} to {last}"
        yield Fault.of(FaultKind.OUTSIDE_WINDOW, question, message, pages=outside, window=[first, last])


def _inside(page: int, question: Question) -> bool:
    return question.window is None or question.window[0] <= page <= question.window[1]


def _gold_faults(question: Question) -> Iterator[Fault]:
    if not question.references:
        return
    gold = question.references[0]
    if not question.unanswerable and isinstance(gold, str) and not gold.strip():
        yield Fault.of(
            FaultKind.EMPTY_GOLD, question, "the question is answerable, but its gold answer is blank"
        )
        return
    score = gold_against_itself(question)
    if score is None or score.value is None or score.value >= 1:
        return
    reason = f"raises {score.upstream_raises}" if score.upstream_raises else f"gives {score.value:g}"
    shown = ascii(gold)
    message = (
        f"the gold answer {shown if len(shown) < 60 else shown[:57] + '…'} ({question.answer_format}) can never be "
        f"reached: scored against itself, the official rule {reason}"
    )
    detail: dict[str, Any] = {"gold": gold, "answer_format": question.answer_format, "value": score.value}
    if score.upstream_raises:
        detail["raises"] = score.upstream_raises
    yield Fault.of(FaultKind.UNREACHABLE_GOLD, question, message, **detail)


def _duplicate(question: Question, first: Question) -> Fault:
    differ = question.references != first.references
    message = f"{first.question_id} asks the same about the same document"
    if differ:
        message += ", with another gold answer"
    return Fault.of(
        FaultKind.DUPLICATE_QUESTION, question, message, first=first.question_id, answers_differ=differ
    )
