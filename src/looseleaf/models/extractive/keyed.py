"""Answers from keys and their values: `key: value` lines, and pairs inside a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import NUMERIC, Kind
from looseleaf.models.extractive.line import Line
from looseleaf.models.extractive.page import PageModel
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.span import find_spans
from looseleaf.models.extractive.words import stem_set, tokens

__all__ = ["LEAST_COVERAGE", "SHORT_VALUE", "key_score", "keyed_candidates", "suited"]

LEAST_COVERAGE: Final = 0.3
"""Score of a key below which its value answers another question."""
SHORT_VALUE: Final = 10
"""Words of an entry; a longer one is a text of its own."""
MOST_MORE_LINES: Final = 3
FEW_WORDS: Final = 4
"""Words of a value that is a number with what belongs to it ("70-175 mm")."""
QUOTED: Final = 0.8
"""Score of a key that the question quotes."""
HINT: Final = 0.15
HINTS: Final = {
    Kind.DATE: stem_set("date dated"),
    Kind.PHONE: stem_set("tel telephone phone fax"),
    Kind.EMAIL: stem_set("email mail"),
    Kind.IDENTIFIER: stem_set("number no id"),
    Kind.PERSON: stem_set("name"),
    Kind.PLACE: stem_set("address location place"),
}
"""Words of keys that say no more than the kind of their value."""
_TYPED: Final = frozenset(
    {Kind.EMAIL, Kind.URL, Kind.PHONE, Kind.DATE, Kind.TIME, Kind.YEAR, Kind.MONTH, Kind.IDENTIFIER}
)
_DIVIDER: Final = re.compile(r":|\t|\s[–—-]\s|\s{2}")
_KEY: Final = re.compile(r"^(?P<key>[^:]{2,60}?)\s*(?::|\s[–—-]\s|\t|\s{2,})\s*(?P<value>\S.*)$")
_YES_OR_NO: Final = re.compile(r"(yes|no)\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[^\w]*(\d[\d,.]*\s?%?)(?=\s|$|\))")
_INNER_PAIR: Final = re.compile(r"(?P<key>[A-Za-z][\w.’' ]{1,40}?)(?::|\bNo\.|#)\s*(?P<value>\S+)")


def keyed_candidates(pool: Pool) -> Iterator[Candidate]:
    """Values of keys that the question names."""
    typed = pool.query.kind in _TYPED
    for page, model in pool.pages():
        for line in model.lines:
            if not model.contents and _DIVIDER.search(line.text):
                yield from _key_value(pool, page, model, line)
            if typed:
                yield from _pairs(pool, page, line)


def _key_value(pool: Pool, page: int, model: PageModel, line: Line) -> Iterator[Candidate]:
    """The value of a line that is a key and its value."""
    match = _KEY.match(line.text)
    if match is None or line.text.count("\t") > 1:
        return
    context = stem_set(model.heading(line.index)) | line.stems
    if ": " in line.text and "\t" not in line.text and pool.knows_all(stem_set(match["key"])):
        context |= model.stems
    score = key_score(pool, match["key"], context)
    value = suited(pool, _whole_value(model, line, match["value"]).strip(" .–—-"))
    if value and score >= LEAST_COVERAGE:
        yield Candidate(value, page, line.text, score * pool.page_factor(page), "keyed")


def _whole_value(model: PageModel, line: Line, value: str) -> str:
    """A value with the lines that go on with it, where it ends in the middle of a list."""
    for following in model.lines[line.index + 1 : line.index + 1 + MOST_MORE_LINES]:
        if not value.endswith((",", " and")):
            break
        value = f"{value} {following.text}"
    return value


def key_score(pool: Pool, key: str, context: frozenset[str]) -> float:
    """How well a key fits: the share of the question that it holds, less for words of its own."""
    stems = stem_set(key)
    matched = pool.roots(stems)
    if not matched:
        return 0.0
    if key.strip(" .:").lower() in {quote.lower() for quote in pool.query.quotes}:
        return max(QUOTED, pool.coverage(stems, context))
    hinted = stems & HINTS.get(pool.query.kind, frozenset()) - matched
    precision = (len(matched) + len(hinted)) / len(stems)
    return (pool.coverage(stems, context) + HINT * bool(hinted)) * (0.5 + 0.5 * min(precision, 1.0))


def suited(pool: Pool, value: str) -> str:
    """The part of a value that answers this kind of question; empty where none does."""
    kind = pool.query.kind
    if not value or value[0] in "([" or pool.quotes_whole(value):
        return ""
    if kind in _TYPED:
        return _typed(pool, value)
    if kind is Kind.YES_NO:
        match = _YES_OR_NO.match(value)
        return match[1].lower() if match else ""
    if kind in NUMERIC or kind is Kind.PAGE:
        number = _NUMBER.match(value)
        whole = kind is Kind.NUMBER and value[0].isdigit() and len(value.split()) <= FEW_WORDS
        return value if whole else (number[1].strip() if number else "")
    return value if kind is not Kind.PERSON or _is_person(value) else ""


def _typed(pool: Pool, value: str) -> str:
    """The longest span of the kind in a value; a short value with dates answers "when" as a whole."""
    kind = pool.query.kind
    spans = find_spans(value, kind)
    if spans and kind is Kind.DATE and not pool.query.form.date and len(value.split()) <= SHORT_VALUE:
        return value
    return max((span.text for span in spans), key=len, default="")


def _is_person(value: str) -> bool:
    """Whether a value can be the name of a person: at least two words, the first with a capital, no digits."""
    words = tokens(value)
    return len(words) > 1 and value[0].isupper() and not any(letter.isdigit() for letter in value)


def _pairs(pool: Pool, page: int, line: Line) -> Iterator[Candidate]:
    """Values of keys that stand in the middle of a line ("Case: 21-13199 Date Filed: 01/05/2022")."""
    for match in _INNER_PAIR.finditer(line.text):
        value = match["value"].strip(".,;")
        if pool.query.kind is not Kind.IDENTIFIER or not any(c.isdigit() for c in value):
            value = max((span.text for span in find_spans(value, pool.query.kind)), key=len, default="")
        score = key_score(pool, match["key"], line.stems) * pool.page_factor(page)
        if value and score >= LEAST_COVERAGE:
            yield Candidate(value, page, line.text, score, "keyed:pair")
