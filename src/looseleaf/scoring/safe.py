"""The safe rule: MMLongBench-Doc's and LongDocURL's question types scored without the official rules' accidents.

Our own rule, under its own name (`mmlongbench.safe`, `longdocurl.safe`); its numbers are not the benchmarks' official
ones. What it does differently:

1. Nothing is evaluated: "2015-2016", "12/25/2020", "555-0142" and "time" are text. A tuple of whole numbers that the
   official pipeline made out of "96,395" is that number again.
2. Whole numbers: thousands separators, "8.0", "$8", "8 pages" and "approximately 8" are 8; 8.9 is not.
3. Scale words, per cent signs, currencies and units count where gold and prediction both have them and are ignored
   where only one has: 3.5 million = 3500000 = 3.5, but not 3.5 billion; 12.5 kg is not 12.5 mm; 45 % = 45 = 0.45, but
   1 is not 100.
4. Measured numbers agree after rounding to the fewer decimals of the two (at least one), or within 1 %; where both are
   whole they must be equal: 2018 is not 2000.
5. Text: compatibility forms, case, dashes, quotation marks, whitespace, a leading article and final punctuation do not
   matter; what is in parentheses is dropped where something else remains. Then ANLS as in the official rules, or
   equality where they ask for it. Numbers given as text are compared as numbers.
6. Refusals are recognised in several spellings and score 1 or 0, never in between. A list of one item, where the gold
   answer is no list, is that item.
7. Lists: bracketed, quoted or not, or plainly enumerated; order does not matter; items are matched one to one for the
   best total, divided by the longer list's length. Missing and extra items cost alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from looseleaf.score import Score
from looseleaf.scoring.assignment import best_matching
from looseleaf.scoring.matching import anls, drop_parentheses, needs_exact_match
from looseleaf.scoring.quantities import Quantity, close, equal, parse_quantity
from looseleaf.scoring.short_answers import is_refusal, listed_items, plain, split_items

__all__ = ["safe"]

SINGLE_FORMATS: Final = ("Int", "Integer", "Float", "Str", "String", "None")
"""Labels of both benchmarks under which gold is one answer; any other means a list, as in the official scorers."""

MOST_ITEMS: Final = 200
"""Predicted lists longer than this and than four times gold are not matched; they would score below 1/4."""


LONGEST_TEXT: Final = 4_000
"""Longer texts are compared by their beginning, in characters; the longest gold answer has a few hundred."""


class _Item(NamedTuple):
    """One text, read once: as a quantity, where it is one, and bare of what does not matter."""

    quantity: Quantity | None
    bare: str

    @classmethod
    def of(cls, text: str) -> _Item:
        text = text[:LONGEST_TEXT]
        return cls(parse_quantity(text), _bare(text))

    def score(self, prediction: _Item, measured: bool) -> float:
        if self.quantity and prediction.quantity:
            return float((close if measured else equal)(self.quantity, prediction.quantity))
        if self.bare == prediction.bare:
            return 1.0
        return 0.0 if self.quantity or needs_exact_match(self.bare) else anls(self.bare, prediction.bare)


def safe(gold: Any, prediction: Any, answer_format: str) -> Score:
    """Score one prediction by the safe rule; it never raises.

    Args:
        gold: the gold answer, text or a JSON value.
        prediction: the short answer, text or the value that LongDocURL's pipeline made of it.
        answer_format: `Int` or `Integer`, `Float`, `Str` or `String`, `None`; anything else means a list.
    """
    given = _regrouped(prediction)
    if is_refusal(_text(gold)) or is_refusal(_text(given)):
        return Score(value=float(is_refusal(_text(gold)) and is_refusal(_text(given))))
    if answer_format in SINGLE_FORMATS:
        wanted = _Item.of(_text(gold))
        measured = answer_format == "Float"
        return Score(value=max(wanted.score(_Item.of(text), measured) for text in _unwrapped(given)))
    golds = [_Item.of(text) for text in next(_readings(gold))]
    return Score(value=max(_list_score(golds, texts) for texts in _readings(given)))


def _unwrapped(value: Any) -> list[str]:
    """The text itself, and its only item if it is a list of one."""
    items = next(_readings(value))
    return [_text(value), *(items if len(items) == 1 else [])]


_ARTICLE: Final = re.compile(r"(?:a|an|the) ")
_WRAPPING: Final = " .;:!'\""


def _bare(text: str) -> str:
    text = plain(text).strip(_WRAPPING)
    text = drop_parentheses(text).strip() or text
    article = _ARTICLE.match(text)
    return text[article.end() :].strip(_WRAPPING) if article else text


def _list_score(gold: Sequence[_Item], prediction: Sequence[str]) -> float:
    if not gold or not prediction:
        return float(not gold and not prediction)
    longest = max(len(gold), len(prediction))
    if longest > MOST_ITEMS and longest > 4 * len(gold):
        return 0.0
    predicted = [_Item.of(text) for text in prediction]
    table = [[wanted.score(given, measured=False) for given in predicted] for wanted in gold]
    return sum(table[row][column] for row, column in best_matching(table)) / longest


_ENUMERATION: Final = re.compile(r";|\n|,(?!\d{3}(?!\d))|\band\b")


def _readings(value: Any) -> Iterator[list[str]]:
    """The lists of items that a value may stand for, the most literal one first."""
    if isinstance(value, (list, tuple, set)):
        yield [_text(item) for item in value]
        return
    text = _text(value).strip()
    if text.startswith("[") and text.endswith("]"):
        yield listed_items(text)
        return
    yield [text] if text else []
    yield split_items(text)
    yield [item for part in _ENUMERATION.split(text) if (item := part.strip(" -*•\t\r"))]


def _regrouped(value: Any) -> Any:
    """A tuple of whole numbers as the number with separators that it was made of, where it can be one."""
    if not isinstance(value, tuple) or len(value) < 2 or not _are_digit_groups(value):
        return value
    return str(value[0]) + "".join(f",{group:03d}" for group in value[1:])


def _are_digit_groups(groups: tuple[Any, ...]) -> bool:
    whole = all(isinstance(group, int) and not isinstance(group, bool) for group in groups)
    return whole and 0 < abs(groups[0]) < 1000 and all(0 <= group < 1000 for group in groups[1:])


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return "-".join(_text(item) for item in value.values())
    try:
        return str(value)
    except (ValueError, RecursionError):  # an integer too long to print, a list nested too deeply
        return ""
