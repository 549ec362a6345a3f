"""`Span`: pieces of text of a given kind (a date, a name, an address, a quantity …)."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.number import find_numbers, is_reference
from looseleaf.models.extractive.words import STOPWORDS, number_word, tokens, word_list

__all__ = ["Span", "find_spans", "name_spans", "nearby"]

NEARBY_WORDS: Final = 12
"""Words on each side of a span that are near it."""


class Span(msgspec.Struct, frozen=True):
    """A piece of a text: what it says and where it stands."""

    text: str
    start: int
    end: int


_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_COLORS: Final = word_list(
    """red orange yellow green blue purple violet pink brown black white grey gray gold silver beige turquoise cyan
    magenta maroon navy teal"""
)
_PATTERNS: Final = {
    Kind.EMAIL: re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    Kind.URL: re.compile(
        r"(?:https?://|www\.)[^\s,;)>\]]+[^\s,;)>\].]|\b[a-z0-9-]+\.(?:com|org|net|edu|gov|io)\b(?:/[^\s,;)]*)?",
        re.I,
    ),
    Kind.PHONE: re.compile(
        r"(?:\+\d{1,3}[\s.–-]?)?(?:\(\d{2,5}\)|\d{2,5})[\s.–-]\d{3,4}(?:[\s.–-]?\d{2,4})+\b"
    ),
    Kind.DURATION: re.compile(
        r"\b\d+(?:[.,]\d+)?(?:\s?(?:to|–|-)\s?\d+)?\s(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|mins?|hrs?)\b",
        re.IGNORECASE,
    ),
    Kind.YEAR: re.compile(r"(?<![\d.,])(?:1[6-9]|20)\d\d(?!\d|,\d{3}|\.\d)"),
    Kind.MONTH: re.compile(_MONTH),
    Kind.TIME: re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?", re.I),
    Kind.COLOR: re.compile(rf"\b(?:{'|'.join(_COLORS)})\b", re.I),
    Kind.DATE: re.compile(
        rf"\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:,?\s+\d{{4}})?"
        rf"|\b{_MONTH},?\s+\d{{4}}\b|\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}\b"
        r"|(?<![\d.,])(?:19|20)\d\d(?!\d|,\d{3})",
        re.I,
    ),
    Kind.IDENTIFIER: re.compile(r"\b(?=[\w./-]*\d)[A-Z0-9][\w./-]*\w\b|\b\d\b"),
}
_NAME: Final = re.compile(
    r"(?:[A-Z][\w’'&.-]*|[A-Z]\.)(?:\s+(?:(?:of|de|van|von|der|and|the|for|&)\s+)?(?:[A-Z][\w’'&-]*|[A-Z]\.))*"
)


def find_spans(text: str, kind: Kind) -> list[Span]:
    """Spans of a text that can answer a question of this kind, in order."""
    if kind is Kind.DATE:
        return _fullest([Span(m[0].strip(), m.start(), m.end()) for m in _PATTERNS[kind].finditer(text)])
    if kind in _PATTERNS:
        return [Span(m[0].strip(), m.start(), m.end()) for m in _PATTERNS[kind].finditer(text)]
    if kind in {Kind.PERCENT, Kind.MONEY, Kind.NUMBER, Kind.COUNT}:
        return _quantities(text, kind)
    if kind in {Kind.PERSON, Kind.PLACE}:
        names = name_spans(text)
        if kind is Kind.PERSON:
            names = [part for name in names for part in _persons(name)]
        return [name for name in names if not any(letter.isdigit() for letter in name.text)]
    return []


def _persons(name: Span) -> list[Span]:
    """The names that "and" joins."""
    found, start = [], name.start
    for part in name.text.split(" and "):
        found.append(Span(part, start, start + len(part)))
        start += len(part) + len(" and ")
    return found


def _fullest(dates: list[Span]) -> list[Span]:
    """The dates, bare years left out where there is any fuller one."""
    full = [span for span in dates if not span.text.isdigit()]
    return full or dates


def nearby(text: str, start: int, end: int) -> str:
    """The words around a piece of a text, and the piece itself left out."""
    return " ".join([*text[:start].split()[-NEARBY_WORDS:], *text[end:].split()[:NEARBY_WORDS]])


def _quantities(text: str, kind: Kind) -> list[Span]:
    numbers = [n for n in find_numbers(text) if not is_reference(text, n)]
    if kind is Kind.PERCENT:
        numbers = [n for n in numbers if n.unit == "%"]
    elif kind is Kind.MONEY:
        numbers = [n for n in numbers if n.unit not in {"", "%"}] or [n for n in numbers if n.unit != "%"]
    elif kind is Kind.COUNT:
        numbers = [n for n in numbers if n.unit in {"", "%"}]
    spans = [Span(n.text, n.start, n.end) for n in numbers]
    return spans + _number_words(text) if kind is Kind.COUNT else spans


def _number_words(text: str) -> list[Span]:
    found = []
    for match in re.finditer(r"[A-Za-z]+(?:-[a-z]+)?", text):
        value = number_word(match[0])
        if value is not None and value != 1:
            found.append(Span(str(value), match.start(), match.end()))
    return found


def name_spans(text: str) -> list[Span]:
    """Runs of capitalised words, less a leading function word."""
    found = []
    for match in _NAME.finditer(text):
        words = match[0].split()
        start = match.start()
        while words and words[0].lower() in STOPWORDS:
            start += len(words[0]) + 1
            words = words[1:]
        phrase = " ".join(words).rstrip(".,")
        if phrase and len(tokens(phrase)) and len(phrase) > 1:
            found.append(Span(phrase, start, match.end()))
    return found
