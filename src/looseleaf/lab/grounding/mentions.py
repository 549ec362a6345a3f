"""`Mention`: a number in a text with its value, units and place; and codes such as `UVN-8321`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from math import floor, isclose, isfinite, log10

import msgspec

from looseleaf.lab.grounding.units import UNITS, Unit, unit_after
from looseleaf.models.extractive.number import find_numbers
from looseleaf.models.extractive.words import number_word

__all__ = ["SCALE_FACTORS", "Mention", "any_same", "codes_in", "mentions_in", "same_number"]

SCALE_FACTORS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_CODE = re.compile(r"(?<![\w-])(?=[A-Za-z0-9-]*\d)[A-Z][A-Za-z]*[-–]?[A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?![\w-])")
_YEAR = re.compile(r"(?:1[6-9]|20)\d\d")
_WORDS = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?")
LEAST_WORD = 2
"""Number words from here on count as numbers: "one" is mostly a pronoun."""
SAME = 1e-9


class Mention(msgspec.Struct, frozen=True):
    """One number.

    Attributes:
        value: as written, scale word not applied, sign dropped: tables write losses in many ways.
        text: as written.
        start: offset of its first character.
        end: offset after its last character, units left out.
        units: scale, per cent, currency and unit that stand at it.
        decimals: digits after its point.
        year: whether it reads as a year.
    """

    value: float
    text: str
    start: int
    end: int
    units: tuple[Unit, ...] = ()
    decimals: int = 0
    year: bool = False

    @property
    def scale(self) -> float:
        """Factor of its scale word, 1 without one."""
        return next((SCALE_FACTORS[unit.name] for unit in self.units if unit.family == "scale"), 1.0)

    def unit(self, family: str) -> str:
        """Its unit of that family, or empty."""
        return next((unit.name for unit in self.units if unit.family == family), "")


@lru_cache(maxsize=16384)
def mentions_in(text: str) -> tuple[Mention, ...]:
    """All numbers of a text in digits or words, in order; codes such as `K75` hold none."""
    masked = _CODE.sub(lambda match: " " * len(match.group()), text)
    found = [
        _mention(masked, number.value, number.text, number.start, number.end, number.unit)
        for number in find_numbers(masked)
    ]
    for match in _WORDS.finditer(masked):
        value = number_word(match.group())
        if value is not None and value >= LEAST_WORD:
            found.append(_mention(masked, float(value), match.group(), match.start(), match.end(), ""))
    return tuple(sorted(found, key=lambda mention: mention.start))


_DIGITS = re.compile(r"\d[\d,]*(?:\.(\d+))?|\.(\d+)")


def _mention(text: str, value: float, written: str, start: int, end: int, sign: str) -> Mention:
    digits = _DIGITS.search(text, start, end)
    stop = digits.end() if digits else end
    units = unit_after(text, stop)
    if sign and sign != "%":
        named = UNITS.get(sign) or UNITS.get(sign[-1])
        units = [*units, *([named] if named and all(u.family != named.family for u in units) else [])]
    plain = written.strip("()").strip()
    return Mention(
        value=abs(value),
        text=written.strip(),
        start=start,
        end=stop,
        units=tuple(units),
        decimals=len((digits[1] or digits[2] or "") if digits else ""),
        year=bool(_YEAR.fullmatch(plain)) and not units,
    )


def codes_in(text: str) -> tuple[str, ...]:
    """Codes of a text: words of letters and digits, such as `UVN-8321` or `K75`, in order."""
    return tuple(match.group() for match in _CODE.finditer(text))


def same_number(claim: Mention, found: Mention, *, hedged: bool = False) -> bool:
    """Whether a page's number is the claimed one: equal as written or with scales, or rounded to the claim's digits.

    A scale may stand in a column head, so `4.7 million` is also the 4.7 of a page. Rounding counts for numbers with
    fewer digits than the page's, and only where the claim is hedged
    ("about") or keeps at least `LEAST_DIGITS` digits.
    """
    pairs = {
        (claim.value, found.value),
        (claim.value * claim.scale, found.value * found.scale),
        (claim.value * claim.scale, found.value),
    }
    if any(isclose(a, b, rel_tol=SAME, abs_tol=1e-12) for a, b in pairs):
        return True
    if claim.year or found.year:
        return False
    return any(_rounds(claim, a, b, hedged) for a, b in pairs)


LEAST_DIGITS = 3
"""Significant digits that an unhedged rounded number keeps."""


def _rounds(claim: Mention, claimed: float, found: float, hedged: bool) -> bool:
    if not found or not claimed or not isfinite(claimed) or not isfinite(found):
        return False
    digits = _significant(claim)
    if digits < (1 if hedged else LEAST_DIGITS):
        return False
    unit = 10.0 ** (floor(log10(abs(found))) - digits + 1)
    return unit > 0 and isclose(round(found / unit) * unit, claimed, rel_tol=1e-6)


def _significant(claim: Mention) -> int:
    digits = re.sub(r"\D", "", claim.text.split()[0] if claim.text else "")
    return len(digits.lstrip("0") if claim.decimals else digits.lstrip("0").rstrip("0"))


def any_same(claim: Mention, found: Iterable[Mention], *, hedged: bool = False) -> bool:
    """Whether one of some numbers is the claimed one."""
    return any(same_number(claim, mention, hedged=hedged) for mention in found)
