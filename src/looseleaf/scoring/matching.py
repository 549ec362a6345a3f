"""Comparisons that MMLongBench-Doc and LongDocURL share: ANLS, exact match, float equality, cleaning steps.

Source: mayubo2333/MMLongBench-Doc `eval/eval_score.py` @ d73f0dc; dengc2023/LongDocURL `utils/utils_score_v3.py`
@ 3807c0e holds the same four rules. Written anew from their behaviour.
"""

from __future__ import annotations

import re
from math import isclose
from typing import Final

from rapidfuzz.distance import Levenshtein

__all__ = [
    "ANLS_THRESHOLD",
    "anls",
    "drop_parentheses",
    "drop_quotes",
    "edit_distance",
    "floats_equal",
    "is_float",
    "needs_exact_match",
]

ANLS_THRESHOLD: Final = 0.5
"""A similarity of exactly this or less counts as 0 (both upstream files; DUDE keeps exactly 0.5)."""

RELATIVE_TOLERANCE: Final = 0.01
"""Float answers within 1 % of the larger of the two are equal (both upstream files)."""

DEFAULT_DECIMALS: Final = 3
"""Decimals of a float whose text has no point, e.g. `1e-07` (both upstream files)."""

LEAST_DECIMALS: Final = 2
"""Floats are rounded to at least this many decimals before they are compared (both upstream files)."""


def edit_distance(left: str, right: str, cutoff: int | None = None) -> int:
    """Levenshtein distance in characters.

    Args:
        left: one text.
        right: the other.
        cutoff: past it any larger number may be returned, which saves time on texts that are far apart.
    """
    return Levenshtein.distance(left, right, score_cutoff=cutoff)


def anls(gold: str, prediction: str) -> float:
    """Normalised Levenshtein similarity, 0 where it is at most `ANLS_THRESHOLD`.

    The length is the longer of the two in *upper case*, which some letters lengthen (ß → SS).
    """
    if gold == prediction:
        return 1.0
    length = max(_upper_length(gold), _upper_length(prediction))
    # More than half of the length apart is 0 whatever the distance, so the search for it may stop there.
    distance = edit_distance(gold, prediction, length // 2)
    similarity = 1.0 - distance / length
    return 0.0 if similarity <= ANLS_THRESHOLD else similarity


def _upper_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.upper())


# Digits and whitespace are those of Unicode, as in upstream's patterns.
_DIGIT_GROUPS = re.compile(r"\d+(?:-\d+|\s\d+)?")
_DATE = re.compile(r"\d{4}[-\s]\d{2}(?:[-\s]\d{2})?")
_EMAIL = re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}")


def needs_exact_match(gold: str) -> bool:
    """Whether a cleaned gold answer must be equal: URL, code file, "page…", number, time, date, e-mail address."""
    return (
        "https://" in gold
        or gold.endswith((".py", "ipynb"))
        or gold.startswith("page")
        or "a.m." in gold
        or "p.m." in gold
        or any(pattern.fullmatch(gold) for pattern in (_DIGIT_GROUPS, _DATE, _EMAIL))
    )


def drop_parentheses(text: str) -> str:
    """Delete each "(" … first ")" with the whitespace before it; an unclosed "(" stays."""
    if "(" not in text:
        return text
    kept: list[str] = []
    position = 0
    while (opening := text.find("(", position)) >= 0 and (closing := text.find(")", opening)) >= 0:
        kept.append(text[position:opening].rstrip())
        position = closing + 1
    kept.append(text[position:])
    return "".join(kept)


def drop_quotes(text: str) -> str:
    """Delete one quotation mark (' or ") at the very start and one at the very end, each by itself."""
    if text and text[0] in "'\"":
        text = text[1:]
    if text and text[-1] in "'\"":
        text = text[:-1]
    return text


def is_float(text: str) -> bool:
    """Whether `float()` takes the text; `nan` and `infinity` count."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def floats_equal(gold: object, prediction: object) -> bool:
    """Whether the numbers agree when gold is taken as it is, as a fraction of 100, or times 100.

    Raises:
        ValueError: gold is not a number.
    """
    reference = _number(gold)
    try:
        number = _number(prediction)
    except (ValueError, OverflowError):
        return False
    return any(_close(candidate, number) for candidate in (reference / 100, reference, reference * 100))


def _number(value: object) -> float:
    if isinstance(value, float):
        return value  # upstream goes through text, which gives the same float back
    return float(str(value).strip().rstrip("%").strip())


def _close(candidate: float, number: float) -> bool:
    if isclose(candidate, number, rel_tol=RELATIVE_TOLERANCE):
        return True
    decimals = max(min(_decimals(number), _decimals(candidate)), LEAST_DECIMALS)
    try:
        return round(number, decimals) == round(candidate, decimals)
    except OverflowError:
        return False


def _decimals(number: float) -> int:
    _, point, decimals = str(number).rpartition(".")
    return len(decimals) if point else DEFAULT_DECIMALS
