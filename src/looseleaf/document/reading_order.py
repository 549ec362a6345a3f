"""The order in which the lines of a page are read, from their places alone.

OCR finds lines from top to bottom, across all columns. Here a page is cut where white runs through it: at a
white column into the columns beside it, else at the white rows where the number of columns changes (a
heading over two columns, say), and so on in each part. That is the recursive X-Y cut of Nagy and Seth (ICPR
1984), with two changes. Rows are cut only where columns start or end, so that a gap that two columns of text
happen to share does not cut through both. And columns whose cells are short and stand on the lines of the
column before them are a table, which is read row by row.
"""

from __future__ import annotations

from collections.abc import Sequence

from .facts import OcrLine

__all__ = ["reading_order"]

_COLUMN_GAP = 0.35
"""Least width of the white between columns, in line heights. The gutter of a paper in two columns has 0.8.

Wide enough, as the spaces within a line are no white here: OCR finds whole lines.
"""

_TOLERANCE = 0.25
"""By how much of its height a line may reach into the line below it without being on the same row."""

_CELL_CHARACTERS = 22
"""Longest text that counts as a table cell when a table is told from columns of text, as in `rows`."""

_SHORT_SHARE = 0.7
"""Share of the lines beside the first column that must be short."""

_ALIGNED_SHARE = 0.6
"""Share of those short lines that must stand on a line of the first column."""

_PROSE_WORDS = 4
"""Words from which a line may be running text, as in `rows`."""

_PROSE_SHARE = 0.3
"""Share of those lines that go on in lower case from which a column is running text, beside a chart say."""

_SAME_LINE = 0.3
"""How far the middles of two lines on one row may be apart, in line heights."""

_MAX_DEPTH = 40
"""Bounds the recursion on a hostile page."""


def reading_order(lines: Sequence[OcrLine]) -> list[list[OcrLine]]:
    """The same lines, column by column, and the cells of a table's row together."""
    return _ordered(list(lines), 0)


def _ordered(lines: list[OcrLine], depth: int) -> list[list[OcrLine]]:
    gap = _COLUMN_GAP * _median_height(lines) if lines else 0.0
    parts = _columns(lines, gap)
    if len(parts) > 1 and _is_table(parts):
        return _table_rows(lines)
    if len(parts) == 1:
        parts = _bands(lines, gap)
    if len(parts) < 2 or depth > _MAX_DEPTH:
        return [[line] for row in _rows(lines) for line in _from_left(row)]
    return [row for part in parts for row in _ordered(part, depth + 1)]


def _is_table(columns: list[list[OcrLine]]) -> bool:
    """Whether what stands beside the first column are its cells, and the first column is not running text."""
    long = [line.words[0].text[0].islower() for line in columns[0] if len(line.words) >= _PROSE_WORDS]
    if sum(long) > 1 and sum(long) >= _PROSE_SHARE * len(long):
        return False
    beside = [line for column in columns[1:] for line in column]
    cells = [line for line in beside if _length(line) <= _CELL_CHARACTERS]
    if len(cells) < _SHORT_SHARE * len(beside) or min(len(cells), len(columns[0])) < 2:
        return False
    on_a_line = sum(any(_same_line(cell, line) for line in columns[0]) for cell in cells)
    return on_a_line >= _ALIGNED_SHARE * len(cells)


def _table_rows(lines: list[OcrLine]) -> list[list[OcrLine]]:
    """Lines by the rows of a table. A cell between two rows, of a heading in two lines say, is its own row."""
    rows: list[list[OcrLine]] = []
    for line in sorted(lines, key=lambda line: line.top + line.bottom):
        if rows and _same_line(line, rows[-1][0]):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_from_left(row) for row in rows]


def _length(line: OcrLine) -> int:
    return sum(len(word.text) + 1 for word in line.words) - 1


def _same_line(one: OcrLine, other: OcrLine) -> bool:
    apart = abs(one.top + one.bottom - other.top - other.bottom) / 2
    return one.turn == other.turn and apart < _SAME_LINE * max(_height(one), _height(other))


def _median_height(lines: list[OcrLine]) -> float:
    heights = sorted(_height(line) for line in lines)
    return heights[len(heights) // 2]


def _height(line: OcrLine) -> float:
    """Height of the writing, whichever way it runs."""
    return line.bottom - line.top if line.turn == 0 else line.right - line.left


def _columns(lines: list[OcrLine], gap: float) -> list[list[OcrLine]]:
    """Lines by the columns that they form, from left to right."""
    columns: list[list[OcrLine]] = []
    reach = 0.0
    for left, right, line in sorted(((*_ink(line), line) for line in lines), key=lambda each: each[:2]):
        if not columns or left - reach >= gap:
            columns.append([])
            reach = right
        columns[-1].append(line)
        reach = max(reach, right)
    return columns


def _ink(line: OcrLine) -> tuple[float, float]:
    """Where the writing starts and ends across the page; the box around it is wider."""
    return (line.words[0].start, line.words[-1].end) if line.turn == 0 else (line.left, line.right)


def _rows(lines: list[OcrLine]) -> list[list[OcrLine]]:
    """Lines by the rows that they form, from top to bottom."""
    rows: list[list[OcrLine]] = []
    reach = 0.0
    for line in sorted(lines, key=lambda line: line.top):
        slack = _TOLERANCE * (line.bottom - line.top)
        if not rows or line.top >= reach - slack:
            rows.append([])
            reach = line.bottom
        rows[-1].append(line)
        reach = max(reach, line.bottom)
    return rows


def _bands(lines: list[OcrLine], gap: float) -> list[list[OcrLine]]:
    """Runs of rows with the same columns: a row that closes the columns of the rows above starts a new run."""
    bands: list[list[OcrLine]] = []
    divided = False
    for row in _rows(lines):
        with_row = [*bands[-1], *row] if bands else row
        stays = len(_columns(with_row, gap)) > 1
        alone = len(_columns(row, gap)) > 1
        if bands and stays == divided and (stays or not alone):
            bands[-1] = with_row
        elif bands and stays:  # short lines over columns, all in one of them
            bands[-1], divided = with_row, True
        else:
            bands.append(row)
            divided = alone
    return bands


def _from_left(row: list[OcrLine]) -> list[OcrLine]:
    return sorted(row, key=lambda line: line.left)
