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
from itertools import pairwise
from typing import Final

import msgspec

from looseleaf.models.extractive.number import Number, parse_number
from looseleaf.models.extractive.page import Line, read_page
from looseleaf.models.extractive.series import Series, read_series
from looseleaf.models.extractive.words import stem_set

__all__ = ["Table", "TableRow", "column_years", "read_tables", "split_cells"]

LEAST_ROWS: Final = 2
MOST_COLUMNS: Final = 12
LONGEST_LINE: Final = 160
LONGEST_LABEL: Final = 14
PROSE_WORDS: Final = 12
LONGEST_YEARS: Final = 60
SHORT_HEADER: Final = 90
"""A header line with tabs up to this length may hold several columns in a cell, told by their capitals."""
TITLE_REACH: Final = 14
"""Lines above a table that say what it is about."""
HEADER_LINES: Final = 7
HEADER_REACH: Final = 45
"""Lines above a row in which the years of its columns are looked for."""

_COLUMNS: Final = re.compile(r"\t+| {2,}")
_VALUE: Final = re.compile(r"^[($€£¥+\-−–~<>≤≥]*\d[\d.,:/]*\)?%?[)*†‡]*$")
_CODE: Final = re.compile(r"^(?=.*\d)[A-Z]+[A-Z0-9]*(?:-[A-Z0-9]+)*$")
_UNIT: Final = re.compile(
    r"^(?:[a-zµ°]{1,3}|°[CF]|[kMG]?(?:Hz|W|B|V|A)|%|MB|GB|mAh?|x|million|billion|years?|days?|hours?|MCs)$"
)
_YEAR: Final = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?!\d|,\d{3}|\.\d)")
_DATE: Final = re.compile(
    r"^(?:as of |at )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s", re.IGNORECASE
)
_SECTION: Final = re.compile(r"^\d+(?:\.\d+)+\.?\s")
_FOOTNOTE: Final = re.compile(r"^\(\w\)$")
_DASH: Final = re.compile(r"^[—–-]+%?$")
_CURRENCY: Final = frozenset("$€£¥")


class TableRow(msgspec.Struct, frozen=True):
    """One row: its cells (the first is the label), their numbers, and the line that it stands on."""

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
        stems: stems of header and caption.
        chart: whether it was read off a chart.
    """

    header: tuple[str, ...]
    rows: tuple[TableRow, ...]
    caption: str
    stems: frozenset[str]
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
            tables.append(_table(lines, block))
        start = block[-1].line + 1 if len(block) >= LEAST_ROWS else start + 1
    return (*tables, *(_chart(lines, series) for series in read_series(lines)))


def _chart(lines: tuple[Line, ...], series: Series) -> Table:
    """A chart's series as a table of two columns."""
    caption = _caption(lines, series.line, series.end)
    around = lines[max(0, series.line - 2) : series.line] + lines[series.end + 1 : series.end + 4]
    near = " ".join(line.text for line in around if len(line.text) < LONGEST_YEARS)
    pairs = zip(series.labels, series.values, strict=True)
    rows = tuple(_table_row((label, value), series.line) for label, value in pairs)
    return Table(("", ""), rows, caption, stem_set(f"{caption} {near}"), chart=True)


def _table_row(cells: Sequence[str], line: int) -> TableRow:
    return TableRow(
        tuple(cells), tuple(parse_number(c) for c in cells), tuple(stem_set(c) for c in cells), line
    )


def _block(lines: tuple[Line, ...], start: int) -> list[TableRow]:
    """Rows from line `start` on that have equally many cells, with tabs between them or values in the same columns."""
    rows: list[TableRow] = []
    for line in lines[start:]:
        cells = _row_cells(line)
        if cells is None and rows and _continues_cell(line, rows[-1]):
            rows[-1] = _table_row((rows[-1].cells[0], f"{rows[-1].cells[1]} {line.text}"), rows[-1].line)
            continue
        if cells is not None and rows:
            cells = _fit(cells, len(rows[0].cells))
        if cells is None or all(map(_YEAR.fullmatch, cells)) or not (_is_tabbed(line) or _agree(cells, rows)):
            break
        rows.append(_table_row(cells, line.index))
    return rows


def _is_tabbed(line: Line) -> bool:
    return "\t" in line.text


def _agree(cells: list[str], rows: list[TableRow]) -> bool:
    """Whether the cells have a value, in a column where the first row has one."""
    return bool(_values(cells) and (not rows or _values(cells) & _values(rows[0].cells)))


def _continues_cell(line: Line, row: TableRow) -> bool:
    """Whether a line goes on with the second of two cells."""
    return len(row.cells) == 2 and line.text[0].islower() and not row.numbers[1] and not _is_tabbed(line)


def _row_cells(line: Line) -> list[str] | None:
    """Cells of a line that can be a row, or `None` for captions and prose."""
    if line.kind == "caption" or len(line.text) > LONGEST_LINE:
        return None
    cells = split_cells(line.text)
    if not 2 <= len(cells) <= MOST_COLUMNS or len(cells[0].split()) > LONGEST_LABEL:
        return None
    return None if not _is_tabbed(line) and (line.tabbed_page or _is_prose(cells)) else cells


def _is_prose(cells: list[str]) -> bool:
    """Whether the line reads as a sentence that happens to hold numbers."""
    words = sum(len(cell.split()) for cell in cells)
    values = sum(_is_value(cell.split()[0]) for cell in cells)
    if cells[-1][-1] in ".,;" and words > 4 and not _is_value(cells[-1]):
        return True
    return words > PROSE_WORDS and words > 4 * values and not _CODE.match(cells[0])


def _values(cells: Sequence[str]) -> set[int]:
    """Columns that hold a number, a code or a dash."""
    return {i for i, cell in enumerate(cells) if _is_value(cell.split()[0]) or _is_value(cell.split()[-1])}


def _fit(cells: list[str], columns: int) -> list[str] | None:
    """The cells as `columns` cells: footnote marks go, and a first cell of several words may hold several."""
    if len(cells) == columns + 1 and _FOOTNOTE.match(cells[1]):
        return [cells[0], *cells[2:]]
    if len(cells) == columns:
        return cells
    if len(cells) == columns + 1 and columns > 2 and not (_values(cells[:2]) or parse_number(cells[0])):
        return [f"{cells[0]} {cells[1]}", *cells[2:]]
    return None


def _table(lines: tuple[Line, ...], rows: list[TableRow]) -> Table:
    header = _header(lines, rows)
    rows, header = _split_labels(rows, header)
    caption = _caption(lines, rows[0].line - 1, rows[-1].line)
    words = " ".join((*header, caption, *_above(lines, rows[0].line)))
    return Table(header, tuple(rows), caption, stem_set(words))


def _above(lines: tuple[Line, ...], first: int) -> list[str]:
    """The lines right above a table that are no rows: title, unit, header lines that did not fit."""
    above: list[str] = []
    for line in reversed(lines[max(0, first - TITLE_REACH) : first]):
        if line.row is not None and any(line.row.numbers):
            break
        above.append(line.text)
    return above


def _header(lines: tuple[Line, ...], rows: list[TableRow]) -> tuple[str, ...]:
    """Texts of the columns: a first row without figures, lines above or below the rows, or the years above."""
    columns = len(rows[0].cells)
    worded = not any(_has_values(row) for row in rows)
    if len(rows) > LEAST_ROWS and not worded and not _has_values(rows[0]):
        return rows.pop(0).cells
    first, last = rows[0].line, rows[-1].line
    reach = HEADER_REACH if _is_tabbed(lines[first]) and not worded else HEADER_LINES
    for index in range(first - 1, max(-1, first - 1 - reach), -1):
        cells = _header_cells(lines[index], columns, tabbed=lines[first].tabbed_page)
        if cells is not None:
            return _stacked(lines, index, cells)
    below = _header_cells(lines[last + 1], columns, tabbed=True) if last + 1 < len(lines) else None
    header = below or _fallback(lines, first, columns)
    if not any(header) and worded and len(rows) > LEAST_ROWS:
        return rows.pop(0).cells
    return header


def _fallback(lines: tuple[Line, ...], first: int, columns: int) -> tuple[str, ...]:
    """A header for rows that no line above or below fits: groups over columns, years, or the first few columns."""
    near = lines[max(0, first - HEADER_LINES) : first]
    spanning = _spanning(near, columns)
    if spanning is not None:
        return spanning
    years = ("", *column_years(lines, first, columns - 1))
    return years if any(years) else _partial(near, columns) or years


def _spanning(lines: tuple[Line, ...], columns: int) -> tuple[str, ...] | None:
    """A header of two lines whose first group spans all columns of the lower line ("A | B" over "1 | 2 | 3")."""
    tabbed = [
        split_cells(line.text)
        for line in lines
        if _is_tabbed(line) and not _has_figures(split_cells(line.text))
    ]
    for upper, lower in pairwise(tabbed):
        for groups in (upper, upper[1:]):
            if len(groups) > 1 and len(groups) - 1 + len(lower) == columns - 1:
                label = upper[0] if groups is not upper else ""
                return (label, *(f"{groups[0]} {cell}" for cell in lower), *groups[1:])
    return None


def _partial(lines: tuple[Line, ...], columns: int) -> tuple[str, ...] | None:
    """The first header line near the rows, for as many columns as it has cells."""
    for line in lines:
        cells = split_cells(line.text)
        if (
            _is_tabbed(line)
            and line.kind != "caption"
            and 2 <= len(cells) < columns
            and not _has_figures(cells)
        ):
            return (*cells, *[""] * (columns - len(cells)))
    return None


def _header_cells(line: Line, columns: int, *, tabbed: bool) -> tuple[str, ...] | None:
    """The cells of a header line for that many columns, or `None`; on pages with tabs a header has them too."""
    if line.kind in {"caption", "bullet"} or line.text[-1] in ".;?!" or len(line.text) > LONGEST_LINE:
        return None
    if (tabbed and not _is_tabbed(line)) or _SECTION.match(line.text):
        return None
    choices = [split_cells(line.text)] if tabbed and len(line.text) > SHORT_HEADER else []
    choices = choices or [split_cells(line.text), _capital_cells(line.text)]
    for cells in choices:
        if len(cells) == columns - 1 and columns > 2 and tabbed and not _has_figures(["", *cells]):
            return ("", *cells)
        if len(cells) in {columns, columns + 1} and columns > 1 and not _has_figures(cells):
            return tuple(cells)
    return None


def _stacked(lines: tuple[Line, ...], index: int, cells: tuple[str, ...]) -> tuple[str, ...]:
    """The header with the lines right above it that have as many cells ("April 30," over "2021")."""
    for line in reversed(lines[max(0, index - 2) : index]):
        above = _header_cells(line, len(cells), tabbed=True)
        if above is None or len(above) != len(cells) or bool(above[0]) != bool(cells[0]):
            break
        cells = tuple(f"{upper} {lower}".strip() for upper, lower in zip(above, cells, strict=True))
    return cells


def _has_values(row: TableRow) -> bool:
    """Whether a cell after the label holds a figure other than a year."""
    firsts = [word for cell in row.cells[1:] for word in cell.split()[:2] if word not in _CURRENCY]
    return any(
        (_VALUE.match(word) or (_CODE.match(word) and len(word) > 2)) and not _YEAR.fullmatch(word)
        for word in firsts
    )


def _has_figures(cells: Sequence[str]) -> bool:
    """Whether a cell is a number other than a year: such a line is a row, not a header."""
    return any(
        any(_VALUE.match(word) and not _YEAR.fullmatch(word) for word in cell.split())
        and not _DATE.match(cell)
        for cell in cells[1:]
    )


def _capital_cells(text: str) -> list[str]:
    """A header line split before every capital letter or number."""
    cells: list[list[str]] = []
    for word in text.split():
        if cells and not (word[0].isupper() or _is_value(word) or word[0] in "#%"):
            cells[-1].append(word)
        else:
            cells.append([word])
    return [" ".join(cell) for cell in cells]


def column_years(lines: tuple[Line, ...], index: int, count: int) -> list[str]:
    """The years that stand above a row, one a column; empty texts where their number does not fit."""
    years: list[str] = []
    for line in reversed(lines[max(0, index - HEADER_REACH) : index]):
        found = _YEAR.findall(line.text)
        if found and len(line.text) < LONGEST_YEARS:
            years = found + years
            if len(years) >= count:
                break
    return years if len(years) == count else [""] * count


def _split_labels(rows: list[TableRow], header: tuple[str, ...]) -> tuple[list[TableRow], tuple[str, ...]]:
    """With one header text more than cells, two-word labels are two columns; otherwise the header is trimmed."""
    columns = len(rows[0].cells)
    if len(header) <= columns:
        return rows, header
    if not all(len(row.cells[0].split()) == 2 for row in rows):
        return rows, (" ".join(header[:2]), *header[2:])
    split = [_table_row((*row.cells[0].split(), *row.cells[1:]), row.line) for row in rows]
    return split, header


def _caption(lines: tuple[Line, ...], first: int, last: int) -> str:
    """The nearest caption up to three lines above or below, else the nearest heading above."""
    near = [*reversed(lines[max(0, first - 4) : first]), *lines[last + 1 : last + 4]]
    captions = [line.text for line in near if line.kind == "caption"]
    headings = [line.text for line in reversed(lines[max(0, first - 12) : first]) if line.kind == "heading"]
    return (captions or headings or [""])[0]


def split_cells(text: str) -> list[str]:
    """Cells of one line."""
    parts = [part.strip() for part in _COLUMNS.split(text.strip()) if part.strip()]
    if "\t" in text:
        return parts
    if len(parts) > 1:
        return parts[:1] + [cell for part in parts[1:] for cell in _by_kind(part)]
    return _by_kind(text)


def _by_kind(text: str) -> list[str]:
    cells: list[list[str]] = []
    for word in text.split():
        if cells and not _starts_cell(cells[-1], word):
            cells[-1].append(word)
        else:
            cells.append([word])
    return [" ".join(cell) for cell in cells]


def _starts_cell(cell: list[str], word: str) -> bool:
    last = cell[-1]
    if last in _CURRENCY or last in {"(", "to", "of", "x", "±"}:
        return False
    value, after_value = _is_value(word), _is_value(last)
    if word in _CURRENCY:
        return True
    if value:
        return not (last in {"-", "–"} and len(cell) > 1)
    if after_value:
        return not _UNIT.match(word) and word not in {")", "to", "±"}
    if _UNIT.match(last) and any(_is_value(part) for part in cell[:-1]):
        return word != "to"
    return word[0].isupper() and not last[0].isupper() and len(last) > 1 and last.lower() not in _LINKS


_LINKS: Final = frozenset(["of", "the", "and", "for", "in", "de", "&", "to", "by", "with", "vs"])


def _is_value(word: str) -> bool:
    return bool(_VALUE.match(word) or _CODE.match(word) or _DASH.match(word))
