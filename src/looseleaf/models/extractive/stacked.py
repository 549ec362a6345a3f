"""Listings whose items stand on lines of their own: bullets, numbers, short lines, questions, heads of paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.line import Line
from looseleaf.models.extractive.listing import HEAD, ITEM_WORDS, LEAST_COVERAGE, SHORT_ITEM, Listing, heads
from looseleaf.models.extractive.page import PageModel
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.words import stem, stem_set

__all__ = ["marked", "named", "plain", "questions"]

ITEM_REACH: Final = 18
"""Lines within which the next item of a list must start."""
MOST_ITEMS: Final = 40
MOST_PLAIN: Final = 15
MARKED: Final = 1.15
"""Factor for items with bullets or numbers: they are a list beyond doubt."""
PLAIN: Final = 0.9
"""Factor for items without a mark."""
MOST_TEXT_LINES: Final = 4
"""Lines of text that may stand between a heading and its items."""
BEHIND_TEXT: Final = 0.9
LEAST_BEHIND_TEXT: Final = 3
"""Factor for items behind such a text, and how many there must be."""
LEAST_PLAIN: Final = 0.45
UNDER_HEADING: Final = 0.9
"""Factor for items that only their heading introduces."""
QUOTED: Final = 0.75
"""Coverage of an introduction that holds a phrase which the question quotes."""
QUESTION_LIST: Final = 0.6
QUESTIONS: Final = frozenset([stem("question"), stem("questions")])

_MARKER: Final = re.compile(
    r"^\s*(?:[•●▪■◦‣▶►○◆❖✓✔➢§·\ue000-\uf8ff]|[-–*]\s|o\s|\(?\d{1,2}[.)]|\(?[a-z][.)]|step\s+\d+[:.]?|\d{1,2}\s)\s*",
    re.IGNORECASE,
)
_BRACKETED_END: Final = re.compile(r"(?:\s*\((?:[^()]|\([^()]*\))*\))+$")
"""Remarks in brackets at the end of an item ("Carrying case (1)")."""
_LEADER: Final = re.compile(r"(?:\t|\s{2,}|\s?\.{3,})\s*\d+$")
"""The page number at the end of a line of contents."""


def marked(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Runs of bullets or numbers under the lines that introduce them."""
    lines = model.lines
    start = 0
    while start < len(lines):
        if lines[start].kind not in {"bullet", "numbered"}:
            start += 1
            continue
        items, end = _run(lines, start)
        if 2 <= len(items) <= MOST_ITEMS:
            above = _introduction(lines, start)
            heading = stem_set(model.heading(max(start - 1, 0)))
            coverage = max(
                pool.coverage(stem_set(above), heading), UNDER_HEADING * pool.coverage(heading, model.stems)
            )
            introduction = (
                above
                if pool.roots(stem_set(above))
                else f"{model.heading(max(start - 1, 0))} {above}".strip()
            )
            if pool.quoted_in(introduction):
                coverage = max(coverage, QUOTED)
            yield Listing(
                page, heads(items), introduction, MARKED * coverage * pool.page_factor(page), "marked"
            )
        start = end


def _run(lines: tuple[Line, ...], start: int) -> tuple[list[str], int]:
    """Items from line `start` on; lines without a marker continue the item above if another item follows soon."""
    kind = lines[start].kind
    items: list[str] = []
    index = start
    while index < len(lines):
        line = lines[index]
        if line.kind == kind and _MARKER.match(line.text):
            items.append(_LEADER.sub("", _MARKER.sub("", line.text)).strip())
        elif items and _continues_item(lines, index, kind, items[-1]):
            items[-1] = f"{items[-1]} {line.text}"
        else:
            break
        index += 1
    return items, index


def _continues_item(lines: tuple[Line, ...], index: int, kind: str, item: str) -> bool:
    """Whether a line belongs to the item above: it runs on in small letters, or the next item is near."""
    line = lines[index]
    if line.kind != "text" or line.row is not None:
        return False
    if not line.text[0].isupper() or item[-1:] in ",-":
        return True
    following = lines[index + 1 : index + ITEM_REACH]
    nearest = next((other for other in following if other.kind != "text"), None)
    return nearest is not None and nearest.kind == kind


def _introduction(lines: tuple[Line, ...], start: int) -> str:
    """The line above the first item, with the one before it where that is the same sentence."""
    if not start or lines[start - 1].kind in {"bullet", "numbered"}:
        return ""
    line = lines[start - 1]
    before = lines[start - 2] if start > 1 else None
    same = (
        before is not None and before.kind == "text" and before.text[-1] not in ".:?!" and line.kind == "text"
    )
    return f"{before.text} {line.text}" if before is not None and same else line.text


def plain(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Short lines without any mark under a heading that covers the question."""
    lines = model.lines
    for line in lines:
        coverage = _heading_coverage(pool, model, line)
        if coverage < LEAST_PLAIN:
            continue
        start = _first_item(model, line.index + 1)
        items = _short_items(pool, model, start)
        if 2 <= len(items) <= MOST_PLAIN and (start == line.index + 1 or len(items) >= LEAST_BEHIND_TEXT):
            names = tuple(item.split(", ")[0] for item in items) if _asks_names(pool) else tuple(items)
            score = PLAIN * coverage * pool.page_factor(page)
            score *= 1.0 if start == line.index + 1 else BEHIND_TEXT
            yield Listing(page, names, line.text, score, "plain")


def _first_item(model: PageModel, start: int) -> int:
    """The line on which items can begin: right below a heading, or behind a few lines of text."""
    for index in range(start, min(start + 1 + MOST_TEXT_LINES, len(model.lines))):
        if _is_short_item(model.lines[index]):
            return index
        if model.lines[index].kind != "text" or "\t" in model.lines[index].text:
            break
    return start


def _asks_names(pool: Pool) -> bool:
    """Whether persons are asked for: then what follows a comma is their post or place."""
    return pool.query.kind is Kind.PERSON or "name" in pool.query.terms


def _heading_coverage(pool: Pool, model: PageModel, line: Line) -> float:
    """How well a line heads what is asked for; one that only names it takes the rest from its page."""
    if (
        line.kind not in {"heading", "text"}
        or len(line.text.split()) > SHORT_ITEM
        or not pool.roots(line.stems)
    ):
        return 0.0
    unsaid = ITEM_WORDS & set(pool.focus)
    if unsaid:
        unsaid |= {root for root, weight in pool.weights.items() if weight < 1.0}
    if line.stems and pool.knows_all(line.stems):
        return pool.coverage_without(unsaid, line.stems, model.stems)
    return pool.coverage_without(unsaid, line.stems)


def _short_items(pool: Pool, model: PageModel, start: int) -> list[str]:
    """Short lines from line `start` on; a line that runs on in small letters is no item but the start of a text."""
    items: list[str] = []
    for line in model.lines[start:]:
        if line.text[0].islower() and items:
            items.pop()
            break
        if not _is_short_item(line) or (pool.query.wanted and len(items) == pool.query.wanted):
            break
        if len(items) > 1 and ", " not in line.text and all(", " in item for item in items):
            break
        items.append(_BRACKETED_END.sub("", line.text).strip() or line.text)
    return items


def questions(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Lines that are questions, where questions are asked for."""
    if not set(pool.focus) & QUESTIONS:
        return
    lines = (line.text.split("\t")[0] for line in model.lines)
    items = tuple(dict.fromkeys(text for text in lines if text.endswith("?") and len(text.split()) > 2))
    if len(items) > 1:
        score = QUESTION_LIST + 0.4 * pool.coverage(model.stems) * pool.page_factor(page)
        yield Listing(page, items, model.lines[0].text, score, "questions")


def _is_short_item(line: Line) -> bool:
    text = _BRACKETED_END.sub("", line.text).strip()
    return (
        line.kind in {"heading", "text"}
        and 0 < len(text.split()) <= SHORT_ITEM
        and text[0].isupper()
        and line.text[-1] not in ".:,;"
        and "\t" not in line.text
    )


def named(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Heads of paragraphs that start with a name and a colon or dash, under one heading."""
    by_heading: dict[int, list[str]] = {}
    for sentence in model.sentences:
        match = HEAD.match(sentence.text)
        if (
            match
            and match[0].rstrip()[-1] in ":–—-"
            and len(match[1].split()) <= SHORT_ITEM
            and match[1][0].isupper()
        ):
            by_heading.setdefault(model.headings[sentence.line], []).append(match[1])
    for heading, items in by_heading.items():
        text = model.lines[heading].text if heading >= 0 else ""
        coverage = pool.coverage(stem_set(text))
        if 2 <= len(items) <= MOST_PLAIN and coverage >= LEAST_COVERAGE:
            yield Listing(page, tuple(items), text, PLAIN * coverage * pool.page_factor(page), "named")
