"""Listings inside sentences and in the label columns of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.listing import LEAST_COVERAGE, SHORT_ITEM, Listing
from looseleaf.models.extractive.page import PageModel, Sentence
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.table import read_tables
from looseleaf.models.extractive.words import stem_set

__all__ = ["inline", "items_of", "labels"]

INLINE: Final = 0.85
"""Factor for items inside a sentence, which are easily clauses."""
COMPOSED: Final = 1.15
"""Factor for what a thing is said to consist of, where its parts are asked for."""
WITHIN: Final = 0.7
"""Factor for a list that is part of an item of another list."""
LONGEST_ITEM: Final = 14
"""Words of an item of a running sentence; a longer one is a clause."""

_INTRODUCED: Final = re.compile(
    r"\b(?:are|includ(?:e|es|ing)|such as|consists? (?:primarily |mainly )?of|compris(?:e|es|ing)|namely|following"
    r"|contain(?:s|ing)?|offers?)\b:?|:"
)
"""Words that a list follows."""
_LOOSELY: Final = re.compile(r"\b(?:is|was|were|between|by|of|for|as|have|has|on|with)\b")
"""Words that a list may follow, if they stand right after the thing asked for."""
PRONOUNS: Final = frozenset(["we", "it", "they", "this", "these", "he", "she", "which", "who"])
"""Words that start clauses, never items."""
FOCUS_REACH: Final = 3
"""Words before a loose introduction in which the thing asked for must stand."""
_ARTICLE: Final = re.compile(r"^(?:the|an?)\s+")
_BE: Final = frozenset(["are", "is", "was", "were"])
_PARTICIPLE: Final = re.compile(
    r"(?:\w+ly )?(?:\w+ed|shown|made|given|known|held|sold|kept|set|built|found|taken|not)\b"
)
"""What follows "are" in the passive, where no list follows."""
_COMPOSED: Final = re.compile(r"consist|compris|includ")
_PARTS: Final = stem_set("components parts elements consist comprise made")
"""Words of questions for what a thing consists of."""
_WORD: Final = re.compile(r"[\w’'-]+")
_JOINED: Final = r",\s+(?:and|or|as well as)\s+|;\s+(?:and\s+)?|,\s+"
_SEPARATOR: Final = re.compile(rf"{_JOINED}|\s+and\s+(?=[^,;]*$)")
_CLOSED: Final = re.compile(_JOINED)
"""Separators where the last item has a comma before its "and": any other "and" is inside an item."""
_SEMICOLON: Final = re.compile(r";\s+(?:and\s+)?")
_LAST_COMMA: Final = re.compile(r",\s+(?:and|or|as well as)\s")
_REMARK: Final = re.compile(
    r"[,\s]+\b(?:where|which|who|whom|whose|including|such as|for example|e\.g\.|because|while|although|so that)\s.*$"
)
"""What an item says about itself: it is no part of its name."""
_ONLY_REMARK: Final = re.compile(r"^(?:where|which|who|whom|whose|including|such as|for example|e\.g\.)\b")
_SENTENCE_END: Final = re.compile(r"\.\s+(?=[A-Z])(?<![A-Z]\.\s)(?<!\b[a-z]\.\s)")
_COUNTED: Final = re.compile(r"(?:^|\s)\(?(?:\d{1,2}|[a-e]|i{1,3}|iv|v)\)\s")


def inline(pool: Pool, page: int, model: PageModel, sentence: Sentence) -> Iterator[Listing]:
    """Items of an enumeration inside a sentence that covers the question."""
    if "," not in sentence.text and ";" not in sentence.text and " and " not in sentence.text:
        return
    context, implied = stem_set(model.heading(sentence.line)), pool.implied(sentence.text)
    coverage = pool.coverage_without(implied, sentence.stems, context)
    if coverage < LEAST_COVERAGE:
        return
    for start, end in _introductions(pool, sentence.text):
        before, after = sentence.text[:end], sentence.text[end:].strip().rstrip(".")
        items = items_of(after, pool.query.wanted)
        if items and sentence.text[start:end] in _BE and _PARTICIPLE.match(items[0]):
            continue
        if len(items) >= 2 and sentence.whole and pool.coverage(stem_set(before)) > 0:
            share = pool.coverage_without(implied, stem_set(before), context) / max(coverage, 0.01)
            score = INLINE * coverage * (0.5 + 0.5 * min(share, 1.0)) * pool.page_factor(page)
            score *= (
                COMPOSED if _COMPOSED.match(sentence.text[start:end]) and _PARTS & set(pool.weights) else 1.0
            )
            score *= WITHIN if _is_within(pool, sentence.text[:start]) else 1.0
            yield Listing(page, tuple(items), sentence.text[:start].strip(), score, "inline", implied)


def _is_within(pool: Pool, before: str) -> bool:
    """Whether a list begins inside another one: a separator stands behind the last word of the question."""
    words = list(_WORD.finditer(before))
    last = max((word.end() for word in words if pool.roots(stem_set(word[0]))), default=len(before))
    return bool(re.search(r"[,;]\s", before[last:]))


def _introductions(pool: Pool, text: str) -> Iterator[tuple[int, int]]:
    """Where lists may begin: start and end of the words that introduce them."""
    for match in _INTRODUCED.finditer(text):
        yield match.start(), match.end()
    for match in _LOOSELY.finditer(text):
        before = stem_set(" ".join(text[: match.start()].split()[-FOCUS_REACH:]))
        if before & set(pool.focus):
            yield match.start(), match.end()


def items_of(text: str, wanted: int = 0) -> list[str]:
    """The parts of "A, B and C"; empty if they are clauses rather than items.

    Args:
        text: the enumeration.
        wanted: how many items there should be: with one too many, the last "and" joins the words of one item.
    """
    text = _SENTENCE_END.split(text)[0]
    parts = [_COUNTED.sub("", part).strip(" .;:,") for part in _separator(text).split(text)]
    parts = [part for part in parts if part and not _ONLY_REMARK.match(part)]
    parts = [part for part in (_REMARK.sub("", part).strip() for part in parts) if part]
    if any(len(part.split()) > LONGEST_ITEM or part.split()[0].lower() in PRONOUNS for part in parts):
        return []
    if any(part.count("“") != part.count("”") for part in parts):
        return []
    items = _without_articles([re.sub(r"^(?:and|or)\s+", "", part) for part in parts])
    if wanted > 1 and len(items) == wanted + 1 and f"{items[-2]} and {items[-1]}" in text:
        items[-2:] = [f"{items[-2]} and {items[-1]}"]
    return items


def _without_articles(parts: list[str]) -> list[str]:
    """The parts without "a"; without "the" before names, and where most parts have an article."""
    most = sum(bool(_ARTICLE.match(part)) for part in parts) > len(parts) / 2
    return [
        _ARTICLE.sub("", part) if most or not part.startswith("the ") or part[4:5].isupper() else part
        for part in parts
    ]


def _separator(text: str) -> re.Pattern[str]:
    """What parts the items: semicolons where there are several, else commas and the last "and"."""
    if text.count(";") > 1:
        return _SEMICOLON
    return _CLOSED if _LAST_COMMA.search(text) else _SEPARATOR


def labels(pool: Pool, page: int, text: str) -> Iterator[Listing]:
    """The label column of a table whose header names what is asked for."""
    for table in read_tables(text):
        header = stem_set(table.header[0])
        if header & set(pool.focus) and len(table.header[0].split()) <= SHORT_ITEM:
            items = tuple(row.label for row in table.rows)
            score = pool.coverage(header, table.stems) * pool.page_factor(page)
            yield Listing(page, items, f"{table.caption} {table.header[0]}".strip(), score, "labels")
