"""Numbers as documents write them: separators, signs, currency, per cent, scale words and units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isclose, isfinite
from typing import Final, NamedTuple, TypeVar

from looseleaf.scoring.matching import drop_parentheses
from looseleaf.scoring.short_answers import plain

__all__ = ["RELATIVE_TOLERANCE", "Quantity", "close", "equal", "parse_quantity"]

LONGEST: Final = 60
"""Longer texts are no quantity, in characters."""

RELATIVE_TOLERANCE: Final = 0.01
"""Measured numbers within 1 % of gold are equal, as in the official scorers; whole ones must be equal."""

_SCALES: Final = {
    "hundred": 1e2,
    "k": 1e3,
    "thousand": 1e3,
    "mn": 1e6,
    "mio": 1e6,
    "million": 1e6,
    "millions": 1e6,
    "bn": 1e9,
    "billion": 1e9,
    "billions": 1e9,
    "tn": 1e12,
    "trillion": 1e12,
}
MOST_SCALE: Final = max(_SCALES.values())

_CURRENCIES: Final = {
    "$": "usd",
    "us$": "usd",
    "usd": "usd",
    "dollar": "usd",
    "£": "gbp",
    "gbp": "gbp",
    "pound": "gbp",
    "€": "eur",
    "eur": "eur",
    "euro": "eur",
    "¥": "jpy",
    "₹": "inr",
}
_PERCENT: Final = ("%", "percent", "per cent", "percentage point", "pp")
_NO_UNITS: Final = frozenset(
    {"%", "percent", "per", "cent", "percentage", "point", "points", "pp", "of", "in", "total"},
)
_MONTHS: Final = frozenset(
    {
        *("january", "february", "march", "april", "may", "june"),
        *("july", "august", "september", "october", "november", "december"),
        *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
    }
)
_DATES_AND_TIMES: Final = _MONTHS | {"am", "pm", "a", "p"}
"""Words that make a text a date or a time, which is no quantity."""

MOST_WORDS: Final = 4
"""A number followed by more words than this is prose."""

_SPELLINGS: Final = {
    "kilogram": "kg",
    "kilometer": "km",
    "kilometre": "km",
    "meter": "m",
    "metre": "m",
    "millimeter": "mm",
    "millimetre": "mm",
    "minute": "min",
    "hour": "h",
    "second": "s",
}

_QUANTITY: Final = re.compile(
    r"(?:about|approximately|approx\.?|around|roughly|nearly|circa|~|≈)?\s*+"
    r"(?P<sign>[-+]?)\s*+(?P<currency>us\$|usd|eur|gbp|[$£€¥₹])?\s*+"
    r"(?P<inner_sign>[-+]?)(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?P<exponent>e[-+]?\d{1,3})?"
    r"\s*+(?P<rest>[^\d]*)"
)
_WORD: Final = re.compile(r"[^\W\d_]+|[%$£€¥₹]")
_Value = TypeVar("_Value")


class Quantity(NamedTuple):
    """A number with what stands around it.

    Attributes:
        number: the number as written, without separators and scale.
        decimals: digits after its point.
        scale: what a scale word multiplies it by (1 without one).
        percent: whether it is written in per cent.
        currency: `usd`, `gbp`, …, or empty.
        unit: the first unit word in the singular, or empty.
    """

    number: float
    decimals: int
    scale: float
    percent: bool
    currency: str
    unit: str

    @property
    def value(self) -> float:
        """The number times its scale."""
        return self.number * self.scale


def parse_quantity(text: str) -> Quantity | None:
    """The quantity that the whole text is, or `None`: dates, times, ranges, phone numbers and prose are none."""
    if len(text) > LONGEST:
        return None
    text = plain(text).rstrip(".")
    match = _QUANTITY.fullmatch(drop_parentheses(text).strip() or text)
    words = _words(match["rest"]) if match else None
    if match is None or words is None or (match["sign"] and match["inner_sign"]):
        return None
    digits = match["number"].replace(",", "")
    number = float((match["sign"] or match["inner_sign"]) + digits + (match["exponent"] or ""))
    if not isfinite(number * MOST_SCALE):
        return None
    return Quantity(
        number=number,
        decimals=len(digits.partition(".")[2]),
        scale=_first(_SCALES, words, 1.0),
        percent=any(sign in match["rest"] for sign in _PERCENT),
        currency=_CURRENCIES.get(match["currency"] or "") or _first(_CURRENCIES, words, ""),
        unit=_unit(words),
    )


def equal(gold: Quantity, prediction: Quantity) -> bool:
    """Whether the two are the same number: counts, years, amounts.

    A scale word, per cent sign, currency or unit that only one of them has does no harm; different ones do. Without a
    per cent sign a prediction may also be the fraction: 45 % is 45 and 0.45.
    """
    return _compatible(gold, prediction) and any(
        isclose(wanted, given, rel_tol=1e-9, abs_tol=1e-12) for wanted, given in _readings(gold, prediction)
    )


def close(gold: Quantity, prediction: Quantity) -> bool:
    """Whether the two agree as measured numbers: after rounding to the fewer decimals of the two (but at least one),
    or within `RELATIVE_TOLERANCE` of gold unless both are whole.
    """
    if not _compatible(gold, prediction):
        return False
    decimals = max(1, min(gold.decimals, prediction.decimals))
    for wanted, given in _readings(gold, prediction):
        if (
            round(wanted, decimals) == round(given, decimals)
            and abs(wanted - given) < abs(wanted) / 10 + 1e-12
        ):
            return True
        whole = wanted == int(wanted) and given == int(given)
        if not whole and abs(wanted - given) <= RELATIVE_TOLERANCE * abs(wanted):
            return True
    return False


def _words(rest: str) -> list[str] | None:
    words = _WORD.findall(rest)
    if len(words) > MOST_WORDS or _WORD.sub("", rest).strip(" .") or _DATES_AND_TIMES.intersection(words):
        return None
    return words


def _first(table: Mapping[str, _Value], words: Sequence[str], default: _Value) -> _Value:
    """What the table holds for the first of the words that it knows, in the singular or as written."""
    for word in words:
        for spelling in (word, word.removesuffix("s")):
            if spelling in table:
                return table[spelling]
    return default


def _unit(words: Sequence[str]) -> str:
    for word in words:
        singular = word.removesuffix("s") if len(word) > 2 else word
        if singular not in _SCALES and singular not in _CURRENCIES and word not in _NO_UNITS:
            return _SPELLINGS.get(singular, singular)
    return ""


def _compatible(gold: Quantity, prediction: Quantity) -> bool:
    pairs = ((gold.currency, prediction.currency), (gold.unit, prediction.unit))
    return all(not wanted or not given or wanted == given for wanted, given in pairs)


def _readings(gold: Quantity, prediction: Quantity) -> Iterator[tuple[float, float]]:
    """The pairs of numbers of which one must agree."""
    pairs = [(gold.value, prediction.value)]
    if (gold.scale == 1) != (prediction.scale == 1):
        pairs.append((gold.number, prediction.number))  # "in millions" is often in the question
    for wanted, given in pairs:
        yield wanted, given
        if gold.percent and not prediction.percent:
            yield wanted / 100, given
        if prediction.percent and not gold.percent:
            yield wanted, given / 100
