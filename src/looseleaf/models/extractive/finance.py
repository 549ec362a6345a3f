"""Answers computed from financial statements: the measure that a question names, from the lines that define it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.fact import Fact, page_facts
from looseleaf.models.extractive.measures import Measure, measure_of
from looseleaf.models.extractive.number import plain
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.statement_lines import LABELS
from looseleaf.models.extractive.words import stem_set

__all__ = ["finance_candidates"]

ALL_FOUND: Final = 1.2
"""Score of a measure with all its lines: more than any one of them can reach as an answer."""
DECIMALS: Final = 2
SMALL: Final = 0.05
"""Below this a ratio is written with twice as many decimals."""
QUALIFIERS: Final = stem_set("current long term deferred other per share tax comprehensive gross equity")
"""Words that make a label another line ("total current liabilities" is not "total liabilities")."""
MOST_OTHER_WORDS: Final = 6
"""Words that a label may have beyond the usual ones ("Net income attributable to …")."""


def finance_candidates(pool: Pool) -> Iterator[Candidate]:
    """The measure that the question asks for, if all its lines are found for its year."""
    measure = measure_of(pool.query)
    year = max(pool.query.years, default=None)
    if measure is None or year is None:
        return
    lines = _Lines(pool, year)
    value = _evaluate(lines, measure)
    if value is None or not lines.used:
        return
    evidence = "; ".join(fact.evidence for _, fact in lines.used)
    parts = tuple(Passage(page, fact.evidence) for page, fact in lines.used)
    decimals = pool.query.form.decimals
    text = (
        plain(value, decimals)
        if decimals is not None
        else plain(round(value, DECIMALS if abs(value) >= SMALL else 2 * DECIMALS))
    )
    yield Candidate(text, lines.used[0][0], evidence, ALL_FOUND, "finance", computed=True, parts=parts)


class _Lines:
    """Looks up lines of the statements for one year and remembers which facts were used."""

    def __init__(self, pool: Pool, year: int) -> None:
        self._pool = pool
        self._year = year
        self.used: list[tuple[int, Fact]] = []

    def value(self, name: str, averaged: bool) -> float | None:
        """The line's value, without its sign: statements print expenses in brackets or not as they like."""
        optional = name.endswith("?")
        now = self._find(name.rstrip("?"), self._year, known_pages=optional)
        if now is None or not averaged:
            return 0.0 if now is None and optional else now
        before = self._find(name, self._year - 1)
        return now if before is None else (now + before) / 2.0

    def _find(self, name: str, year: int, *, known_pages: bool = False) -> float | None:
        """The line's value in a year; `known_pages` restricts the search to pages that other lines came from."""
        for label in LABELS[name]:
            found = self._best(stem_set(label), label, year, known_pages)
            if found is not None:
                if found not in self.used:
                    self.used.append(found)
                return abs(found[1].number.value)
        return self._by_difference(year) if name == "total liabilities" else None

    def _by_difference(self, year: int) -> float | None:
        """Total liabilities of a balance sheet that does not print them."""
        whole, equity = self._find("liabilities and equity", year), self._find("equity", year)
        return None if whole is None or equity is None else whole - equity

    def _best(
        self, stems: frozenset[str], label: str, year: int, known_pages: bool
    ) -> tuple[int, Fact] | None:
        """The fact whose label is nearest to a usual one: the fewest other words, on a page already used, the first."""
        pages = {page for page, _ in self.used}
        found: list[tuple[int, bool, int, Fact]] = []
        for passage in self._pool.passages:
            if known_pages and passage.page not in pages:
                continue
            for fact in page_facts(passage.text):
                others = fact.label_stems - stems
                if fact.year != year or fact.prose or not stems <= fact.label_stems or others & QUALIFIERS:
                    continue
                begins = fact.label.lower().startswith(label.split()[0])
                if not others or (begins and len(others) <= MOST_OTHER_WORDS):
                    found.append((len(others), passage.page not in pages, passage.page, fact))
        best = min(found, key=lambda one: one[:2], default=None)
        return None if best is None else best[2:]


def _evaluate(lines: _Lines, measure: Measure) -> float | None:
    """The measure's value, or `None` where a line that it needs is not found."""
    if measure.plus:
        signed = [(1.0, one) for one in measure.plus] + [(-1.0, one) for one in measure.less]
        values = [(sign, _evaluate(lines, one)) for sign, one in signed]
        found = [sign * value for sign, value in values if value is not None]
        return sum(found) if len(found) == len(signed) else None
    top = _sum(lines, measure.top, measure.averaged)
    minus = _sum(lines, measure.minus, measure.averaged) if measure.minus else 0.0
    bottom = _sum(lines, measure.bottom, measure.averaged) if measure.bottom else 1.0
    if top is None or minus is None or not bottom:
        return None
    return measure.factor * (top - minus) / bottom


def _sum(lines: _Lines, names: tuple[str, ...], averaged: tuple[str, ...]) -> float | None:
    total = 0.0
    for name in names:
        value = lines.value(name, name in averaged)
        if value is None:
            return None
        total += value
    return total
