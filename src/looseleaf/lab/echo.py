"""Whether a text says an answer: exactly, normalised, as an equal number, or in other words.

The AWM paper's filter drops rows whose memory holds the gold string after whitespace and punctuation are normalised
(arXiv 2608.25618, controlled intervention); it is `says_whole`. The levels go further in both directions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from math import isclose
from typing import Any, NamedTuple

from looseleaf.models.extractive.number import SCALES
from looseleaf.models.extractive.words import STOPWORDS, number_word, stem
from looseleaf.question import Question
from looseleaf.scoring.quantities import parse_quantity
from looseleaf.scoring.short_answers import is_refusal, listed_items, plain

__all__ = [
    "MONTHS",
    "EchoLevel",
    "Span",
    "answer_items",
    "echo_level",
    "echo_spans",
    "references_level",
    "says_whole",
    "weakest",
]


class EchoLevel(StrEnum):
    """How literally a text says an answer, most literal first."""

    EXACT = "exact"
    """The very characters."""
    NORMALISED = "normalised"
    """The same words and numbers; case, whitespace, punctuation and thousands separators differ."""
    NUMERIC = "numeric"
    """An equal number written another way: with a scale word, in words, as a fraction of 100."""
    PARAPHRASE = "paraphrase"
    """All content words of the answer stand in one finding, in any order and inflection."""
    NONE = "none"
    """It does not say it."""


ORDER = tuple(EchoLevel)

_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+|[^\W\d_]+(?:['’][^\W\d_]+)?|%")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
MONTHS = {
    name[:3]: name
    for name in (
        *("january", "february", "march", "april", "may", "june"),
        *("july", "august", "september", "october", "november", "december"),
    )
} | {"sept": "september"}
LEAST_LETTERS = 4
"""A single content word of fewer letters is too common to count as a paraphrase."""
SAME = 1e-9
"""Relative difference up to which two numbers are one."""


class Span(NamedTuple):
    """Characters `start` to `end` of a text."""

    start: int
    end: int


class _Token(NamedTuple):
    """A word or number with its place; `norm` is what is compared."""

    norm: str
    start: int
    end: int

    @property
    def number(self) -> float | None:
        """Value of a number or number word."""
        try:
            return float(self.norm)
        except ValueError:
            word = number_word(self.norm)
            return None if word is None else float(word)


def answer_items(answer: Any) -> tuple[str, ...]:
    """The parts that an answer consists of: the items of a list, else the whole; none for a refusal or empty text."""
    if isinstance(answer, (list, tuple)):
        return tuple(str(item) for item in answer if str(item).strip())
    text = str(answer).strip()
    if not text or is_refusal(text):
        return ()
    return tuple(item for item in listed_items(text) if item.strip()) or (text,)


def echo_level(texts: Iterable[str], answer: Any) -> EchoLevel:
    """How literally some texts (the findings of a memory) say an answer; of a list, the least literal item counts."""
    items = answer_items(answer)
    texts = list(texts)
    return weakest(_best(_level(text, item) for text in texts) for item in items) if items else EchoLevel.NONE


def says_whole(texts: Iterable[str], answer: Any) -> bool:
    """The paper's filter: whether a text holds the whole answer string, whitespace and punctuation normalised."""
    wanted = _tokens(str(answer))
    return bool(wanted) and any(next(_runs(_tokens(text), wanted), None) is not None for text in texts)


def weakest(levels: Iterable[EchoLevel]) -> EchoLevel:
    """The least literal of some levels; `NONE` of none."""
    return max(levels, key=ORDER.index, default=EchoLevel.NONE)


def _best(levels: Iterable[EchoLevel]) -> EchoLevel:
    return min(levels, key=ORDER.index, default=EchoLevel.NONE)


def references_level(texts: Iterable[str], question: Question) -> EchoLevel:
    """How literally some texts say the gold answer; of several reference answers the most literal counts."""
    texts = list(texts)
    return _best(echo_level(texts, reference) for reference in question.references)


def _level(text: str, item: str) -> EchoLevel:
    tokens, wanted = _tokens(text), _tokens(item)
    if not wanted:
        return EchoLevel.EXACT if item.strip() and item.strip() in text else EchoLevel.NONE
    if any(item.strip() in text[span.start : span.end + 1] for span in _runs(tokens, wanted)):
        return EchoLevel.EXACT
    if next(_runs(tokens, wanted), None) is not None:
        return EchoLevel.NORMALISED
    if next(_equal_numbers(text, item), None) is not None:
        return EchoLevel.NUMERIC
    return EchoLevel.PARAPHRASE if _paraphrases(tokens, wanted) else EchoLevel.NONE


def echo_spans(text: str, item: str) -> list[Span]:
    """Where a text says an item exactly, normalised or as an equal number; spans may overlap."""
    tokens, wanted = _tokens(text), _tokens(item)
    return [*_runs(tokens, wanted), *_equal_numbers(text, item)] if wanted else []


@lru_cache(maxsize=65536)
def _tokens(text: str) -> tuple[_Token, ...]:
    """Words and numbers in normal form, per cent signs left out."""
    return tuple(
        _Token(_norm(match.group()), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.group() != "%"
    )


def _norm(token: str) -> str:
    if token[0].isdigit() or token[0] == ".":
        digits = token.replace(",", "") if _GROUPED.fullmatch(token) else token.rstrip(",")
        return digits.lstrip("0") if digits.startswith("0") and digits[1:2].isdigit() else digits
    return unicodedata.normalize("NFKC", plain(token)).replace("'", "")


def _runs(tokens: Sequence[_Token], wanted: Sequence[_Token]) -> Iterator[Span]:
    """Places where the wanted tokens stand in a row."""
    norms = [token.norm for token in wanted]
    for start in range(len(tokens) - len(norms) + 1):
        if all(tokens[start + i].norm == norm for i, norm in enumerate(norms)):
            yield Span(tokens[start].start, tokens[start + len(norms) - 1].end)


def _equal_numbers(text: str, item: str) -> Iterator[Span]:
    """Places of numbers that equal the item, where the item is a number."""
    wanted = list(_quantities(item))
    if len(wanted) != 1 or (parse_quantity(item) is None and len(_tokens(item)) > 1):
        return
    for value, span in _quantities(text):
        if any(isclose(a, b, rel_tol=SAME) for a in value for b in wanted[0][0]):
            yield span


def _quantities(text: str) -> Iterator[tuple[set[float], Span]]:
    """The numbers of a text: the values that each may stand for, and where it is with its scale word."""
    tokens = list(_TOKEN.finditer(text))
    for index, match in enumerate(tokens):
        token = _Token(_norm(match.group()), match.start(), match.end())
        number = token.number
        if number is None:
            continue
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        word = after.group().lower() if after is not None else ""
        scale = SCALES.get(word.removesuffix("s"), 1.0)
        percent = word in {"%", "percent"}
        end = after.end() if after is not None and (scale != 1 or percent) else token.end
        values = {number * scale} | ({number / 100} if percent else set())
        yield values, Span(token.start, end)


def _paraphrases(tokens: Sequence[_Token], wanted: Sequence[_Token]) -> bool:
    content = _content(wanted)
    if not content or (len(content) == 1 and len(next(iter(content))) < LEAST_LETTERS):
        return False
    return content <= _content(tokens)


def _content(tokens: Iterable[_Token]) -> frozenset[str]:
    """Stems of content words; numbers, months and number words in one form."""
    return frozenset(
        stem(MONTHS.get(token.norm, token.norm)) if token.number is None else f"{token.number:g}"
        for token in tokens
        if token.norm not in STOPWORDS
    )
