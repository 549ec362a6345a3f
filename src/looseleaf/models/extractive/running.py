"""Listings inside sentences, below headings and in the label columns of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from looseleaf.models.extractive.line import Line
from looseleaf.models.extractive.listing import LEAST_COVERAGE, Listing
from looseleaf.models.extractive.page import PageModel, Sentence
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.table import read_tables
from looseleaf.models.extractive.words import stem, stem_set

__all__ = ["inline", "items_of", "labels", "subsections"]

INLINE: Final = 0.85
"""Factor for items inside a sentence, which are easily clauses."""
LONGEST_ITEM: Final = 14
"""Words of an item of a running sentence; a longer one is a clause."""

_INTRODUCED: Final = re.compile(
    r"\b(?:are|includ(?:e|es|ing)|such as|consists? (?:primarily |mainly )?of|compris(?:e|es|ing)|namely|following"
    r"|contain(?:s|ing)?|offers?)\b:?|:"
)
"""Words that a list follows."""
_LOOSELY: Final = re.compile(r"\b(?:is|was|were|between|by|of|for|as|have|has|on|with)\b")
"""Words that a list may follow, if they stand right after the thing asked for."""
SUBSECTION: Final = stem("subsections")
PRONOUNS: Final = frozenset(["we", "it", "they", "this", "these", "he", "she", "which", "who"])
"""Words that start clauses, never items."""
FOCUS_REACH: Final = 3
"""Words before a loose introduction in which the thing asked for must stand."""
_SEPARATOR: Final = re.compile(r",\s+(?:and|or|as well as)\s+|;\s+(?:and\s+)?|,\s+|\s+and\s+(?=[^,;]*$)")
_COUNTED: Final = re.compile(r"(?:^|\s)\(?(?:\d{1,2}|[a-e]|i{1,3}|iv|v)\)\s")
_NUMBERING: Final = re.compile(r"^((?:\d{1,2}|[A-Z]|[IVX]+)(?:\.\d{1,2})*\.?)\s+(?=[A-Z])")
_ROMAN: Final = re.compile(r"[IVX]+")


def subsections(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Headings one level below a heading that the question names."""
    numbered = [
        (line, match)
        for line in model.lines
        if line.row is None and (match := _NUMBERING.match(line.text)) is not None
    ]
    for position, (line, match) in enumerate(numbered):
        coverage = pool.coverage(line.stems) * _asks_subsections(pool)
        if coverage < LEAST_COVERAGE or not pool.roots(line.stems):
            continue
        below = _children(match[1].rstrip("."), numbered[position + 1 :])
        if len(below) >= 2:
            yield Listing(page, tuple(below), line.text, coverage * pool.page_factor(page), "subsections")


def _asks_subsections(pool: Pool) -> float:
    """More than 1 where the question itself says that it asks for parts of a section."""
    light = sum(weight for weight in pool.weights.values() if weight < 1.0)
    return pool.total / max(pool.total - light, 1.0) if SUBSECTION in pool.weights else 1.0


def _children(number: str, after: Sequence[tuple[Line, re.Match[str]]]) -> list[str]:
    """Headings that are numbered below `number` ("3.1" under "3", "A" under "IV"), up to the next of its kind."""
    found: list[str] = []
    for line, match in after:
        other = match[1].rstrip(".")
        child = other.startswith(number + ".") and other.count(".") == number.count(".") + 1
        lettered = _ROMAN.fullmatch(number) is not None and other == chr(ord("A") + len(found))
        if child or lettered:
            found.append(line.text[match.end() :].strip())
        elif not other.startswith(number + "."):
            break
    return found


def inline(pool: Pool, page: int, model: PageModel, sentence: Sentence) -> Iterator[Listing]:
    """Items of an enumeration inside a sentence that covers the question."""
    if "," not in sentence.text and ";" not in sentence.text and " and " not in sentence.text:
        return
    coverage = pool.coverage(sentence.stems, stem_set(model.heading(sentence.line)))
    if coverage < LEAST_COVERAGE:
        return
    for start, end in _introductions(pool, sentence.text):
        before, after = sentence.text[:start], sentence.text[end:].strip().rstrip(".")
        items = items_of(after, pool.query.wanted)
        if len(items) >= 2 and sentence.whole and pool.coverage(stem_set(before)) > 0:
            share = pool.coverage(stem_set(before)) / max(coverage, 0.01)
            score = INLINE * coverage * (0.5 + 0.5 * min(share, 1.0)) * pool.page_factor(page)
            yield Listing(page, tuple(items), before.strip(), score, "inline")


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
    parts = [_COUNTED.sub("", part).strip(" .;:,") for part in _SEPARATOR.split(text)]
    parts = [part for part in parts if part]
    if any(len(part.split()) > LONGEST_ITEM or part.split()[0].lower() in PRONOUNS for part in parts):
        return []
    items = [re.sub(r"^(?:and|or|the|a|an)\s+", "", part) for part in parts]
    if wanted > 1 and len(items) == wanted + 1 and f"{items[-2]} and {items[-1]}" in text:
        items[-2:] = [f"{items[-2]} and {items[-1]}"]
    return items


def labels(pool: Pool, page: int, text: str) -> Iterator[Listing]:
    """The label column of a table whose header names what is asked for."""
    for table in read_tables(text):
        header = stem_set(table.header[0])
        if header and header & set(pool.focus):
            items = tuple(row.label for row in table.rows)
            score = pool.coverage(header, table.stems) * pool.page_factor(page)
            yield Listing(page, items, f"{table.caption} {table.header[0]}".strip(), score, "labels")
