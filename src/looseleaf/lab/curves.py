"""Curves: memory-only accuracy against what was spent, and the area under them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from looseleaf.lab.history import RowHistory
from looseleaf.lab.measure import measured
from looseleaf.lab.records import Item, ScoredRun
from looseleaf.lab.variants import Variant, VariantKind
from looseleaf.metrics import MetricValue, Ratio

__all__ = ["Curve", "CurvePoint", "budget_curve", "spent_curves"]


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Mean graded memory-only score when at most `x` was spent, over `n` rows."""

    x: int
    value: float
    n: int


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Memory-only accuracy against something that is spent.

    Attributes:
        unit: what is spent.
        points: the curve, rows that ended early staying at their terminal memory.
        area: mean over rows of the area under each row's curve, as a share of the widest x.
        widest: the x up to which the area is taken, the same for all rows.
    """

    unit: str
    points: list[CurvePoint]
    area: MetricValue
    widest: int


UNITS = ("turns", "unique pages shown", "policy tokens")
MOST_POINTS = 50
"""Points of a printed curve: tokens run into millions."""


def spent_curves(scored: ScoredRun, histories: Sequence[RowHistory]) -> Iterable[Curve]:
    """Curves against what the policy spent; without tokens for agents that count none."""
    complete = [history for history in histories if history.complete]
    for index, unit in enumerate(UNITS):
        widest = max((history.last[index] for history in complete), default=0)
        if unit == "turns":
            budget = scored.protocol.get("max_turns")
            widest = max(widest, budget if isinstance(budget, int) else 0)
        if widest:
            yield _curve(unit, complete, index, widest)


def _places(history: RowHistory, index: int) -> tuple[int, ...]:
    return (history.turns, history.pages, history.tokens)[index]


def _curve(unit: str, histories: Sequence[RowHistory], index: int, widest: int) -> Curve:
    step = -(-widest // MOST_POINTS)
    xs = [*range(step, widest, step), widest]
    return Curve(
        unit=unit,
        points=[
            CurvePoint(
                x=x, value=_average(h.value_at(_places(h, index), x) for h in histories), n=len(histories)
            )
            for x in xs
        ],
        area=measured(
            f"area under the curve, {unit}",
            [(Ratio(_area(h, _places(h, index), widest)), h.doc_id) for h in histories],
        ),
        widest=widest,
    )


def _average(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def _area(history: RowHistory, places: Sequence[int], widest: int) -> float:
    """Mean over x = 1 … widest of the score when at most x was spent."""
    edges = [1, *(min(max(place, 1), widest + 1) for place in places), widest + 1]
    widths = [max(0, end - start) for start, end in pairwise(edges)]
    held = [value or 0.0 for value in history.values]
    return sum(width * value for width, value in zip(widths, held, strict=True)) / widest


def budget_curve(scored: ScoredRun, reading_id: str) -> Iterable[Curve]:
    """The curve against words of memory, if the reader read word budgets."""
    budgets = sorted(
        int(variant.argument)
        for variant in map(Variant.parse, scored.variants(reading_id))
        if variant.kind is VariantKind.BUDGET
    )
    if not budgets:
        return
    items = [item for item in scored.items if not item.question.unanswerable and item.noted is not None]
    columns = {b: [_budget_value(scored, reading_id, item, b) for item in items] for b in budgets}
    rows = [
        (item.question.doc_id, [columns[b][i] for b in budgets])
        for i, item in enumerate(items)
        if None not in [columns[b][i] for b in budgets]
    ]
    values = [[value or 0.0 for value in line] for _, line in rows]
    yield Curve(
        unit="words of memory",
        points=[
            CurvePoint(x=b, value=_average(line[i] for line in values), n=len(values))
            for i, b in enumerate(budgets)
        ],
        area=measured(
            "area under the curve, words of memory",
            [(Ratio(_step_area(budgets, line)), doc) for (doc, _), line in zip(rows, values, strict=True)],
        ),
        widest=budgets[-1],
    )


def _budget_value(scored: ScoredRun, reading_id: str, item: Item, budget: int) -> float | None:
    score = scored.memory_score(item, reading_id, f"{VariantKind.BUDGET}:{budget}")
    return None if score is None else score.value


def _step_area(budgets: Sequence[int], values: Sequence[float]) -> float:
    """Mean over x = 1 … widest of the steps from each budget to the next; 0 before the first budget."""
    widths = [after - before for before, after in pairwise([*budgets, budgets[-1] + 1])]
    return sum(width * value for width, value in zip(widths, values, strict=True)) / budgets[-1]
