"""Answers computed from two or more printed numbers: differences, changes, sums, ratios."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.fact import Fact
from looseleaf.models.extractive.kinds import Operation
from looseleaf.models.extractive.lookup import Fit, fits
from looseleaf.models.extractive.number import plain
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.query import Query
from looseleaf.models.extractive.terms import DATE_WEIGHT
from looseleaf.models.extractive.words import stem_set

__all__ = ["computed_candidates"]

LEAST_FIT: Final = 0.3
BONUS: Final = 1.1
"""Factor for a computed answer where the question asks for a computation: a printed number would be half of it."""
DEFAULT_DECIMALS: Final = 4
RATIO_DECIMALS: Final = 2
SMALL: Final = 0.05
"""From here on a ratio is written with `RATIO_DECIMALS`."""
_OPERATION_WORDS: Final = stem_set(
    """difference differences change changed increase increased decrease decreased gap ratio percentage percent less
    fewer higher lower larger greater sum combined average absolute compared comparing relative growth multiple times
    differ value"""
)
_SPLITS: Final[tuple[re.Pattern[str], ...]] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^(?P<shared>.*?)\b(?:between|of)\b(?P<first>.+?)\band\b(?P<second>.+)$",
        r"^(?P<shared>)(?P<first>.+?)\b(?:compar(?:ed|ing) (?:to|with)|than|versus|vs\.?|differ from|minus)\b"
        r"(?P<second>.+)$",
        r"^(?P<shared>)(?P<first>.+?)\band\b(?P<second>.+)$",
    )
)
_RATIO: Final = re.compile(
    r"^(?:what (?:is|was|were) )?(?:the )?(?:ratio (?:of|between) )?(?P<first>.+?)\s(?:to|and|divided by|over)\s"
    r"(?P<second>.+?)(?:\sratio\b.*)?$",
    re.IGNORECASE,
)


_QUALIFIER: Final = re.compile(r"\s(?:for|in|at|as of|during|on)\s", re.IGNORECASE)
"""Where the part begins that says of when and of whom both numbers are."""


class Operand(msgspec.Struct, frozen=True):
    """One of the numbers to find: what it is about and its years."""

    terms: dict[str, float]
    years: tuple[int, ...]


def computed_candidates(pool: Pool) -> Iterator[Candidate]:
    """Candidates of the computation that the question asks for, if it asks for one."""
    query = pool.query
    if query.operation not in {
        Operation.DIFFERENCE,
        Operation.CHANGE,
        Operation.SUM,
        Operation.RATIO,
        Operation.AVERAGE,
    }:
        return
    if query.operation is Operation.SUM:
        yield from _row_total(pool)
    for operands in _operands(pool):
        found = _pair(pool, operands)
        if found is not None:
            yield from _compute(query, found)


def _row_total(pool: Pool) -> Iterator[Candidate]:
    """The sum of one row over all columns that one name in the question picks out ("Amazon" in two headers)."""
    by_row: dict[tuple[int, int], list[Fit]] = {}
    base = {root: weight for root, weight in pool.weights.items() if root not in _OPERATION_WORDS}
    for fit in fits(pool, base, pool.query.years, LEAST_FIT):
        if pool.roots(stem_set(fit.fact.column)):
            by_row.setdefault((fit.page, fit.fact.line), []).append(fit)
    for (page, _), cells in by_row.items():
        if len(cells) > 1:
            value = sum(fit.fact.number.value for fit in cells)
            evidence = "; ".join(fit.fact.evidence for fit in cells)
            score = min(fit.score for fit in cells) * BONUS
            yield Candidate(
                plain(value, pool.query.form.decimals), page, evidence, score, "computed:row", computed=True
            )


def _operands(pool: Pool) -> Iterator[tuple[Operand, Operand]]:
    """Ways to read the question as two numbers."""
    query = pool.query
    base = {r: w for r, w in pool.weights.items() if r not in _OPERATION_WORDS and not _is_year(r)}
    if len(query.years) == 2:
        yield Operand(base, query.years[:1]), Operand(base, query.years[1:])
    patterns = (_RATIO,) if query.operation is Operation.RATIO else _SPLITS
    for pattern in patterns:
        match = pattern.search(query.text.rstrip("? "))
        if match:
            first, second = _parts(pool, match, base)
            if first.terms and second.terms and first.terms != second.terms:
                yield first, second


def _parts(pool: Pool, match: re.Match[str], base: dict[str, float]) -> tuple[Operand, Operand]:
    """The terms of both sides; what stands on neither side, or only names what is compared, belongs to both."""
    tail = _QUALIFIER.search(match["second"])
    seconds = match["second"][: tail.start()] if tail else match["second"]
    first, second = _known(pool, match["first"], base), _known(pool, seconds, base)
    shared = set(base) - first - second | (_known(pool, match.groupdict().get("shared") or "", base))
    if pool.query.operation is not Operation.RATIO and not match.groupdict().get("shared"):
        ordered = [root for root in base if root in first]
        shared |= set(ordered[: max(0, len(first) - len(second))])
    if second and all(base[root] <= DATE_WEIGHT for root in second):
        shared |= {root for root in first if base[root] > DATE_WEIGHT}
    sides = []
    for side, name in ((first, "first"), (second, "second")):
        years = tuple(year for year in pool.query.years if str(year) in match[name]) or pool.query.years
        sides.append(Operand({root: base[root] for root in base if root in side | shared}, years))
    return sides[0], sides[1]


def _known(pool: Pool, text: str, base: dict[str, float]) -> set[str]:
    return {root for raw in stem_set(text) if (root := pool.term(raw)) in base}


def _is_year(root: str) -> bool:
    return len(root) == 4 and root.isdigit()


def _pair(pool: Pool, operands: tuple[Operand, Operand]) -> tuple[Fit, Fit] | None:
    """The best facts for both operands that are two facts of one kind, preferring one row or one column."""
    first, second = (fits(pool, operand.terms, operand.years, LEAST_FIT)[:6] for operand in operands)
    pairs = [(a, b) for a in first for b in second if _compatible(a.fact, b.fact)]
    return max(pairs, key=lambda pair: min(pair[0].score, pair[1].score) + _kinship(*pair), default=None)


def _compatible(first: Fact, second: Fact) -> bool:
    return first is not second and (first.number.unit == "%") == (second.number.unit == "%")


def _kinship(first: Fit, second: Fit) -> float:
    """Small bonus for facts of one page, and of one row or column."""
    same_page = first.page == second.page
    same_row = same_page and first.fact.line == second.fact.line
    same_column = same_page and first.fact.column == second.fact.column
    return 0.03 * same_page + 0.05 * (same_row or same_column) + 0.1 * same_row


def _compute(query: Query, pair: tuple[Fit, Fit]) -> Iterator[Candidate]:
    first, second = pair
    value = _value(query.operation, first.fact.amount, second.fact.amount)
    if value is None:
        return
    score = min(first.score, second.score) * BONUS
    evidence = first.fact.evidence
    if second.fact.evidence != evidence:
        evidence += f"; {second.fact.evidence}"
    parts = (Passage(first.page, first.fact.evidence), Passage(second.page, second.fact.evidence))
    yield Candidate(
        _written(query, value, first.fact),
        first.page,
        evidence,
        score,
        f"computed:{query.operation}",
        computed=True,
        parts=parts,
    )


def _value(operation: Operation, first: float, second: float) -> float | None:
    if operation is Operation.DIFFERENCE:
        return abs(first - second)
    if operation is Operation.SUM:
        return first + second
    if operation is Operation.AVERAGE:
        return (first + second) / 2.0
    if operation is Operation.CHANGE:
        return abs(second - first) / abs(first) * 100.0 if first else None
    return first / second if second else None


def _written(query: Query, value: float, fact: Fact) -> str:
    """The value in the form and unit asked for, else in the unit of the first number."""
    ratio = query.operation is Operation.RATIO
    percent = query.operation is Operation.CHANGE or (not ratio and fact.number.unit == "%")
    if not percent and not ratio:
        known = fact.unit_scale != 1.0 and query.form.scale != 1.0
        value /= query.form.scale if known else fact.unit_scale
    decimals = query.form.decimals
    text = (
        plain(value, decimals)
        if decimals is not None
        else plain(round(value, DEFAULT_DECIMALS if not ratio or abs(value) < SMALL else RATIO_DECIMALS))
    )
    return f"{text}%" if percent else text
