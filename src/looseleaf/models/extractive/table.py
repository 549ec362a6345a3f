"""`Table`: rows and columns read off the lines of a page.

Where the text parts cells by tabs, they are the cells. Text from elsewhere gives a row as one line whose cells are
parted by single spaces: such a line is split where the kind of token changes (words, numbers, codes, units) and
where a capital letter follows a small one. Either way a block of lines is a table only if its lines have equally
many cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from looseleaf.models.extractive.cells import (
    CURRENCY,
    YEAR,
    is_code,
    is_tabbed,
    is_value,
    split_cells,
    value_columns,
)
from looseleaf.models.extractive.header import LONGEST_LINE, find_header
from looseleaf.models.extractive.line import Line
from looseleaf.models.extractive.number import Number, parse_number
from looseleaf.models.extractive.page import read_page
from looseleaf.models.extractive.series import Series, read_series
from looseleaf.models.extractive.words import stem_set

__all__ = ["Table", "TableRow", "read_tables"]

LEAST_ROWS: Final = 2
MOST_COLUMNS: Final = 12
LONGEST_LABEL: Final = 14
"""Words of a label; a longer first cell is a sentence."""
PROSE_WORDS: Final = 12
LEAST_RAGGED: Final = 4
"""Columns from which on a row may lack its last cell."""
TITLE_REACH: Final = 14
"""Lines above a table that say what it is about."""
INTERRUPTION: Final = 2
"""Lines from the last row of a table to the first row of its continuation behind a line that is no row."""
CAPTION_REACH: Final = 3
HEADING_REACH: Final = 12
LONGEST_TITLE: Final = 60
_CITATION: Final = re.compile(r"(?<=\w) ?\([^()]*\b(?:19|20)\d\d[a-z]?\)$")
"""A citation behind a label ("Codex (Chen et al., 2021)"): it names the label's source, not the label."""
_DASHED: Final = re.compile(r"^[-–•]\s+(?=\w)")
"""The dash or bullet before the label of a row that belongs to a group."""
_FOOTNOTE: Final = re.compile(r"^\(\w\)$")


class TableRow(msgspec.Struct, frozen=True):
    """One row: its cells (the first is the label), their numbers and stems, and the line that it stands on."""

    cells: tuple[str, ...]
    numbers: tuple[Number | None, ...]
    stems: tuple[frozenset[str], ...]
    line: int

    @property
    def label(self) -> str:
        """The first cell."""
        return self.cells[0]


class Table(msgspec.Struct, frozen=True):
    """A block of rows under one header.

    Attributes:
        header: one text a column, the label column included.
        rows: the rows, in order.
        caption: the caption or heading nearest to it, or empty.
        stems: stems of header, caption and the lines above.
        title: stems of the caption.
        chart: whether it was read off a chart.
    """

    header: tuple[str, ...]
    rows: tuple[TableRow, ...]
    caption: str
    stems: frozenset[str]
    title: frozenset[str] = frozenset()
    chart: bool = False


@lru_cache(maxsize=1024)
def read_tables(text: str) -> tuple[Table, ...]:
    """The tables of a page; depends on the text only."""
    lines = read_page(text).lines
    tables: list[Table] = []
    start = 0
    while start < len(lines):
        block = _block(lines, start)
        if len(block) >= LEAST_ROWS:
            tables.append(_table(lines, block, tables[-1] if tables else None))
        start = block[-1].line + 1 if len(block) >= LEAST_ROWS else start + 1
    return (*tables, *(_chart(lines, series) for series in read_series(lines)))


def _chart(lines: tuple[Line, ...], series: Series) -> Table:
    """A chart's series as a table of two columns."""
    caption = _caption(lines, series.line, series.end)
    around = lines[max(0, series.line - 2) : series.line] + lines[series.end + 1 : series.end + 5]
    near = " ".join(line.text for line in around if len(line.text) < LONGEST_TITLE)
    pairs = zip(series.labels, series.values, strict=True)
    rows = tuple(_table_row((label, value), series.line) for label, value in pairs)
    return Table(("", ""), rows, caption, stem_set(f"{caption} {near}"), stem_set(caption), chart=True)


def _table_row(cells: Sequence[str], line: int) -> TableRow:
    cells = (_DASHED.sub("", cells[0]), *cells[1:])
    numbers = tuple(parse_number(cell) for cell in cells)
    return TableRow(tuple(cells), numbers, tuple(stem_set(_CITATION.sub("", cell)) for cell in cells), line)


def _block(lines: tuple[Line, ...], start: int) -> list[TableRow]:
    """Rows from line `start` on that have equally many cells, with tabs between them or values in the same columns."""
    rows: list[TableRow] = []
    for line in lines[start:]:
        cells = _row_cells(line)
        if cells is None and rows and _continues_cell(line, rows[-1]):
            rows[-1] = _table_row((rows[-1].cells[0], f"{rows[-1].cells[1]} {line.text}"), rows[-1].line)
            continue
        if cells is not None and rows:
            cells = _fit(cells, rows[0].cells)
        if cells is None or all(map(YEAR.fullmatch, cells)) or not (is_tabbed(line) or _agree(cells, rows)):
            break
        rows.append(_table_row(cells, line.index))
    return rows


def _agree(cells: list[str], rows: list[TableRow]) -> bool:
    """Whether the cells have a value, in a column where the first row has one."""
    return bool(value_columns(cells) and (not rows or value_columns(cells) & value_columns(rows[0].cells)))


def _continues_cell(line: Line, row: TableRow) -> bool:
    """Whether a line goes on with the second of two cells."""
    return len(row.cells) == 2 and line.text[0].islower() and not row.numbers[1] and not is_tabbed(line)


def _row_cells(line: Line) -> list[str] | None:
    """Cells of a line that can be a row, or `None` for captions and prose."""
    if line.kind == "caption" or len(line.text) > LONGEST_LINE:
        return None
    cells = split_cells(line.text)
    if not 2 <= len(cells) <= MOST_COLUMNS or len(cells[0].split()) > LONGEST_LABEL:
        return None
    return None if not is_tabbed(line) and (line.tabbed_page or _is_prose(cells)) else cells


def _is_prose(cells: list[str]) -> bool:
    """Whether the line reads as a sentence that happens to hold numbers."""
    words = sum(len(cell.split()) for cell in cells)
    values = sum(is_value(cell.split()[0]) for cell in cells)
    if cells[-1][-1] in ".,;" and words > 4 and not is_value(cells[-1]):
        return True
    return words > PROSE_WORDS and words > 4 * values and not is_code(cells[0])


def _fit(cells: list[str], first: tuple[str, ...]) -> list[str] | None:
    """The cells as many as those of the first row, or `None`.

    Footnote marks go; two words before the first value are one label; a wide row of words may lack its last cell.
    """
    columns = len(first)
    if len(cells) == columns:
        return cells
    if len(cells) == columns + 1 and _FOOTNOTE.match(cells[1]):
        return [cells[0], *cells[2:]]
    if len(cells) == columns + 1 and columns > 2 and not value_columns(cells[:2]):
        return [f"{cells[0]} {cells[1]}", *cells[2:]]
    if len(cells) == columns - 1 and columns >= LEAST_RAGGED and not value_columns((*cells[1:], *first[1:])):
        return [*cells, "—"]
    return None


def _table(lines: tuple[Line, ...], rows: list[TableRow], before: Table | None) -> Table:
    header = _header(lines, rows)
    rows, header = _split_labels(rows, header)
    goes_on = (
        before is not None and before.header == header and rows[0].line - before.rows[-1].line <= INTERRUPTION
    )
    caption = (
        before.caption if before is not None and goes_on else _caption(lines, rows[0].line - 1, rows[-1].line)
    )
    words = " ".join((*header, caption, *_above(lines, rows[0].line)))
    return Table(header, tuple(rows), caption, stem_set(words), stem_set(caption))


def _header(lines: tuple[Line, ...], rows: list[TableRow]) -> tuple[str, ...]:
    """Texts of the columns: a first row without figures, else lines near the rows."""
    worded = not any(_has_values(row) for row in rows)
    if len(rows) > LEAST_ROWS and not worded and not _has_values(rows[0]):
        return rows.pop(0).cells
    header = find_header(lines, rows[0].line, rows[-1].line, len(rows[0].cells), worded=worded)
    if not any(header) and worded and len(rows) > LEAST_ROWS:
        return rows.pop(0).cells
    return header


def _has_values(row: TableRow) -> bool:
    """Whether a cell after the label starts with a figure other than a year, or with a longer code."""
    firsts = [word for cell in row.cells[1:] for word in cell.split()[:2] if word not in CURRENCY]
    return any(
        is_value(word) and not YEAR.fullmatch(word) and (len(word) > 2 or not is_code(word))
        for word in firsts
    )


def _split_labels(rows: list[TableRow], header: tuple[str, ...]) -> tuple[list[TableRow], tuple[str, ...]]:
    """With one header text more than cells, two-word labels are two columns; otherwise the header is trimmed."""
    columns = len(rows[0].cells)
    if len(header) <= columns:
        return rows, header
    if not all(len(row.cells[0].split()) == 2 for row in rows):
        return rows, (" ".join(header[:2]), *header[2:])
    split = [_table_row((*row.cells[0].split(), *row.cells[1:]), row.line) for row in rows]
    return split, header


def _above(lines: tuple[Line, ...], first: int) -> list[str]:
    """The lines right above a table that are no rows: title, unit, header lines that did not fit."""
    above: list[str] = []
    for line in reversed(lines[max(0, first - TITLE_REACH) : first]):
        if line.row is not None and any(line.row.numbers):
            break
        above.append(line.text)
    return above


def _caption(lines: tuple[Line, ...], first: int, last: int) -> str:
    """The nearest caption above or below, else the nearest heading above."""
    near = [
        *reversed(lines[max(0, first - CAPTION_REACH) : first + 1]),
        *lines[last + 1 : last + 1 + CAPTION_REACH],
    ]
    captions = [line.text for line in near if line.kind == "caption"]
    headings = [
        line.text for line in reversed(lines[max(0, first - HEADING_REACH) : first]) if line.kind == "heading"
    ]
    return (captions or headings or [""])[0]
