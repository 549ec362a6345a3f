"""Listings of the sections below a section that a question names, over the pages that follow each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from looseleaf.models.extractive.listing import LEAST_COVERAGE, Listing
from looseleaf.models.extractive.page import PageModel
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.words import stem, stem_set

__all__ = ["SECTION_WORDS", "subsections"]

SECTION_WORDS: Final = frozenset(stem(word) for word in ("subsections", "subsection", "sections", "section"))
SUBSECTION: Final = stem("subsections")
NAMED: Final = 0.95
"""Coverage of a heading whose whole text or whose number the question gives."""
OPEN: Final = 0.85
"""Factor for sections after which no further heading was seen: more of them may follow."""
LONGEST_HEADING: Final = 14
_NUMBERING: Final = re.compile(r"^((?:\d{1,2}|[A-Z]|[IVX]+)(?:\.\d{1,2})*\.?)\s+(?=[A-Z])")
_ROMAN: Final = re.compile(r"[IVX]+")
_PAGE_NUMBER: Final = re.compile(r"(?:\s|\.{2,})+\d{1,3}$")
"""The page that a line of contents ends in."""


class Heading(msgspec.Struct, frozen=True):
    """A numbered heading: page, number and words."""

    page: int
    number: str
    text: str


def subsections(pool: Pool) -> Iterator[Listing]:
    """Headings one level below a heading that the question names."""
    for run in _runs(pool):
        headings = [heading for page, model in run for heading in _headings(page, model)]
        for position, heading in enumerate(headings):
            coverage = _coverage(pool, heading)
            if coverage < LEAST_COVERAGE:
                continue
            below, closed = _children(heading.number, headings[position + 1 :])
            if len(below) >= 2:
                score = coverage * pool.page_factor(heading.page) * (1.0 if closed else OPEN)
                introduction = f"{heading.number} {heading.text}"
                yield Listing(heading.page, tuple(below), introduction, score, "subsections")


def _runs(pool: Pool) -> list[list[tuple[int, PageModel]]]:
    """The pages shown, parted where one is missing."""
    runs: list[list[tuple[int, PageModel]]] = []
    for page, model in sorted(dict(pool.pages()).items()):
        if runs and page == runs[-1][-1][0] + 1 and not model.contents:
            runs[-1].append((page, model))
        else:
            runs.append([(page, model)])
    return runs


def _headings(page: int, model: PageModel) -> Iterator[Heading]:
    for line in model.lines:
        match = _NUMBERING.match(line.text)
        if match is None or (line.row is not None and any(line.row.numbers) and not model.contents):
            continue
        text = line.text[match.end() :].replace("\t", " ").strip()
        text = _PAGE_NUMBER.sub("", text) if model.contents else text
        if len(text.split()) <= LONGEST_HEADING:
            yield Heading(page, match[1].rstrip("."), text)


def _coverage(pool: Pool, heading: Heading) -> float:
    """How well a heading fits; one that the question gives in full or by its number is the one."""
    stems = stem_set(heading.text)
    quoted = heading.text.lower().strip(" .") in {quote.lower().strip(" .") for quote in pool.query.quotes}
    if quoted or ("section", heading.number) in {(name, str(number)) for name, number in pool.query.labels}:
        return NAMED if SECTION_WORDS & set(pool.query.terms) else pool.coverage(stems)
    return pool.coverage(stems) * _asks_subsections(pool) if pool.roots(stems) else 0.0


def _asks_subsections(pool: Pool) -> float:
    """More than 1 where the question itself says that it asks for parts of a section."""
    light = sum(weight for weight in pool.weights.values() if weight < 1.0)
    return pool.total / max(pool.total - light, 1.0) if SUBSECTION in pool.weights else 1.0


def _children(number: str, after: Sequence[Heading]) -> tuple[list[str], bool]:
    """Headings numbered below `number` ("3.1" under "3", "A" under "IV"), and whether the next of its kind follows."""
    found: list[str] = []
    for heading in after:
        other = heading.number
        child = other.startswith(number + ".") and other.count(".") == number.count(".") + 1
        lettered = _ROMAN.fullmatch(number) is not None and other == chr(ord("A") + len(found))
        if child or lettered:
            found.append(heading.text)
        elif not other.startswith(number + ".") and _is_same_kind(number, other):
            return found, True
    return found, False


def _is_same_kind(number: str, other: str) -> bool:
    """Whether a number comes next at the level of another or above ("4" or "3.2" after "3.1", "V" after "IV")."""
    if number[0].isdigit() != other[0].isdigit():
        return False
    if not number[0].isdigit():
        return _ROMAN.fullmatch(other) is not None
    here, there = (tuple(int(part) for part in one.split(".") if part) for one in (number, other))
    return len(there) <= len(here) and there > here and there[0] <= here[0] + 1
