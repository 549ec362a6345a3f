"""A reader that never abstains: the value of the right form whose surroundings share most words with the question.

It is another reader than looseleaf's own, so that "no shortcut" does not rest on one reader's caution: on the gold
pages it finds many single values, on all others it must find none.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from procedural_checker import Book

__all__ = ["guess"]

_FORMS = {
    "Int": re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\d.,]\d|%|\w)|(?<![\w.,-])\d+(?![\d.,]\d|%|\w|-)"),
    "Float": re.compile(r"(?<![\w.,])[\d,]*\d\.\d+%?"),
    "Str": re.compile(
        r"\b[A-Z]{3}-\d{4}\b|\b\d{1,2} [A-Z][a-z]+ \d{4}\b|\b[A-Z][\w]+(?: [A-Z][\w]+)+|\b[A-Z][a-zåäöéü]{3,}\b"
    ),
}
AROUND = 90
"""Characters on each side that count as the surroundings of a value in running text."""
_YEAR = re.compile(r"(19|20)\d\d")


@dataclass(frozen=True)
class _Found:
    text: str
    around: str


def guess(question: str, answer_format: str, book: Book, pages: Sequence[int]) -> str:
    """The best guess from some physical pages of a document; empty if no value has the right form."""
    form = _FORMS.get(answer_format, _FORMS["Str"])
    found = [one for page in pages for one in _values(book, page, form)]
    asked = _words(question)
    new = [one for one in found if one.text.lower() not in question.lower() and not _YEAR.fullmatch(one.text)]
    if not new:
        return ""
    common = Counter(word for one in found for word in _words(one.around))
    weights = {word: 1 / math.log(2 + common[word]) for word in asked}

    def fit(one: _Found) -> float:
        around = _words(one.around)
        return sum(weights[word] for word in asked & around)

    text = max(new, key=fit).text
    text = text.replace(",", "") if answer_format in ("Int", "Float") else text
    return str([text]) if answer_format == "List" else text


@lru_cache(maxsize=20_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in re.findall(r"\w+", text.lower()) if len(word) > 1)


@lru_cache(maxsize=2_000)
def _values(book: Book, page: int, form: re.Pattern[str]) -> list[_Found]:
    found = []
    for table, cells in book.rows_of_pages.get(page, []):
        for title, cell in zip(table.header[1:], cells[1:], strict=True):
            if form.fullmatch(cell.text):
                found.append(_Found(cell.text, f"{table.caption} {cells[0].text} {title}"))
    for sentence in re.split(r"(?<=[.!?]) (?=[A-Z])", book.texts[page - 1]):
        for match in form.finditer(sentence):
            around = sentence[max(match.start() - AROUND, 0) : match.end() + AROUND]
            found.append(_Found(match[0], around))
    return found
