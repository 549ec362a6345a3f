"""Joining of words that a line end has divided."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .rows import DIVIDED

__all__ = ["join_divided"]

_DIVIDED_WORD = re.compile(rf"(\S+){DIVIDED}\n(\S+)[ \t]?")
_LAST_PART = re.compile(r"[\w-]*$")
_FIRST_PART = re.compile(r"[\w-]*")
_WORD = re.compile(r"\w+(?:-\w+)*")


def join_divided(texts: Iterable[str]) -> tuple[str, ...]:
    """Join divided words, on the line of their first half.

    Whether the hyphen stays (`few-shot`) or goes (`generalization`) cannot be seen from the division, so the
    document's other words decide: a spelling that it uses elsewhere wins. Without one, the hyphen stays
    before a digit or a capital (`COVID-19`) and goes otherwise.
    """
    texts = tuple(texts)
    if not any(DIVIDED in text for text in texts):
        return texts
    known = {word for text in texts for word in _WORD.findall(text.lower())}

    def join(match: re.Match[str]) -> str:
        first, second = match[1], match[2]
        hyphen = "-" if _keeps_hyphen(first, second, known) else ""
        return f"{first}{hyphen}{second}\n"

    return tuple(_DIVIDED_WORD.sub(join, text).replace(DIVIDED, "-") for text in texts)


def _keeps_hyphen(first: str, second: str, known: set[str]) -> bool:
    before, after = _part(_LAST_PART, first), _part(_FIRST_PART, second)
    if f"{before}{after}".lower() in known:
        return False
    if f"{before}-{after}".lower() in known:
        return True
    return after[:1].isdigit() or (after[:1].isupper() and not before.isupper())


def _part(pattern: re.Pattern[str], word: str) -> str:
    match = pattern.search(word)
    return match[0] if match else ""
