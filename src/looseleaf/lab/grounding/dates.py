"""Dates of day and month, with or without a year, however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from looseleaf.lab.echo import MONTHS

__all__ = ["Date", "FoundDate", "dates_in", "without_days"]

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
    """A day; the year is 0 where none is written, as in stacked column heads."""

    year: int
    month: int
    day: int

    def is_in(self, dates: Iterable[Date]) -> bool:
        """Whether one of some dates may be this one."""
        return any(d[1:] == self[1:] and 0 in (d.year, self.year, d.year - self.year) for d in dates)


class FoundDate(NamedTuple):
    """A date with its place in a text."""

    date: Date
    text: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def dates_in(text: str) -> tuple[FoundDate, ...]:
    """The dates of a text, in no particular order; line breaks count as spaces."""
    return tuple(_found(text.replace("\n", " ")))


def _found(text: str) -> Iterator[FoundDate]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            month = match["m"].lower()
            number = int(month) if month.isdigit() else NUMBERS[MONTHS[month[:3]]]
            date = Date(int(match["y"] or 0), number, int(match["d"]))
            if 1 <= date.day <= LAST_DAY:
                yield FoundDate(date, match.group(), match.start(), match.end())


LAST_DAY = 31


def without_days(text: str) -> str:
    """The text without the days of its dates, at the same length: they are checked as parts of the date."""
    for found in dates_in(text):
        blank = _DAY.sub(lambda match: " " * len(match.group()), text[found.start : found.end])
        text = text[: found.start] + blank + text[found.end :]
    return text


_DAY = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)?\b")
