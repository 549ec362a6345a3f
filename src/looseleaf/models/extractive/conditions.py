"""Answers from rows that meet a condition ("which sites have more than 300 beds", "how many years exceed 4,000")."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.continued import whole_tables
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.mentions import LIMIT
from looseleaf.models.extractive.number import parse_number
from looseleaf.models.extractive.place import TOTALS, year_factor
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.table import Table, TableRow
from looseleaf.models.extractive.turned import turned
from looseleaf.models.extractive.words import stem_set

__all__ = ["Condition", "condition_candidates", "condition_of"]

MEETS: Final = 1.05
"""Factor for rows that meet the condition: the question says exactly which ones it wants."""
LEAST_ROWS: Final = 3
LEAST_COVERAGE: Final = 0.3
_HOLDS: Final[dict[str, Callable[[float, float], bool]]] = {
    "at_least": operator.ge,
    "at_most": operator.le,
    "more": operator.gt,
    "less": operator.lt,
    "exactly": operator.eq,
}


class Condition(msgspec.Struct, frozen=True):
    """What the values of the rows asked for must be, and the words that are not part of the condition."""

    holds: Callable[[float, float], bool]
    limit: float
    rest: frozenset[str]


def condition_candidates(pool: Pool) -> Iterator[Candidate]:
    """The labels of the rows that meet the condition of the question, or their number."""
    condition = condition_of(pool.query.text)
    if condition is None:
        return
    for page, table in whole_tables(pool.passages):
        across = turned(table)
        if across is not None and any(pool.roots(row.stems[0]) for row in across.rows):
            across = None
        for one in (table, across):
            if one is not None and len(one.rows) >= LEAST_ROWS:
                yield from _meeting(pool, page, one, condition)


def condition_of(text: str) -> Condition | None:
    """The condition in a question, or `None`."""
    match = LIMIT.search(text)
    number = parse_number(match["number"].lstrip("$€£")) if match else None
    if match is None or number is None:
        return None
    rest = stem_set(text[: match.start()] + text[match.end() :])
    return Condition(_HOLDS[_wording(match)], number.value, rest)


def _wording(match: re.Match[str]) -> str:
    """The name of the group whose wording the question uses."""
    return next(name for name in _HOLDS if match[name])


def _meeting(pool: Pool, page: int, table: Table, condition: Condition) -> Iterator[Candidate]:
    for column in range(1, len(table.header)):
        rows = [row for row in table.rows if not row.stems[0] & TOTALS]
        header = stem_set(table.header[column])
        if sum(row.numbers[column] is not None for row in rows) < LEAST_ROWS:
            continue
        if not pool.roots(header) and len(table.header) > 2:
            continue
        met = [row for row in rows if _meets(row, column, condition)]
        stems = header | stem_set(table.header[0])
        score = MEETS * _fit(pool, table, stems, condition.rest) * pool.page_factor(page)
        score *= pool.focus_factor(stems, table.stems) * year_factor(pool, stems, table)
        text = _answer(pool, met)
        if text and score >= LEAST_COVERAGE:
            evidence = "; ".join(f"{row.label}, {table.header[column]}: {row.cells[column]}" for row in met)
            yield Candidate(text, page, evidence, score, "condition", computed=True)


def _meets(row: TableRow, column: int, condition: Condition) -> bool:
    number = row.numbers[column]
    return number is not None and condition.holds(number.value, condition.limit)


def _fit(pool: Pool, table: Table, header: frozenset[str], rest: frozenset[str]) -> float:
    """Share of the question's weight, the condition left out, that the table holds."""
    wanted = {root: weight for root, weight in pool.weights.items() if root in rest}
    here = pool.roots(table.stems | header)
    return sum(weight for root, weight in wanted.items() if root in here) / (sum(wanted.values()) or 1.0)


def _answer(pool: Pool, rows: list[TableRow]) -> str:
    """The number of the rows, their labels as a list, or the one label; empty where none of these fits."""
    if not rows:
        return ""
    if pool.query.kind is Kind.COUNT:
        return str(len(rows))
    if pool.query.form.listed:
        return str([row.label for row in rows])
    return rows[0].label if len(rows) == 1 else ""
