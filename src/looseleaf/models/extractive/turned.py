"""Tables read by their columns: "which site has the most …" where the sites head the columns."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from looseleaf.models.extractive.number import parse_number
from looseleaf.models.extractive.table import Table, TableRow
from looseleaf.models.extractive.words import stem_set

__all__ = ["turned"]

LEAST_COLUMNS: Final = 2
"""Columns of values from which on a table compares things side by side."""


@lru_cache(maxsize=1024)
def turned(table: Table) -> Table | None:
    """The table with its columns as rows, or `None` where headers or labels do not name each one apart."""
    names, labels = table.header[1:], [row.label for row in table.rows]
    if table.chart or len(names) < LEAST_COLUMNS or len(labels) < LEAST_COLUMNS:
        return None
    if not all(names) or len(set(names)) < len(names) or len(set(labels)) < len(labels):
        return None
    rows = tuple(
        _row((name, *(row.cells[i] for row in table.rows)), table) for i, name in enumerate(names, 1)
    )
    return Table((table.header[0], *labels), rows, table.caption, table.stems, table.title)


def _row(cells: tuple[str, ...], table: Table) -> TableRow:
    numbers = tuple(parse_number(cell) for cell in cells)
    return TableRow(cells, numbers, tuple(stem_set(cell) for cell in cells), table.rows[0].line)
