"""`Place`: a table and where it was found, and what all ways to read it share."""

from __future__ import annotations

from typing import Final

import msgspec

from looseleaf.models.extractive.cells import YEAR
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.table import Table, TableRow
from looseleaf.models.extractive.words import stem_set

__all__ = ["LEAST_COVERAGE", "TOTALS", "Place", "evidence_of", "year_factor"]

LEAST_COVERAGE: Final = 0.3
TOTALS: Final = frozenset(["total", "all", "sum", "averag", "overal", "subtot"])
"""Stems of rows that sum up others; they never win a comparison of rows."""
WRONG_YEAR: Final = 0.4
NO_YEAR: Final = 0.85


class Place(msgspec.Struct, frozen=True):
    """Where a table was found."""

    page: int
    table: Table


def year_factor(pool: Pool, stems: frozenset[str], table: Table) -> float:
    """Less than 1 where row, column and caption are of another year than the question, or of none."""
    asked = {str(year) for year in pool.query.years}
    caption = stem_set(table.caption)
    if not asked or asked & (stems | caption | stem_set(" ".join(table.header[:1]))):
        return 1.0
    dated = any(YEAR.fullmatch(root) for root in stems | caption)
    return WRONG_YEAR if dated else NO_YEAR


def evidence_of(table: Table, row: TableRow, column: int, named: int = 0) -> str:
    """A cell with the text that names its row and the header of its column, as a finding says it."""
    header = table.header[column]
    return (
        f"{row.cells[named]}, {header}: {row.cells[column]}"
        if header
        else f"{row.cells[named]}: {row.cells[column]}"
    )
