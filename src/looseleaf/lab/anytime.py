"""Anytime memory, from stored runs only: when a memory first answered, and whether it still does at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from looseleaf.lab.curves import Curve, budget_curve, spent_curves
from looseleaf.lab.history import RowHistory, row_history
from looseleaf.lab.measure import measured
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.variants import Variant, VariantKind
from looseleaf.metrics import UNDEFINED, UNSCORED, MetricValue, Ratio
from looseleaf.metrics.metric import Missing

__all__ = ["Anytime", "anytime"]


class Anytime(msgspec.Struct, frozen=True, kw_only=True):
    """Anytime memory of one run under one reader, on answerable rows.

    Attributes:
        reading_id: ledger of the readings.
        curves: against turns, unique pages shown, tokens of the policy, and words of memory.
        regret: share of rows where some prefix answers and the terminal memory does not.
        ever: share of rows where some prefix answers.
        first_answerable: mean of the turn after which the memory first answers, over the rows where it ever does.
        median_first: its median.
        lag: mean of the turns between that and the end of the trajectory.
        regretted: trajectory ids with regret.
        policy_calls: calls of the policy that all this took: none.
    """

    reading_id: str
    curves: list[Curve]
    regret: MetricValue
    ever: MetricValue
    first_answerable: MetricValue
    median_first: float | None
    lag: MetricValue
    regretted: list[str]
    policy_calls: int = 0


def anytime(scored: ScoredRun, reading_id: str, threshold: str) -> Anytime | None:
    """Anytime memory; `None` where the reader did not read prefixes."""
    if not any(Variant.parse(name).kind is VariantKind.PREFIX for name in scored.variants(reading_id)):
        return None
    found = [row_history(scored, reading_id, item) for item in scored.items if not item.question.unanswerable]
    histories = [history for history in found if history is not None]
    faults = len(found) - len(histories)
    firsts = {h.trajectory_id: h.first_answerable(threshold) for h in histories if h.complete}
    return Anytime(
        reading_id=reading_id,
        curves=[*spent_curves(scored, histories), *budget_curve(scored, reading_id)],
        regret=_share("regret", histories, faults, lambda h: h.regrets(threshold)),
        ever=_share("some prefix answers", histories, faults, lambda h: _ever(h, threshold)),
        first_answerable=_mean("first answerable turn", histories, lambda h: firsts.get(h.trajectory_id)),
        median_first=median([turn for turn in firsts.values() if turn is not None] or [0])
        if any(firsts.values())
        else None,
        lag=_mean("turns spent after it", histories, lambda h: _lag(h, firsts.get(h.trajectory_id))),
        regretted=[h.trajectory_id for h in histories if h.regrets(threshold)],
    )


def _ever(history: RowHistory, threshold: str) -> bool | None:
    return history.first_answerable(threshold) is not None if history.complete else None


def _lag(history: RowHistory, first: int | None) -> int | None:
    return None if first is None else history.last[0] - first


def _share(
    name: str,
    histories: Sequence[RowHistory],
    faults: int,
    of: Callable[[RowHistory], bool | None],
) -> MetricValue:
    outcomes: list[tuple[Ratio | Missing, str]] = []
    for history in histories:
        hit = of(history)
        outcomes.append((UNSCORED if hit is None else Ratio(float(hit)), history.doc_id))
    return measured(name, [*outcomes, *[(UNSCORED, "")] * faults])


def _mean(
    name: str, histories: Sequence[RowHistory], of: Callable[[RowHistory], float | None]
) -> MetricValue:
    outcomes: list[tuple[Ratio | Missing, str]] = []
    for history in histories:
        value = of(history)
        outcomes.append((UNDEFINED if value is None else Ratio(value), history.doc_id))
    return measured(name, outcomes, rate=False, bounds=False)
