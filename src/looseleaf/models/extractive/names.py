"""Listings of names inside sentences ("A, B, the C and D"), wherever in the sentence they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.listing import LEAST_COVERAGE, Listing
from looseleaf.models.extractive.page import PageModel, Sentence
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.words import QUESTION_WORDS, STOPWORDS, stem, stem_set, tokens, word_list

__all__ = ["CLASSES", "asks_names", "series_of_names"]

NAMES: Final = 0.95
"""Factor for a series of names: their capitals tell where each begins and ends."""
FAR: Final = 0.85
"""Factor for a series with no word of the question right before or right after it."""
REACH: Final = 5
"""Words before and after a series that are next to it."""
LEAST_NAMES: Final = 2
CLASSES: Final = frozenset(
    stem(word)
    for word in word_list(
        """country countries nation state states city cities town village county district island region
        place location company companies firm organization organisation institution university
        universities school bank retailer competitor manufacturer supplier customer person people author
        member researcher artist player team model dataset method product language religion currency
        month day sport platform app website newspaper magazine brand program"""
    )
)
"""Words for kinds of things that have names: a text lists the names and need not say what they are names of."""
_WORD: Final = r"(?:[A-Z][\w’'&./-]*\w|[A-Z]\.(?:[A-Z]\.)*|[A-Z])"
_NAME: Final = rf"(?:the )?{_WORD}(?: (?:(?:of|de|for|von|van|&) (?:the )?)?(?:{_WORD}|\d+(?![\d,.])))*"
_QUOTED: Final = r"[“\"][^“”\"]{2,60}[”\"]"
_SERIES: Final = re.compile(
    rf"(?P<quoted>{_QUOTED}(?:,? {_QUOTED})*,? (?:and|or) {_QUOTED})"
    rf"|(?<![\w’'-])(?P<names>{_NAME}(?:, {_NAME})+,? (?:and|or|as well as) {_NAME}(?: and {_NAME})?"
    rf"|{_NAME} and {_NAME})"
)
_LAST: Final = re.compile(r",? (?:and|or|as well as) ")


def series_of_names(pool: Pool, page: int, model: PageModel, sentence: Sentence) -> Iterator[Listing]:
    """Each series of names of a sentence whose other words cover the question."""
    if not sentence.whole or (" and " not in sentence.text and " or " not in sentence.text):
        return
    heading, implied = stem_set(model.heading(sentence.line)), pool.implied(sentence.text)
    if pool.coverage_without(implied, sentence.stems, heading) < LEAST_COVERAGE:
        return
    for match in _SERIES.finditer(sentence.text):
        items = _items(match["names"]) if match["names"] else _quoted(match["quoted"])
        if len(items) < LEAST_NAMES or any(pool.knows_all(stem_set(item)) for item in items):
            continue
        before, after = sentence.text[: match.start()], sentence.text[match.end() :]
        around = stem_set(f"{before} {after}")
        unsaid = implied | (CLASSES & set(pool.focus))
        score = NAMES * pool.coverage_without(unsaid, around, heading) * pool.page_factor(page)
        score *= 1.0 if _is_near(pool, before, after) else FAR
        introduction = before.strip() if pool.roots(stem_set(before)) else after.strip(" .,")
        yield Listing(page, tuple(items), introduction, score, "names", implied)


def asks_names(pool: Pool) -> bool:
    """Whether the things asked for are of a kind whose names a text lists without saying what they are."""
    return bool(CLASSES & set(pool.focus)) or pool.query.kind in {Kind.PERSON, Kind.PLACE}


def _items(text: str) -> list[str]:
    """The names, without articles and without a word that only starts the sentence."""
    head, *last = _LAST.split(text, maxsplit=1)
    items = [part.strip().removeprefix("the ") for part in (*head.split(", "), *last)]
    first = items[0].split()
    while first and first[0].lower() in STOPWORDS | QUESTION_WORDS:
        first = first[1:]
    return [item for item in (" ".join(first), *items[1:]) if item]


def _quoted(text: str) -> list[str]:
    """The phrases of a series of quoted phrases."""
    return [phrase.strip(" ,.") for phrase in re.findall(r"[“\"]([^“”\"]+)[”\"]", text)]


def _is_near(pool: Pool, before: str, after: str) -> bool:
    """Whether a word of the question stands next to a series."""
    words = [*tokens(before)[-REACH:], *tokens(after)[:REACH]]
    return any(pool.knows(stem(word)) for word in words)
