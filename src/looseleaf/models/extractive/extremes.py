"""Rows with the highest or lowest values of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import Kind, Operation
from looseleaf.models.extractive.place import LEAST_COVERAGE, TOTALS, Place, evidence_of, year_factor
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.table import Table, TableRow
from looseleaf.models.extractive.words import stem_set

__all__ = ["extremes"]

_WITH_EXTREME: Final = re.compile(
    r"^(?:list|name|give|what (?:is|are|was|were))\b.*\b(?:with|having|that (?:has|have|had)|by) "
    r"(?:the |its |their )?(?:\w+ )?(?:highest|largest|most|biggest|greatest|maximum|longest|lowest|smallest|least"
    r"|fewest|shortest|number)\b",
    re.IGNORECASE,
)
"""Wordings that ask for things and name the value by which they are chosen ("the two sites with the highest …")."""


def extremes(pool: Pool, place: Place) -> Iterator[Candidate]:
    """The row whose value is the highest or lowest in the column that the question names."""
    table = place.table
    for column in range(1, len(table.header)):
        rows = [row for row in table.rows if row.numbers[column] is not None and not row.stems[0] & TOTALS]
        header = table.stems if table.chart else stem_set(table.header[column])
        if len(rows) < 2 or not (pool.roots(header) or _sole_numbers(table) == column):
            continue
        best = _extreme_rows(pool, rows, column)
        score = (
            pool.coverage(header | stem_set(table.header[0]), table.stems, table.title)
            * pool.page_factor(place.page)
            * 1.05
        )
        score *= year_factor(pool, header, table)
        if score >= LEAST_COVERAGE:
            texts = [row.cells[column] if _wants_value(pool, header) else row.label for row in best]
            evidence = "; ".join(evidence_of(table, row, column) for row in best)
            listed = len(texts) > 1
            text = str(texts) if listed else texts[0]
            yield Candidate(text, place.page, evidence, score, "extreme", computed=listed)


def _sole_numbers(table: Table) -> int | None:
    """The only column with numbers, or `None` where there are several."""
    columns = [
        column
        for column in range(1, len(table.header))
        if any(row.numbers[column] is not None for row in table.rows)
    ]
    return columns[0] if len(columns) == 1 else None


def _extreme_rows(pool: Pool, rows: list[TableRow], column: int) -> list[TableRow]:
    """The highest or lowest rows: as many as the question asks for, mostly one."""
    sign = 1 if pool.query.operation is Operation.MAXIMUM else -1
    ordered = sorted(
        rows, key=lambda row: -sign * (n.value if (n := row.numbers[column]) is not None else 0.0)
    )
    return ordered[: max(pool.query.wanted, 1)]


def _wants_value(pool: Pool, header: frozenset[str]) -> bool:
    """Whether the value is asked for ("what is the highest F1") rather than the row ("which method …")."""
    asks_row = _WITH_EXTREME.search(pool.query.text) or pool.query.text.lower().startswith(
        ("which", "who", "in which", "what kind", "what type", "name")
    )
    return not asks_row and bool(
        set(pool.focus) & header or pool.query.kind in {Kind.NUMBER, Kind.PERCENT, Kind.COUNT}
    )
