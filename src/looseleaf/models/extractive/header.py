"""Column headers: the lines above or below rows that name their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from looseleaf.models.extractive.cells import YEAR, by_capitals, has_figures, is_tabbed, split_cells
from looseleaf.models.extractive.line import Line

__all__ = ["HEADER_LINES", "LONGEST_LINE", "column_years", "find_header"]

LONGEST_LINE: Final = 160
LONGEST_YEARS: Final = 60
SHORT_HEADER: Final = 90
"""A header line with tabs up to this length may hold several columns in a cell, told by their capitals."""
LEAST_UNTABBED: Final = 4
"""Columns from which on a line without tabs right above the rows may be their header on a page with tabs."""
HEADER_LINES: Final = 7
"""Lines above rows that can be their header."""
HEADER_REACH: Final = 45
"""Lines above a row in which the years of its columns are looked for: statements have their years at the top."""
_SECTION: Final = re.compile(r"^\d+(?:\.\d+)+\.?\s")


def find_header(
    lines: tuple[Line, ...], first: int, last: int, columns: int, *, worded: bool
) -> tuple[str, ...]:
    """A text for each of `columns` columns; all empty where there is none.

    Args:
        lines: the lines of the page.
        first: index of the first row.
        last: index of the last row.
        columns: number of columns, the label column included.
        worded: whether the rows hold no values: then only a near line can be their header.
    """
    above = _above(
        lines, first, columns, HEADER_REACH if is_tabbed(lines[first]) and not worded else HEADER_LINES
    )
    if above is not None:
        return above
    below = _cells(lines[last + 1], columns, tabbed=True) if last + 1 < len(lines) else None
    return below or _fallback(lines, first, columns)


def _above(lines: tuple[Line, ...], first: int, columns: int, reach: int) -> tuple[str, ...] | None:
    """The nearest line above that fits, with what is stacked on it."""
    for index in range(first - 1, max(-1, first - 1 - reach), -1):
        cells = _cells(lines[index], columns, tabbed=lines[first].tabbed_page)
        if cells is None and index == first - 1:
            cells = _untabbed(lines[index], columns)
        if cells is not None:
            return _stacked(lines, index, cells)
    return None


def _cells(line: Line, columns: int, *, tabbed: bool) -> tuple[str, ...] | None:
    """The cells of a header line for that many columns, or `None`; on pages with tabs a header has them too."""
    if not _can_head(line) or (tabbed and not is_tabbed(line)):
        return None
    choices = [split_cells(line.text)] if tabbed and len(line.text) > SHORT_HEADER else []
    for cells in choices or [split_cells(line.text), by_capitals(line.text)]:
        if len(cells) == columns - 1 and columns > 2 and tabbed and not has_figures(["", *cells]):
            return ("", *cells)
        if len(cells) in {columns, columns + 1} and columns > 1 and not has_figures(cells):
            return tuple(cells)
    return None


def _can_head(line: Line) -> bool:
    ends = line.text[-1] in ".;?!" or len(line.text) > LONGEST_LINE
    return line.kind not in {"caption", "bullet"} and not ends and not _SECTION.match(line.text)


def _untabbed(line: Line, columns: int) -> tuple[str, ...] | None:
    """A line of names without tabs right above the rows, one for each column after the label."""
    cells = by_capitals(line.text)
    fits = _can_head(line) and len(cells) == columns - 1 >= LEAST_UNTABBED and not has_figures(["", *cells])
    return ("", *cells) if fits else None


def _stacked(lines: tuple[Line, ...], index: int, cells: tuple[str, ...]) -> tuple[str, ...]:
    """The header with the lines right above it: one text a column ("April 30," over "2021") or one a group."""
    for line in reversed(lines[max(0, index - 2) : index]):
        above = _cells(line, len(cells), tabbed=True) or _groups(line, cells)
        if above is None or len(above) != len(cells) or (above[0] and cells[0]):
            break
        cells = tuple(f"{upper} {lower}".strip() for upper, lower in zip(above, cells, strict=True))
    return cells


def _groups(line: Line, cells: tuple[str, ...]) -> tuple[str, ...] | None:
    """Group names that each span equally many columns ("2-hop | 3-hop" over "Gold | Open | Gold | Open")."""
    if not is_tabbed(line) or not _can_head(line) or cells[0]:
        return None
    label, *rest = split_cells(line.text)
    under = len(cells) - 1
    for groups in (rest, [group for cell in rest for group in by_capitals(cell)]):
        if 1 < len(groups) < under and under % len(groups) == 0:
            return (label, *(group for group in groups for _ in range(under // len(groups))))
    return None


def _fallback(lines: tuple[Line, ...], first: int, columns: int) -> tuple[str, ...]:
    """A header for rows that no line fits: groups over some columns, years, or the first few columns."""
    near = lines[max(0, first - HEADER_LINES) : first]
    spanning = _spanning(near, columns)
    if spanning is not None:
        return spanning
    years = ("", *column_years(lines, first, columns - 1))
    return years if any(years) else _partial(near, columns) or years


def _spanning(lines: tuple[Line, ...], columns: int) -> tuple[str, ...] | None:
    """A header of two lines whose first group spans all columns of the lower line ("A | B" over "1 | 2 | 3")."""
    tabbed = [cells for line in lines if is_tabbed(line) and not has_figures(cells := split_cells(line.text))]
    for upper, lower in pairwise(tabbed):
        for label, groups in (("", upper), (upper[0], upper[1:])):
            if len(groups) > 1 and len(groups) - 1 + len(lower) == columns - 1:
                return (label, *(f"{groups[0]} {cell}" for cell in lower), *groups[1:])
    return None


def _partial(lines: tuple[Line, ...], columns: int) -> tuple[str, ...] | None:
    """The first header line near the rows, for as many columns as it has cells."""
    for line in lines:
        cells = split_cells(line.text)
        if (
            is_tabbed(line)
            and line.kind != "caption"
            and 2 <= len(cells) < columns
            and not has_figures(cells)
        ):
            return (*cells, *[""] * (columns - len(cells)))
    return None


def column_years(lines: Sequence[Line], index: int, count: int) -> list[str]:
    """The years that stand above a row, one a column; empty texts where their number does not fit."""
    years: list[str] = []
    for line in reversed(lines[max(0, index - HEADER_REACH) : index]):
        found = YEAR.findall(line.text)
        if found and len(line.text) < LONGEST_YEARS:
            years = found + years
            if len(years) >= count:
                break
    return years if len(years) == count else [""] * count
