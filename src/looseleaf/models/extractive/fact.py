"""`Fact`: one number with what it is about, wherever on a page it was printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

import msgspec

from looseleaf.models.extractive.header import column_years
from looseleaf.models.extractive.number import Number, find_numbers, is_reference, parse_number
from looseleaf.models.extractive.page import PageModel, read_page
from looseleaf.models.extractive.span import nearby
from looseleaf.models.extractive.table import Table, read_tables
from looseleaf.models.extractive.words import stem_set

__all__ = ["Fact", "page_facts", "stated_scale"]

_YEAR: Final = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?!\d|,\d{3}|\.\d)")
_SCALE: Final = re.compile(
    r"\bin (?:u\.?s\.? )?(?:dollars |usd |eur )?(thousand|million|billion)s?\b"
    r"|\b(?:usd|eur|gbp|\$) (million|billion|thousand)s?\b",
    re.IGNORECASE,
)
_FACTORS: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
UNIT_WORDS: Final = 5
"""Words after a number that can say what it counts."""
GROUP_REACH: Final = 8
"""Lines above a row in which the name of its group of rows is looked for."""


class Fact(msgspec.Struct, frozen=True):
    """A number and what it is about.

    Attributes:
        label: the row label, or the sentence.
        column: the column header, or empty.
        year: the year that the column or sentence gives it, if any.
        number: the number.
        text: the cell.
        stems: stems of label and column.
        label_stems: stems of the label.
        context: stems of caption, heading and group.
        first: whether it is the first number of its row.
        scale: factor that the page states for its tables ("in millions"), 1 without one.
        line: line that it stands on.
        prose: whether the label is a whole sentence.
        unit: stems of the words that follow the number in a sentence.
    """

    label: str
    column: str
    year: int | None
    number: Number
    text: str
    stems: frozenset[str]
    label_stems: frozenset[str]
    context: frozenset[str]
    first: bool
    scale: float
    line: int
    prose: bool = False
    unit: frozenset[str] = frozenset()

    @property
    def unit_scale(self) -> float:
        """Factor from the printed number to the amount: its own scale word, else the page's; none for percentages."""
        if self.number.unit == "%":
            return 1.0
        return self.number.scale if self.number.scale != 1.0 else self.scale

    @property
    def amount(self) -> float:
        """The amount that the number stands for."""
        return self.number.value * self.unit_scale

    @property
    def evidence(self) -> str:
        """The fact in words."""
        if self.prose:
            return self.label
        return f"{self.label}, {self.column}: {self.text}" if self.column else f"{self.label}: {self.text}"


@lru_cache(maxsize=1024)
def page_facts(text: str) -> tuple[Fact, ...]:
    """The facts of a page; depends on the text only."""
    model = read_page(text)
    if model.contents:
        return ()
    scale = stated_scale(text)
    found: list[Fact] = []
    seen: set[int] = set()
    for table in read_tables(text):
        found += list(_from_table(model, table, scale))
        seen.update(row.line for row in table.rows)
    found += [fact for fact in _from_rows(model, scale) if fact.line not in seen]
    return (*found, *_from_sentences(model), *_from_statements(model))


def _from_statements(model: PageModel) -> Iterator[Fact]:
    """Facts written as "label, column: number", one or more to a line, parted by semicolons."""
    for line in model.lines:
        if ": " not in line.text:
            continue
        for piece in line.text.split(";"):
            key, _, cell = piece.rpartition(": ")
            number = parse_number(cell)
            if key and number is not None and not is_caption(key):
                yield from _stated(key.strip(), cell.strip(), number, line.index)


def _stated(key: str, cell: str, number: Number, line: int) -> Iterator[Fact]:
    """The fact of one statement; a year may stand after a comma of its own ("…, November 27, 2015")."""
    label, comma, column = key.rpartition(", ")
    if comma and _YEAR.fullmatch(column) and ", " in label:
        label, _, day = label.rpartition(", ")
        column = f"{day}, {column}"
    if not comma:
        label, column = key, ""
    stems = stem_set(label)
    if stems:
        year = _year(column) or _year(label)
        yield Fact(
            label, column, year, number, cell, stems | stem_set(column), stems, frozenset(), True, 1.0, line
        )


def is_caption(text: str) -> bool:
    """Whether a label is that of a figure or table, whose number is no fact."""
    return bool(re.match(r"\s*(?:fig|table|page|section|chapter|note)\w*\.?\s*\d*$", text, re.IGNORECASE))


def stated_scale(text: str) -> float:
    """Factor of the first "in millions" and the like on a page."""
    match = _SCALE.search(text)
    return _FACTORS[(match[1] or match[2]).lower()] if match else 1.0


def _from_table(model: PageModel, table: Table, scale: float) -> Iterator[Fact]:
    years = column_years(model.lines, table.rows[0].line, len(table.header) - 1)
    for row in table.rows:
        context = table.stems | _group(model, row.line)
        first = True
        for i, number in enumerate(row.numbers[1:], start=1):
            if number is None:
                continue
            header = table.header[i]
            year = _year(header) or _year(years[i - 1]) or _year(row.label)
            column = header if not year or _year(header) or header else str(year)
            yield Fact(
                row.label,
                column,
                year,
                number,
                row.cells[i],
                row.stems[0] | stem_set(column),
                row.stems[0],
                context,
                first,
                scale,
                row.line,
            )
            first = False


def _from_rows(model: PageModel, scale: float) -> Iterator[Fact]:
    """Facts of single lines that end in numbers."""
    for line in model.lines:
        if line.row is None or not any(line.row.numbers) or line.kind == "caption":
            continue
        if all(map(_YEAR.fullmatch, (line.row.label, *line.row.cells))):
            continue
        years = column_years(model.lines, line.index, len(line.row.cells))
        label = stem_set(line.row.label)
        context = stem_set(model.heading(line.index)) | _group(model, line.index)
        for i, number in enumerate(line.row.numbers):
            if number is not None and label:
                yield Fact(
                    line.row.label,
                    years[i],
                    _year(years[i]),
                    number,
                    line.row.cells[i],
                    label | stem_set(years[i]),
                    label,
                    context,
                    i == 0,
                    scale,
                    line.index,
                )


def _group(model: PageModel, index: int) -> frozenset[str]:
    """Stems of the nearest line above without cells: the group that the row belongs to."""
    for line in reversed(model.lines[max(0, index - GROUP_REACH) : index]):
        if line.row is None:
            return line.stems
    return frozenset()


def _year(text: str) -> int | None:
    match = _YEAR.search(text)
    return int(match[0]) if match else None


def _from_sentences(model: PageModel) -> Iterator[Fact]:
    """Numbers that a sentence lists side by side with as many years ("$2.4 and $3.0 billion in 2016 and 2017")."""
    for sentence in model.sentences:
        years = list(_YEAR.finditer(sentence.text))
        if not years or not sentence.whole:
            continue
        values = [n for n in find_numbers(sentence.text) if not is_reference(sentence.text, n)]
        for run in _runs(values, sentence.text):
            if len({year[0] for year in years}) == len(years) and (
                len(run) == len(years) or 1 < len(run) < len(years)
            ):
                near = stem_set(nearby(sentence.text, run[0].start, run[-1].end))
                chosen = years if len(run) == len(years) else years[: len(run)]
                for number, year in zip(run, chosen, strict=True):
                    yield Fact(
                        sentence.text,
                        "",
                        int(year[0]),
                        number,
                        number.text,
                        near,
                        near,
                        sentence.stems | stem_set(model.heading(sentence.line)),
                        number is run[0],
                        1.0,
                        sentence.line,
                        True,
                        stem_set(" ".join(sentence.text[run[-1].end :].split()[:UNIT_WORDS])),
                    )


def _runs(values: list[Number], text: str) -> list[list[Number]]:
    """Numbers that are listed one after the other, parted by commas or `and` only."""
    runs: list[list[Number]] = [[value] for value in values[:1]]
    for left, right in pairwise(values):
        between = text[left.end : right.start].strip(" ,").replace("and", "").strip()
        if between in {"", ","} and left.unit == right.unit:
            runs[-1].append(right)
        else:
            runs.append([right])
    return runs
