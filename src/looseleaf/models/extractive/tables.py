"""Answers from tables: a cell by row and column, the row with the highest value, the rows with a property."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.continued import whole_tables
from looseleaf.models.extractive.extremes import extremes
from looseleaf.models.extractive.kinds import Kind, Operation
from looseleaf.models.extractive.place import LEAST_COVERAGE, TOTALS, Place, evidence_of, year_factor
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.table import Table, TableRow, read_tables
from looseleaf.models.extractive.turned import turned
from looseleaf.models.extractive.words import stem_set

__all__ = ["table_candidates"]

_COMPARED: Final = re.compile(
    r"^(?:which|what|list)\b.*?\b(lower|smaller|less|fewer|higher|larger|more|greater)\b(.*?)\bthan\b(.*)$",
    re.IGNORECASE,
)
REVERSE: Final = 0.95
"""Factor for a row found by a cell other than its label."""


def table_candidates(pool: Pool) -> Iterator[Candidate]:
    """Candidates of all table mechanisms."""
    for passage in pool.passages:
        for table in read_tables(passage.text):
            yield from _cells(pool, Place(passage.page, table))
    for page, table in whole_tables(pool.passages):
        yield from _by_rows(pool, Place(page, table))
        across = turned(table)
        if across is not None and not any(pool.roots(row.stems[0]) for row in across.rows):
            yield from _by_rows(pool, Place(page, across))


def _by_rows(pool: Pool, place: Place) -> Iterator[Candidate]:
    """Rows that are asked for by what their cells hold."""
    yield from _reverse(pool, place)
    if pool.query.operation in {Operation.MAXIMUM, Operation.MINIMUM}:
        yield from extremes(pool, place)
    if _comparison(pool.query.text):
        yield from _compared(pool, place)


def _cells(pool: Pool, place: Place) -> Iterator[Candidate]:
    """The cell where a row and a column that the question names cross."""
    if pool.query.operation in {Operation.MAXIMUM, Operation.MINIMUM} and _asks_label(pool.query.text):
        return
    for row in place.table.rows:
        named = _naming_column(pool, row)
        if named is None:
            continue
        column, header_fit = _asked_column(pool, place.table, row, named)
        if column is None or not _suits(pool, row, column):
            continue
        stems = frozenset().union(row.stems[named], stem_set(place.table.header[column]))
        precision = len(pool.roots(row.stems[named])) / len(row.stems[named])
        score = (
            pool.page_factor(place.page)
            * pool.coverage(stems, place.table.stems, place.table.title)
            * (0.6 + 0.4 * precision)
            * header_fit
        )
        score *= pool.focus_factor(stems, place.table.stems) * year_factor(pool, stems, place.table)
        if score >= LEAST_COVERAGE:
            evidence = evidence_of(place.table, row, column, named)
            yield Candidate(row.cells[column], place.page, evidence, score, "cell")


def _reverse(pool: Pool, place: Place) -> Iterator[Candidate]:
    """The label of the one row that has a text the question names in another column ("which site is in Poland")."""
    table = place.table
    counted = pool.query.kind is Kind.COUNT
    if not (counted or _asks_label(pool.query.text)) or len(table.rows) < 2 or table.chart:
        return
    header = stem_set(table.header[0])
    for column in range(1, len(table.header)):
        listed = pool.query.form.listed
        hits = [row for row in table.rows if _is_asked(pool, table, row, column)]
        if not hits or (len(hits) > 1 and not (listed or counted)) or pool.roots(hits[0].stems[0]):
            continue
        stems = hits[0].stems[column] | header | stem_set(table.header[column])
        score = REVERSE * pool.coverage(stems, table.stems, table.title) * pool.page_factor(place.page)
        if score >= LEAST_COVERAGE:
            evidence = "; ".join(evidence_of(table, row, column) for row in hits)
            text = str([row.label for row in hits]) if listed else hits[0].label
            text = str(len(hits)) if counted else text
            yield Candidate(text, place.page, evidence, score, "reverse", computed=True)


def _is_asked(pool: Pool, table: Table, row: TableRow, column: int) -> bool:
    """Whether the question holds a cell: its words, or its number together with words of the column's header."""
    if not row.stems[column] or not pool.knows_all(row.stems[column]):
        return False
    if _is_worded(row.label) and _is_worded(row.cells[column]):
        return True
    digits = row.cells[column].strip("$€£% ")
    return digits in pool.query.numbers and bool(pool.roots(stem_set(table.header[column])))


def _is_worded(text: str) -> bool:
    return any(letter.isalpha() for letter in text)


def _asks_label(text: str) -> bool:
    """Whether a thing is asked for rather than one of its values."""
    return bool(re.match(r"(?:in |at |to )?(?:which|what|who|list|name)\b", text, re.IGNORECASE))


def _naming_column(pool: Pool, row: TableRow) -> int | None:
    """The column whose text in this row the question quotes best: mostly the label."""
    scored = [(pool.coverage(stems), -i) for i, stems in enumerate(row.stems) if stems]
    best = max(scored, default=(0.0, 0))
    return -best[1] if best[0] > 0 else None


def _asked_column(pool: Pool, table: Table, row: TableRow, named: int) -> tuple[int | None, float]:
    """The column that the question asks for, and how sure that is."""
    others = [i for i in range(len(row.cells)) if i != named and row.cells[i].strip("—–- ")]
    by_header = [
        (pool.coverage(stem_set(table.header[i]) - row.stems[named]) + pool.header_bonus(table.header[i]), -i)
        for i in others
    ]
    best = max(by_header, default=(0.0, 0))
    if best[0] > 0:
        return -best[1], 1.15
    return (others[0], 0.85) if len(others) == 1 else (None, 0.0)


def _suits(pool: Pool, row: TableRow, column: int) -> bool:
    """Whether the cell can answer this kind of question."""
    number = row.numbers[column]
    if pool.query.kind is Kind.COUNT:
        return number is not None and number.unit in {"", "%"}
    if pool.query.kind in {Kind.PERCENT, Kind.MONEY}:
        return number is not None
    if pool.query.kind in {Kind.PERSON, Kind.PLACE, Kind.TITLE, Kind.COLOR}:
        return number is None
    return pool.query.kind not in {Kind.EMAIL, Kind.URL, Kind.PHONE, Kind.PAGE, Kind.YES_NO, Kind.CHOICE}


def _comparison(text: str) -> int:
    """1 for "which … higher in X than in Y", -1 for "lower", 0 for other questions."""
    match = _COMPARED.match(text)
    if not match:
        return 0
    return -1 if match[1].lower() in {"lower", "smaller", "less", "fewer"} else 1


def _compared(pool: Pool, place: Place) -> Iterator[Candidate]:
    """The rows whose value in one named column is higher or lower than in another."""
    table = place.table
    match = _COMPARED.match(pool.query.text)
    columns = [_header_in(table, match[group]) for group in (2, 3)] if match else []
    if None in columns or len(set(columns)) != 2:
        return
    sign = _comparison(pool.query.text)
    rows = [row for row in table.rows if not row.stems[0] & TOTALS and _is_higher(row, columns, sign)]
    score = pool.coverage(stem_set(" ".join(table.header)), table.stems) * 1.1
    if rows and (len(rows) == 1 or pool.query.form.listed):
        labels = [row.label for row in rows]
        text = str(labels) if pool.query.form.listed else labels[0]
        cells = (
            f"{row.label}: {', '.join(f'{table.header[c]} {row.cells[c]}' for c in columns if c)}"
            for row in rows
        )
        yield Candidate(text, place.page, "; ".join(cells), score, "compared", computed=True)


def _header_in(table: Table, text: str) -> int | None:
    """The column whose header a piece of the question names."""
    stems = stem_set(text)
    return next(
        (i for i, head in enumerate(table.header) if i and stem_set(head) and stem_set(head) <= stems), None
    )


def _is_higher(row: TableRow, columns: list[int | None], sign: int) -> bool:
    first, second = (row.numbers[column] for column in columns if column is not None)
    return first is not None and second is not None and sign * (first.value - second.value) > 0
