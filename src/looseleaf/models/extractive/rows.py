"""Answers from table rows: the row whose label fits the question, in the column that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.number import Number
from looseleaf.models.extractive.page import Line, PageModel, Row
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.query import Kind
from looseleaf.models.extractive.words import stem_set

__all__ = ["Hit", "column_headers", "row_candidates", "row_hits"]

HEADER_REACH: Final = 45
"""Lines above a row in which its column headers are looked for."""
NUMERIC: Final = frozenset({Kind.COUNT, Kind.NUMBER, Kind.PERCENT, Kind.MONEY, Kind.TEXT, Kind.IDENTIFIER})
_YEAR: Final = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d,]|\.\d)")


class Hit(msgspec.Struct, frozen=True):
    """A cell that fits: its row, its column header, its number and how well both fit."""

    page: int
    label: str
    header: str
    text: str
    number: Number | None
    score: float

    @property
    def evidence(self) -> str:
        """The cell in words."""
        return f"{self.label}, {self.header}: {self.text}" if self.header else f"{self.label}: {self.text}"


def row_candidates(pool: Pool) -> Iterator[Candidate]:
    """One candidate for each row that fits the question."""
    if pool.query.kind not in NUMERIC:
        return
    for hit in row_hits(pool):
        if hit.number is not None and not (pool.query.kind is Kind.PERCENT and abs(hit.number.value) > 1000):
            yield Candidate(hit.text, hit.page, hit.evidence, hit.score, "row")


def row_hits(pool: Pool, least: float = 0.3) -> list[Hit]:
    """The best cell of each row whose label shares a term with the question."""
    hits = []
    for page, model in pool.pages():
        for line in model.lines:
            if line.row is None or not any(line.row.numbers):
                continue
            hit = _hit(pool, page, model, line, line.row)
            if hit is not None and hit.score >= least:
                hits.append(hit)
    return hits


def _hit(pool: Pool, page: int, model: PageModel, line: Line, row: Row) -> Hit | None:
    label = stem_set(row.label)
    matched = label & pool.weights.keys()
    if not matched:
        return None
    headers = column_headers(model, line.index, len(row.cells))
    column, fit = _column(pool, row, headers)
    if column is None:
        return None
    context = stem_set(model.heading(line.index)) | stem_set(headers[column]) | _group(model, line.index)
    precision = len(matched) / len(label)
    score = pool.coverage(label, context) * (0.55 + 0.45 * precision) * fit
    return Hit(page, row.label, headers[column], row.cells[column], row.numbers[column], score)


def _group(model: PageModel, index: int) -> frozenset[str]:
    """Stems of the nearest line above without cells: the group that the row belongs to."""
    for line in reversed(model.lines[max(0, index - 8) : index]):
        if line.row is None:
            return line.stems
    return frozenset()


def _column(pool: Pool, row: Row, headers: list[str]) -> tuple[int | None, float]:
    """The column that the question names (or the first with a number), and how sure that is."""
    filled = [i for i, number in enumerate(row.numbers) if number is not None]
    if not filled:
        return None, 0.0
    years = {str(year) for year in pool.query.years}
    by_year = [i for i in filled if years & set(_YEAR.findall(headers[i]))]
    by_terms = sorted(filled, key=lambda i: -pool.coverage(stem_set(headers[i])))
    if by_year:
        return max(by_year, key=lambda i: pool.coverage(stem_set(headers[i]))), 1.15
    if pool.coverage(stem_set(headers[by_terms[0]])) > 0:
        return by_terms[0], 1.1
    return filled[0], 0.9 if len(filled) > 1 else 1.0


def column_headers(model: PageModel, index: int, count: int) -> list[str]:
    """Header of each of `count` columns for the row on line `index`; empty where none is found."""
    years: list[str] = []
    for line in reversed(model.lines[max(0, index - HEADER_REACH) : index]):
        words = _header_words(line, count)
        if words is not None:
            return words
        found = _YEAR.findall(line.text)
        if found and len(line.text) < 60:
            years = found + years
            if len(years) == count:
                return years
            if len(years) > count:
                years = []
    return [""] * count


def _header_words(line: Line, count: int) -> list[str] | None:
    """The line's own parts, if there is one for each column (and perhaps one for the labels)."""
    years = _YEAR.findall(line.text)
    if len(years) == count and len(line.text) < 120:
        return years
    if count < 2 or line.text[-1] in ".:;," or line.kind in {"bullet", "numbered", "caption"}:
        return None
    if line.row is not None and any(line.row.numbers):
        return None
    parts = [part for part in re.split(r"\t+| {2,}", line.text) if part.strip()]
    if len(parts) in {count, count + 1} and len(parts) > 1:
        return parts[-count:]
    words = line.text.split()
    if count <= len(words) <= count + 3 and all(word[0].isupper() or not word[0].isalpha() for word in words):
        return words[-count:]
    return None
