"""The order in which the lines of a page are read, from their places alone.

OCR finds lines from top to bottom, across all columns. Here a page is cut where white runs through it: at a
white column into the columns beside it, else at the white rows where the number of columns changes (a
heading over two columns, say), and so on in each part. That is the recursive X-Y cut of Nagy and Seth (ICPR
1984), with one change: rows are cut only where columns start or end, so that a gap that two columns of text
happen to share does not cut through both. The columns of a table are cut apart, too; `rows.lay_out` joins
them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from .facts import OcrLine

__all__ = ["reading_order"]

_COLUMN_GAP = 0.8
"""Least width of the white between columns, in line heights: spaces of a line are narrower, and stay in it."""

_TOLERANCE = 0.25
"""By how much of its height a line may reach into the line below it without being on the same row."""

_MAX_DEPTH = 40
"""Bounds the recursion on a hostile page."""


def reading_order(lines: Sequence[OcrLine]) -> list[OcrLine]:
    """The same lines, column by column."""
    return _ordered(list(lines), 0)


def _ordered(lines: list[OcrLine], depth: int) -> list[OcrLine]:
    if len(lines) < 2 or depth > _MAX_DEPTH:
        return _by_row(lines)
    gap = _COLUMN_GAP * _median_height(lines)
    parts = _columns(lines, gap)
    if len(parts) == 1:
        parts = _bands(lines, gap)
    if len(parts) == 1:
        return _by_row(lines)
    return [line for part in parts for line in _ordered(part, depth + 1)]


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
    for line in sorted(lines, key=lambda line: line.left):
        if not columns or line.left - reach >= gap:
            columns.append([])
            reach = line.right
        columns[-1].append(line)
        reach = max(reach, line.right)
    return columns


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


def _by_row(lines: list[OcrLine]) -> list[OcrLine]:
    return [line for row in _rows(lines) for line in sorted(row, key=lambda line: line.left)]
