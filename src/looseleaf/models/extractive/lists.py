"""Answers that are lists: bullets under a line, items of a sentence, subsections, labels of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.page import Line, PageModel, Sentence
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.table import read_tables
from looseleaf.models.extractive.words import stem, stem_set

__all__ = ["Listing", "list_candidates", "listings", "written_list"]

LEAST_COVERAGE: Final = 0.3
MOST_ITEMS: Final = 40
RIGHT_LENGTH: Final = 1.25
WRONG_LENGTH: Final = 0.5
PLAIN: Final = 0.9
LEAST_PLAIN: Final = 0.45
MOST_PLAIN: Final = 15
SHORT_ITEM: Final = 8
QUESTIONS: Final = frozenset([stem("question"), stem("questions")])
UNDER_HEADING: Final = 0.9
QUESTION_LIST: Final = 0.5
NUMERIC: Final = frozenset({Kind.COUNT, Kind.NUMBER, Kind.PERCENT, Kind.MONEY})
INLINE: Final = 0.85
"""Factor for items inside a sentence, which are easily clauses."""
NO_FOCUS: Final = 0.75
LONGEST_ITEM: Final = 14
"""Words of an item of a running sentence; a longer one is a clause."""

_MARKER: Final = re.compile(
    r"^\s*(?:[•●▪■◦‣▶►○◆❖✓✔➢§·\ue000-\uf8ff]|[-–*]\s|o\s|\(?\d{1,2}[.)]|\(?[a-z][.)]|step\s+\d+[:.]?|\d{1,2}\s)\s*",
    re.I,
)
_LEADER: Final = re.compile(r"(?:\t|\s{2,}|\s?\.{3,})\s*\d+$")
"""The page number at the end of a line of contents."""
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
    if pool.query.ordinal and not pool.query.form.listed:
        yield from _nth(pool)
    if not pool.query.form.listed or pool.query.kind in NUMERIC:
        return
    for listing in listings(pool):
        items = _ordered(pool, _asked_part(pool, listing.items))
        yield Candidate(
            written_list(items),
            listing.page,
            listing.evidence,
            listing.score,
            f"list:{listing.kind}",
            computed=True,
        )


def _nth(pool: Pool) -> Iterator[Candidate]:
    """The item at the place in a list that the question names."""
    for listing in listings(pool)[:6]:
        place = pool.query.ordinal
        if listing.kind != "inline" and -1 <= place <= len(listing.items):
            text = listing.items[place - 1 if place > 0 else -1]
            evidence = f"{listing.introduction.rstrip(':')}, item {place}: {text}"
            yield Candidate(text, listing.page, evidence, listing.score, f"nth:{listing.kind}", computed=True)


def written_list(items: Sequence[str]) -> str:
    """Items as the list literal that benchmark scorers parse."""
    return str([item.strip() for item in items])


def _asked_part(pool: Pool, items: tuple[str, ...]) -> tuple[str, ...]:
    """The last items where the question asks for those, else all."""
    return items[-pool.query.wanted :] if pool.query.from_end and pool.query.wanted else items


def _ordered(pool: Pool, items: tuple[str, ...]) -> list[str]:
    order = pool.query.form.order
    return sorted(items, key=str.lower, reverse=order == "descending") if order else list(items)


def listings(pool: Pool) -> list[Listing]:
    """All listings that cover the question well enough, best first."""
    found: list[Listing] = []
    for page, model in pool.pages():
        found += _marked(pool, page, model)
        found += _subsections(pool, page, model)
        found += _plain(pool, page, model)
        found += _named(pool, page, model)
        found += _questions(pool, page, model)
        found += [listing for sentence in model.sentences for listing in _inline(pool, page, model, sentence)]
    for passage in pool.passages:
        found += _labels(pool, passage.page, passage.text)
    suited = [
        msgspec.structs.replace(
            listing, score=listing.score * _length_factor(pool, listing) * _focus_factor(pool, listing)
        )
        for listing in found
    ]
    return sorted(
        (listing for listing in suited if listing.score >= LEAST_COVERAGE), key=lambda one: -one.score
    )


def _length_factor(pool: Pool, listing: Listing) -> float:
    if not pool.query.wanted or (pool.query.from_end and len(listing.items) >= pool.query.wanted):
        return 1.0
    return RIGHT_LENGTH if len(listing.items) == pool.query.wanted else WRONG_LENGTH


def _focus_factor(pool: Pool, listing: Listing) -> float:
    """Less than 1 where the introduction does not name the kind of thing asked for."""
    return 1.0 if set(pool.focus) & stem_set(listing.introduction) or not pool.focus else NO_FOCUS


def _marked(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
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
            yield Listing(page, _heads(items), introduction, coverage * pool.page_factor(page), "marked")
        start = end


def _run(lines: tuple[Line, ...], start: int) -> tuple[list[str], int]:
    """Items from line `start` on; a line without a marker that starts small continues the item above."""
    kind = lines[start].kind
    items: list[str] = []
    index = start
    while index < len(lines):
        line = lines[index]
        if line.kind == kind and _MARKER.match(line.text):
            items.append(_LEADER.sub("", _MARKER.sub("", line.text)).strip())
        elif (
            items
            and line.kind == "text"
            and line.row is None
            and (not line.text[0].isupper() or items[-1][-1:] in ",-")
        ):
            items[-1] = f"{items[-1]} {line.text}"
        else:
            break
        index += 1
    return items, index


_HEAD: Final = re.compile(r"^(.{2,60}?)(?:\s+\(|:\s|\s[–—-]\s|\.\s)")
HEAD_SHARE: Final = 0.7
LONGEST_HEAD: Final = 8


def _heads(items: list[str]) -> tuple[str, ...]:
    """What each item names, without its explanation, where most items have one ("Name: …", "Name (…)")."""
    matches = [_HEAD.match(item) for item in items]
    heads = [match[1] if match and len(match[1].split()) <= LONGEST_HEAD else None for match in matches]
    if sum(head is not None for head in heads) < HEAD_SHARE * len(items):
        return tuple(items)
    return tuple(head or item for head, item in zip(heads, items, strict=True))


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


def _plain(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Short lines without any mark under a heading that covers the question."""
    lines = model.lines
    for line in lines:
        coverage = (
            pool.coverage(line.stems)
            if line.kind in {"heading", "text"} and len(line.text.split()) <= SHORT_ITEM
            else 0.0
        )
        if coverage < LEAST_PLAIN:
            continue
        items: list[str] = []
        for below in lines[line.index + 1 :]:
            if not _is_short_item(below) or (pool.query.wanted and len(items) == pool.query.wanted):
                break
            items.append(below.text)
        if 2 <= len(items) <= MOST_PLAIN:
            yield Listing(page, tuple(items), line.text, PLAIN * coverage * pool.page_factor(page), "plain")


def _questions(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Lines that are questions, where questions are asked for."""
    if not set(pool.focus) & QUESTIONS:
        return
    lines = (line.text.split("\t")[0] for line in model.lines)
    items = tuple(dict.fromkeys(text for text in lines if text.endswith("?") and len(text.split()) > 2))
    if len(items) > 1:
        score = QUESTION_LIST + 0.4 * pool.coverage(model.stems) * pool.page_factor(page)
        yield Listing(page, items, model.lines[0].text, score, "questions")


def _is_short_item(line: Line) -> bool:
    words = line.text.split()
    return (
        line.kind in {"heading", "text"}
        and len(words) <= SHORT_ITEM
        and line.text[0].isupper()
        and line.text[-1] not in ".:,;"
        and "\t" not in line.text
    )


def _named(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Heads of paragraphs that start with a name and a colon or dash, under one heading."""
    by_heading: dict[int, list[str]] = {}
    for sentence in model.sentences:
        match = _HEAD.match(sentence.text)
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


def _subsections(pool: Pool, page: int, model: PageModel) -> Iterator[Listing]:
    """Headings one level below a heading that the question names."""
    numbered = [
        (line, match)
        for line in model.lines
        if line.row is None and (match := _NUMBERING.match(line.text)) is not None
    ]
    for position, (line, match) in enumerate(numbered):
        coverage = pool.coverage(line.stems)
        if coverage < LEAST_COVERAGE or not pool.roots(line.stems):
            continue
        below = _children(match[1].rstrip("."), numbered[position + 1 :])
        if len(below) >= 2:
            yield Listing(page, tuple(below), line.text, coverage * pool.page_factor(page), "subsections")


_NUMBERING: Final = re.compile(r"^((?:\d{1,2}|[A-Z]|[IVX]+)(?:\.\d{1,2})*\.?)\s+(?=[A-Z])")
_ROMAN: Final = re.compile(r"[IVX]+")


def _children(number: str, after: Sequence[tuple[Line, re.Match[str]]]) -> list[str]:
    """Headings that are numbered below `number` ("3.1" under "3", "A" under "IV"), up to the next of its kind."""
    found = []
    for line, match in after:
        other = match[1].rstrip(".")
        if other.startswith(number + ".") and other.count(".") == number.count(".") + 1:
            found.append(line.text[match.end() :].strip())
        elif _ROMAN.fullmatch(number) and other == chr(ord("A") + len(found)):
            found.append(line.text[match.end() :].strip())
        elif not other.startswith(number + "."):
            break
    return found


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
