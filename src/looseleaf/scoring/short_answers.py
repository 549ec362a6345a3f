"""Reading a short answer as a person would: is it a refusal, and which items does it list."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from looseleaf.scoring.matching import drop_parentheses

__all__ = ["is_refusal", "listed_items", "plain", "split_items"]

_DASHES: Final = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")
_QUOTES: Final = {**dict.fromkeys(map(ord, "‘’‚‛′`´"), "'"), **dict.fromkeys(map(ord, "“”„‟″«»"), '"')}
_SAME_LOOKS: Final = {**_DASHES, **_QUOTES}

_REFUSALS: Final = frozenset(
    {
        "cannot answer",
        "cannot be answered",
        "not answerable",
        "not-answerable",
        "notanswerable",
        "the answer is not answerable",
        "the problem is not answerable",
        "the question cannot be answered",
        "the question is not answerable",
        "the question is unanswerable",
        "this question cannot be answered",
        "this question is not answerable",
        "this question is unanswerable",
        "unanswerable",
    }
)
"""Short answers that refuse: the spellings of MMLongBench-Doc, LongDocURL, QASPER, DUDE and ALDEN, and near ones."""

LONGEST_REFUSAL: Final = 80
"""No refusal is longer than this, in characters, whatever is wrapped around it."""


LONGEST_LIST: Final = 50_000
"""Longer texts are not split into items, in characters; no answer lists that much."""


def plain(text: str) -> str:
    """The text with compatibility forms, case, dashes, quotation marks and whitespace made alike (NFKC, casefold)."""
    text = unicodedata.normalize("NFKC", text.translate(_SAME_LOOKS)).casefold()
    return " ".join(text.translate(_SAME_LOOKS).split())


def is_refusal(text: str) -> bool:
    """Whether the whole short answer says that the question cannot be answered."""
    return len(text) <= LONGEST_REFUSAL and drop_parentheses(plain(text)).strip(" .!'\"*[]") in _REFUSALS


def listed_items(text: str) -> list[str]:
    """The items of a bracketed list, quoted or not; empty where the text is no bracketed list.

    Nothing is evaluated: `[2015-2016, 3]` has the items "2015-2016" and "3".
    """
    text = text.strip()
    return split_items(text[1:-1]) if text.startswith("[") and text.endswith("]") else []


_CLOSING: Final = {quote: re.compile(rf"{quote}\s*+(?:,|$)") for quote in "'\""}


def split_items(text: str) -> list[str]:
    """The parts of `text` between its commas, without the quotation marks around a part.

    Commas inside quotation marks, parentheses or numbers ("1,200") do not separate. A mark opens only at the start of
    a part and closes only before a comma or the end, so that an apostrophe inside does no harm. "100,200" is one number
    where other commas have a space behind them, and two where none has.
    """
    if len(text) > LONGEST_LIST:
        return [text]
    marks = _MARKS_OR_SPACED if ", " in text else _MARKS
    items: list[str] = []
    position = 0
    closable = set(_CLOSING)
    while position < len(text):
        start = _past_spaces(text, position)
        quote = text[start : start + 1]
        closing = _CLOSING[quote].search(text, start + 1) if quote in closable else None
        if closing:
            items.append(text[start + 1 : closing.start()])
            position = closing.end()
            continue
        closable.discard(quote)  # nothing closes this mark any more, so it is not looked for again
        end = _end_of_part(text, start, marks)
        items.append(text[start:end].strip())
        position = end + 1
    return [item for item in items if item]


def _past_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


_MARKS: Final = re.compile(r"[(),]")
_MARKS_OR_SPACED: Final = re.compile(r"[()]|,(?!(?<=\d,)\d{3}(?!\d))")


def _end_of_part(text: str, start: int, marks: re.Pattern[str]) -> int:
    depth = 0
    for mark in marks.finditer(text, start):
        if mark.group() == "(":
            depth += 1
        elif mark.group() == ")":
            depth = max(0, depth - 1)
        elif depth == 0:
            return mark.start()
    return len(text)
