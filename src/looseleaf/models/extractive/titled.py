"""Titles of numbered things ("Unit 14: …") and texts of codes, which a question names by number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.line import Line
from looseleaf.models.extractive.page import PageModel
from looseleaf.models.extractive.pool import CAPTIONED, Pool
from looseleaf.models.extractive.words import roman

__all__ = ["titled_candidates"]

TITLE: Final = 0.85
TITLES: Final = 0.95
UNSURE_TITLES: Final = 0.8
"""Scores of several titles, and of titles that nothing parts from their numbers."""
CODE: Final = 0.55
FEW_TERMS: Final = 3
TITLE_WORDS: Final = frozenset(["titl", "topic", "name", "caption", "call", "subject"])

CHAPTERS: Final = frozenset(["chapter", "section", "part", "unit"])
CONTENTS_TITLE: Final = 0.75
_ENTRY: Final = re.compile(r"^(\d{1,2})\.?\s+(\S.*?)(?:\s*\.{3,}\s*|\t|\s{2,}|\s)(?:\d+|[ivx]+)$")

_LETTER: Final = re.compile(
    r"\b(?i:letter|labell?ed|marked|mark|position|number|component|part)(?i: as| with| by)? "
    r"[\"'‘“(]?([A-Z]|\d{1,2})\b(?!\.\d)"
)

_NUMBERED: Final = re.compile(r"\b(?:numbers?|no\.?|codes?|errors?|#) ?\d\b", re.IGNORECASE)


def titled_candidates(pool: Pool) -> Iterator[Candidate]:
    """Titles of numbered things and texts of codes that the question names."""
    titles = _asks_title(pool)
    codes = _codes(pool)
    letter = _LETTER.search(pool.query.text)
    for page, model in pool.pages():
        for line in model.lines:
            if titles:
                yield from _numbered_title(pool, page, model, line)
            if titles and model.contents:
                yield from _contents_title(pool, page, line)
            if letter is not None and ": " in line.text:
                yield from _lettered(pool, page, model, line, letter[1])
            if codes and "\t" in line.text:
                yield from _coded(pool, page, model, line, codes)
    if len(pool.query.labels) > 1 and pool.query.form.listed:
        yield from _titles(pool)


def _asks_title(pool: Pool) -> bool:
    """Whether the title of a numbered thing is asked for."""
    if not pool.query.labels or pool.query.kind in {Kind.COUNT, Kind.PERCENT, Kind.PAGE}:
        return False
    words = TITLE_WORDS & set(pool.query.terms)
    if words == {"name"} and all(name in CAPTIONED for name, _ in pool.query.labels):
        return False
    return bool(words) or len(pool.weights) <= FEW_TERMS


def _numbered_title(pool: Pool, page: int, model: PageModel, line: Line) -> Iterator[Candidate]:
    """The words after "Unit 14:" or "Figure 3." where the question asks about that one."""
    for label in pool.query.labels:
        found = _label_title(label, line)
        if found is not None and not found.endswith(":"):
            title = _with_next_line(model, line, found)
            score = (TITLE if ":" in line.text else TITLE - 0.05) * pool.page_factor(page)
            yield Candidate(title, page, line.text, score, "keyed:title", computed=True)


def _contents_title(pool: Pool, page: int, line: Line) -> Iterator[Candidate]:
    """The title behind a bare number in a table of contents ("5. Vector-borne diseases .... 129")."""
    match = _ENTRY.match(line.text)
    if match and any(name in CHAPTERS and number == int(match[1]) for name, number in pool.query.labels):
        score = CONTENTS_TITLE * pool.page_factor(page)
        yield Candidate(match[2], page, line.text, score, "keyed:contents", computed=True)


def _label_title(label: tuple[str, int], line: Line) -> str | None:
    """The title on a line that starts with the label ("Unit 14: …"), or `None`."""
    name, number = label
    match = re.match(
        rf"^{name[:3]}\w*\.?[\s-]*(\d+|[IVX]+)\s*[:.–—-]?\s+(?!&|and\b)(.+)$", line.text, re.IGNORECASE
    )
    if match is None or (int(match[1]) if match[1].isdigit() else roman(match[1])) != number:
        return None
    return match[2].strip()


def _titles(pool: Pool) -> Iterator[Candidate]:
    """The titles of several numbered things, as a list."""
    found: list[tuple[int, str, str]] = []
    sure = True
    for label in pool.query.labels:
        titles = [
            (_is_marked_off(line.text, title), -page, title, line.text)
            for page, model in pool.pages()
            for line in model.lines
            if (title := _label_title(label, line)) is not None and not title.endswith(":")
        ]
        if titles:
            best = max(titles)
            sure &= best[0]
            found.append((-best[1], best[2], best[3]))
    if len(found) > 1:
        evidence = "; ".join(line for _, _, line in found)
        parts = tuple(Passage(page, line) for page, _, line in found)
        text = str([title for _, title, _ in found])
        score = TITLES if sure else UNSURE_TITLES
        yield Candidate(text, found[0][0], evidence, score, "keyed:titles", computed=True, parts=parts)


def _is_marked_off(line: str, title: str) -> bool:
    """Whether a sign parts the number of a line from its title ("Unit 1: …")."""
    return line.removesuffix(title).rstrip()[-1:] in ":.–—-"


def _codes(pool: Pool) -> frozenset[str]:
    """Numbers and codes of the question that may stand first in a row."""
    numbers = {
        number for number in pool.query.numbers if len(number) > 1 or _NUMBERED.search(pool.query.text)
    }
    codes = {*numbers, *(name for name in pool.query.names if any(c.isdigit() for c in name))}
    return frozenset(codes - set(map(str, pool.query.pages)))


def _coded(pool: Pool, page: int, model: PageModel, line: Line, codes: frozenset[str]) -> Iterator[Candidate]:
    """The cell after a code or number that the question names ("88<tab>Boiler: over-temperature")."""
    first, _, rest = line.text.partition("\t")
    if not line.index or first.strip() not in codes:
        return
    value, *others = (cell.strip() for cell in rest.split("\t"))
    following = model.lines[line.index + 1] if line.index + 1 < len(model.lines) else None
    if (
        not any(others)
        and following is not None
        and following.text[0].islower()
        and "\t" not in following.text
    ):
        value = f"{value} {following.text}"
    score = (CODE + 0.3 * pool.coverage(model.stems)) * pool.page_factor(page)
    yield Candidate(value, page, f"{first.strip()}: {value}", score, "keyed:code", computed=True)


def _lettered(pool: Pool, page: int, model: PageModel, line: Line, letter: str) -> Iterator[Candidate]:
    """The words behind a letter or number in the legend of a drawing ("C: threaded impeller")."""
    for cell in line.text.split("\t"):
        mark, _, value = cell.partition(": ")
        if mark.strip() == letter and value:
            score = TITLE * pool.entity_factor(model.stems) * pool.page_factor(page)
            yield Candidate(value.strip(), page, cell, score, "keyed:letter", computed=True)


def _with_next_line(model: PageModel, line: Line, title: str) -> str:
    """The title with its continuation on the next line, if it seems cut."""
    following = model.lines[line.index + 1] if line.index + 1 < len(model.lines) else None
    if following is not None and following.text[0].islower() and title[-1] not in ".:":
        return f"{title} {following.text}"
    return title.strip(" .")
