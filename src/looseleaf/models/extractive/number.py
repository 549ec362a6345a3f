"""`Number`: a value in a text, with its sign, unit and scale word."""

from __future__ import annotations

import re
from typing import Final

import msgspec

__all__ = ["SCALES", "Number", "find_numbers", "is_reference", "parse_number", "plain"]

SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "bn": 1e9}
"""Factors of scale words."""

_PATTERN: Final = re.compile(
    r"(?<![\w.])(?P<open>\(\s*)?(?P<sign>[-−–+]\s?)?"
    r"(?P<currency>(?:US|SG|S|A|C)?[$€£¥]|(?:USD|EUR|GBP|Rs\.?|INR)\s?)?\s?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<close>\s*\))?"
    r"(?P<percent>\s?%|\s(?:percent|per cent)\b)?"
    r"(?:\s?(?P<scale>thousand|million|billion|trillion|mn|bn)s?\b|(?P<letter>[KMB])\b)?(?![\d])"
)
_YEAR: Final = re.compile(r"(?:1[6-9]|20)\d\d")
_REFERENCE_BEFORE: Final = re.compile(
    r"(?:\b(?:figure|fig\.?|table|section|sec\.?|chapter|page|pages|pp?\.|note|notes|appendix|item|part|eq\.?|version|exhibit"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan\.?|feb\.?|mar\.?|apr\.?|jun\.?|jul\.?|aug\.?|sept?\.?|oct\.?|nov\.?|dec\.?)\s*|\[[\d,\s–-]*)$",
    re.IGNORECASE,
)
_MONTH_AFTER: Final = re.compile(
    r"^(?:st|nd|rd|th)?\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE
)
_LETTERS: Final = {"K": "thousand", "M": "million", "B": "billion"}


class Number(msgspec.Struct, frozen=True):
    """One number as it stands in a text.

    Attributes:
        value: as written, scale word not applied; negative in accounting brackets.
        text: the matched text.
        start: offset of its first character.
        end: offset after its last character.
        unit: `%`, a currency sign, or empty.
        scale: factor of the scale word (1 without one).
    """

    value: float
    text: str
    start: int
    end: int
    unit: str = ""
    scale: float = 1.0

    @property
    def full(self) -> float:
        """The value with its scale word applied."""
        return self.value * self.scale


def find_numbers(text: str) -> list[Number]:
    """All numbers of a text, in order; numbers inside words and version strings are left out."""
    return [_number(match) for match in _PATTERN.finditer(text)]


def parse_number(text: str) -> Number | None:
    """The number that a whole cell holds, or `None`."""
    match = _PATTERN.fullmatch(text.strip().rstrip("*†‡§"))
    return _number(match) if match else None


def is_reference(text: str, number: Number) -> bool:
    """Whether a number is a year, the day of a date, a citation, or the number of a figure, table, section or page."""
    if _YEAR.fullmatch(number.text.strip("()")):
        return True
    before, after = text[max(0, number.start - 16) : number.start], text[number.end : number.end + 14]
    return bool(_REFERENCE_BEFORE.search(before) or _MONTH_AFTER.match(after))


def _number(match: re.Match[str]) -> Number:
    value = float(match["digits"].replace(",", ""))
    bracketed = match["open"] is not None and match["close"] is not None
    negative = bracketed or (match["sign"] or "").strip() in {"-", "−", "–"}
    scale = match["scale"] or _LETTERS.get(match["letter"] or "", "")
    start = match.start() if bracketed or not match["open"] else match.start() + len(match["open"])
    end = match.end()
    text = match.string[start:end].strip()
    if match["close"] and not bracketed:
        text = text.replace(")", "")
    currency = (match["currency"] or "").strip()
    return Number(
        value=-value if negative else value,
        text=text,
        start=start,
        end=end,
        unit="%" if match["percent"] else currency,
        scale=SCALES.get(scale, 1.0),
    )


def plain(value: float, decimals: int | None = None) -> str:
    """Digits without separators or trailing zeros; rounded when `decimals` is given."""
    if decimals is not None:
        return f"{value:.{decimals}f}"
    text = f"{round(value, 6):.6f}".rstrip("0").rstrip(".")
    return "0" if text in {"", "-0"} else text
