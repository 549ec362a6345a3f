"""Answers that are one printed number: the fact whose label, column and year fit the question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.fact import Fact, page_facts
from looseleaf.models.extractive.kinds import Kind, Operation
from looseleaf.models.extractive.pool import CONTEXT_SHARE, Pool

__all__ = ["COMPUTED", "HALF_ANSWER", "Fit", "fact_candidates", "fits"]

LEAST_FIT: Final = 0.25
NUMERIC: Final = frozenset({Kind.COUNT, Kind.NUMBER, Kind.PERCENT, Kind.MONEY, Kind.TEXT})
COMPUTED: Final = frozenset({Operation.DIFFERENCE, Operation.CHANGE, Operation.RATIO})
HALF_ANSWER: Final = 0.75
"""Factor for one printed number where the question asks for a computation."""
LARGEST_PERCENT: Final = 1000.0
NOT_COUNTED: Final = 0.55
"""Factor for a number of a sentence that is not followed by the thing counted."""
RIGHT_YEAR: Final = 1.15
NO_YEAR: Final = 0.85
WRONG_YEAR: Final = 0.3
PROSE: Final = 0.9
"""Factor for a number from a sentence, whose wording cannot be held against it."""
LATER_COLUMN: Final = 0.93
"""Factor for a number that is not the first of its row where the question names no year."""


class Fit(msgspec.Struct, frozen=True):
    """A fact, its page, and how well it fits."""

    page: int
    fact: Fact
    score: float


def fact_candidates(pool: Pool) -> Iterator[Candidate]:
    """One candidate for each fact that fits the question."""
    if pool.query.kind not in NUMERIC:
        return
    share = HALF_ANSWER if pool.query.operation in COMPUTED else 1.0
    for fit in fits(pool, pool.weights, pool.query.years):
        factor = _kind_factor(pool, fit.fact)
        if factor:
            fact = fit.fact
            score = fit.score * share * factor * pool.focus_factor(fact.stems, fact.context)
            yield Candidate(fact.text, fit.page, fact.evidence, score, "fact", scale=fact.scale)


def _kind_factor(pool: Pool, fact: Fact) -> float:
    """How well a number suits the kind of answer asked for; 0 where it cannot be one."""
    kind = pool.query.kind
    if kind is Kind.PERCENT and abs(fact.number.value) > LARGEST_PERCENT:
        return 0.0
    if kind is Kind.COUNT and fact.number.unit not in {"", "%"}:
        return NOT_COUNTED
    if not fact.prose:
        return 1.0
    if kind is Kind.MONEY:
        return 1.0 if fact.number.unit not in {"", "%"} else 0.0
    if kind is Kind.COUNT and not fact.unit & set(pool.focus):
        return NOT_COUNTED
    return 1.0


def fits(
    pool: Pool, weights: Mapping[str, float], years: tuple[int, ...], least: float = LEAST_FIT
) -> list[Fit]:
    """Facts that cover the weighted terms, best first; ties keep the order of passages and lines.

    Args:
        pool: the passages.
        weights: terms that the fact should be about, with their weights.
        years: years that it should be of; empty where any will do.
    """
    total = sum(weights.values()) or 1.0
    found = []
    for passage in pool.passages:
        for fact in page_facts(passage.text):
            if not pool.roots(fact.label_stems) & weights.keys():
                continue
            score = (
                _fit(pool, fact, weights, total) * _year_factor(fact, years) * pool.page_factor(passage.page)
            )
            if score >= least:
                found.append(Fit(passage.page, fact, score))
    return sorted(found, key=lambda fit: -fit.score)


def _fit(pool: Pool, fact: Fact, weights: Mapping[str, float], total: float) -> float:
    """Share of the terms that fact and context hold, less for a label that says much else."""
    here, near = pool.roots(fact.stems), pool.roots(fact.context)
    covered = sum(weight for root, weight in weights.items() if root in here)
    covered += CONTEXT_SHARE * sum(weight for root, weight in weights.items() if root in near - here)
    if fact.prose:
        return covered / total * PROSE
    named = 1.0 + 2.0 * pool.header_bonus(fact.column)
    precision = len(pool.roots(fact.label_stems) & weights.keys()) / len(fact.label_stems)
    return covered / total * (0.5 + 0.5 * precision) * named


def _year_factor(fact: Fact, years: tuple[int, ...]) -> float:
    if not years:
        return 1.0 if fact.first else LATER_COLUMN
    if fact.year is None:
        return NO_YEAR
    return RIGHT_YEAR if fact.year in years else WRONG_YEAR
