"""Answers that are lists: bullets under a line, items of a sentence, subsections, labels of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.page import Line, PageModel, Sentence
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.table import read_tables
from looseleaf.models.extractive.words import stem_set

__all__ = ["Listing", "list_candidates", "listings", "written_list"]

LEAST_COVERAGE: Final = 0.3
MOST_ITEMS: Final = 40
RIGHT_LENGTH: Final = 1.25
WRONG_LENGTH: Final = 0.5
INLINE: Final = 0.85
"""Factor for items inside a sentence, which are easily clauses."""
LONGEST_ITEM: Final = 14
"""Words of an item of a running sentence; a longer one is a clause."""

_MARKER: Final = re.compile(
    r"^\s*(?:[•●▪■◦‣▶►○◆❖✓✔➢§·\ue000-\uf8ff]|[-–*]\s|o\s|\(?\d{1,2}[.)]|\(?[a-z][.)]|step\s+\d+[:.]?|\d{1,2}\s)\s*",
    re.I,
)
_INTRODUCED: Final = re.compile(
    r"\b(?:are|is|were|was|includ(?:e|es|ing)|such as|consists? (?:primarily |mainly )?of|compris(?:e|es|ing)|namely|following|"
    r"between|by|of|for|contain(?:s|ing)?|offers?|as|have|has)\b:?|:"
)
_SEPARATOR: Final = re.compile(r",\s+(?:and|or|as well as)\s+|;\s+(?:and\s+)?|,\s+|\s+and\s+(?=[^,;]*$)")
_COUNTED: Final = re.compile(r"(?:^|\s)\(?(?:\d{1,2}|[a-e]|i{1,3}|iv|v)\)\s")


class Listing(msgspec.Struct, frozen=True):
    """Items found together, with the page, the words that introduce them and their score."""

    page: int
    items: tuple[str, ...]
    introduction: str
    score: float
    kind: str

    @property
    def evidence(self) -> str:
        """Introduction and items as one statement."""
        return f"{self.introduction.rstrip(':')}: {'; '.join(self.items)}"


def list_candidates(pool: Pool) -> Iterator[Candidate]:
    """One candidate for each listing, where the question asks for a list."""
    if not pool.query.form.listed:
        return
    for listing in listings(pool):
        items = _ordered(pool, listing.items)
        yield Candidate(
            written_list(items),
            listing.page,
            listing.evidence,
            listing.score,
            f"list:{listing.kind}",
            computed=True,
        )


def written_list(items: Sequence[str]) -> str:
    """Items as the list literal that benchmark scorers parse."""
    return str([item.strip() for item in items])


def _ordered(pool: Pool, items: tuple[str, ...]) -> list[str]:
    order = pool.query.form.order
    return sorted(items, key=str.lower, reverse=order == "descending") if order else list(items)


def listings(pool: Pool) -> list[Listing]:
    """All listings that cover the question well enough, best first."""
    found: list[Listing] = []
    for page, model in pool.pages():
        found += _marked(pool, page, model)
        found += _subsections(pool, page, model)
        found += [listing for sentence in model.sentences for listing in _inline(pool, page, model, sentence)]
    for passage in pool.passages:
        found += _labels(pool, passage.page, passage.text)
    suited = [
        msgspec.structs.replace(listing, score=listing.score * _length_factor(pool, listing))
        for listing in found
    ]
    return sorted(
        (listing for listing in suited if listing.score >= LEAST_COVERAGE), key=lambda one: -one.score
    )


def _length_factor(pool: Pool, listing: Listing) -> float:
    if not pool.query.wanted:
        return 1.0
    return RIGHT_LENGTH if len(listing.items) == pool.query.wanted else WRONG_LENGTH


def _marked(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Runs of bullets or numbers under the line that introduces them."""
    lines = model.lines
    start = 0
    while start < len(lines):
        if lines[start].kind not in {"bullet", "numbered"}:
            start += 1
            continue
        items, end = _run(lines, start)
        if 2 <= len(items) <= MOST_ITEMS:
            above = _introduction(lines, start)
            score = pool.coverage(
                above.stems if above else (), stem_set(model.heading(max(start - 1, 0)))
            ) * pool.page_factor(page)
            yield Listing(page, tuple(items), above.text if above else "", score, "marked")
        start = end


def _run(lines: tuple[Line, ...], start: int) -> tuple[list[str], int]:
    """Items from line `start` on; a line without a marker that starts small continues the item above."""
    kind = lines[start].kind
    items: list[str] = []
    index = start
    while index < len(lines):
        line = lines[index]
        if line.kind == kind and _MARKER.match(line.text):
            items.append(_MARKER.sub("", line.text).strip())
        elif (
            items
            and line.kind == "text"
            and line.row is None
            and (line.text[0].islower() or items[-1][-1:] in ",-")
        ):
            items[-1] = f"{items[-1]} {line.text}"
        else:
            break
        index += 1
    return items, index


def _introduction(lines: tuple[Line, ...], start: int) -> Line | None:
    """The nearest line above that is no item itself."""
    for line in reversed(lines[max(0, start - 3) : start]):
        if line.kind not in {"bullet", "numbered"}:
            return line
    return None


def _subsections(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Headings one level below a heading that the question names."""
    numbered = [
        (line, match)
        for line in model.lines
        if line.kind in {"heading", "numbered", "text"} and (match := _NUMBERING.match(line.text))
    ]
    for line, match in numbered:
        coverage = pool.coverage(line.stems)
        if coverage < LEAST_COVERAGE:
            continue
        prefix = match[1].rstrip(".")
        below = [
            other.text[m.end() :].strip()
            for other, m in numbered
            if _is_child(prefix, m[1].rstrip(".")) and other.index > line.index
        ]
        if len(below) >= 2:
            yield Listing(page, tuple(below), line.text, coverage, "subsections")


_NUMBERING: Final = re.compile(r"^((?:\d{1,2}|[A-Z]|[IVX]+)(?:\.\d{1,2})*\.?)\s+(?=[A-Z])")


def _is_child(prefix: str, number: str) -> bool:
    return number.startswith(prefix + ".") and number.count(".") == prefix.count(".") + 1


def _inline(pool: Pool, page: int, model: PageModel, sentence: Sentence) -> Iterator[Listing]:
    """Items of an enumeration inside a sentence that covers the question."""
    if "," not in sentence.text and ";" not in sentence.text and " and " not in sentence.text:
        return
    coverage = pool.coverage(sentence.stems, stem_set(model.heading(sentence.line)))
    if coverage < LEAST_COVERAGE:
        return
    for match in _INTRODUCED.finditer(sentence.text):
        before, after = sentence.text[: match.start()], sentence.text[match.end() :].strip().rstrip(".")
        items = _items(after)
        if len(items) >= 2 and sentence.whole and pool.coverage(stem_set(before)) > 0:
            share = pool.coverage(stem_set(before)) / max(coverage, 0.01)
            yield Listing(
                page, tuple(items), before.strip(), coverage * (0.5 + 0.5 * min(share, 1.0)), "inline"
            )


def _items(text: str) -> list[str]:
    """The parts of "A, B and C"; empty if they are clauses rather than items."""
    parts = [_COUNTED.sub("", part).strip(" .;:,") for part in _SEPARATOR.split(text)]
    parts = [part for part in parts if part]
    if any(len(part.split()) > LONGEST_ITEM for part in parts):
        return []
    return [re.sub(r"^(?:and|or|the|a|an)\s+", "", part) for part in parts]


def _labels(pool: Pool, page: int, text: str) -> Iterator[Listing]:
    """The label column of a table whose header names what is asked for."""
    for table in read_tables(text):
        header = stem_set(table.header[0])
        if header and header & set(pool.focus):
            items = tuple(row.label for row in table.rows)
            score = pool.coverage(header, table.stems) * pool.page_factor(page)
            yield Listing(page, items, f"{table.caption} {table.header[0]}".strip(), score, "labels")
