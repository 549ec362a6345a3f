"""Dates of day, month and year, however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from looseleaf.lab.echo import MONTHS

__all__ = ["Date", "dates_in"]

_MONTH = r"(?P<{0}>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_PATTERNS = (
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTH.format('m')},?\s+(?P<y>\d{{4}})\b", re.IGNORECASE
    ),
    re.compile(
        rf"\b{_MONTH.format('m')}\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y>\d{{4}})\b", re.IGNORECASE
    ),
    re.compile(r"\b(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})\b"),
)
NUMBERS = {name: number for number, name in enumerate(dict.fromkeys(MONTHS.values()), start=1)}


class Date(NamedTuple):
    """A day."""

    year: int
    month: int
    day: int


@lru_cache(maxsize=4096)
def dates_in(text: str) -> frozenset[tuple[str, Date]]:
    """The dates of a text, each as written and as a date; line breaks count as spaces."""
    return frozenset(_found(text.replace("\n", " ")))


def _found(text: str) -> Iterator[tuple[str, Date]]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            month = match["m"].lower()
            number = int(month) if month.isdigit() else NUMBERS[MONTHS[month[:3]]]
            yield match.group(), Date(int(match["y"]), number, int(match["d"]))
