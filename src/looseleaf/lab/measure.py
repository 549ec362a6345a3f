"""`measured`: a share or mean over rows, with counts, bounds and a document-clustered interval."""

from __future__ import annotations

from collections.abc import Iterable

from looseleaf.metrics import UNSCORED, MetricValue, Ratio
from looseleaf.metrics.metric import Missing
from looseleaf.statistics import Interval, clustered_mean_interval, clustered_ratio_interval

__all__ = ["Outcome", "measured"]

Outcome = tuple[Ratio | Missing, str]
"""What a row adds, or why it adds nothing; and its document."""


def measured(
    name: str, outcomes: Iterable[Outcome], *, rate: bool = True, bounds: bool = True
) -> MetricValue:
    """A ratio Σx/Σy over rows that is no registered metric.

    Args:
        name: what it is, as printed.
        outcomes: of every row.
        rate: whether it lies in [0, 1] and takes a logit interval.
        bounds: whether an unscored row could add anything from 0 to 1, for the printed bounds.
    """
    found = list(outcomes)
    scored = [(outcome, doc) for outcome, doc in found if isinstance(outcome, Ratio)]
    unscored = sum(outcome is UNSCORED for outcome, _ in found)
    ratios = [ratio for ratio, _ in scored]
    value = _ratio(ratios)
    low, high = (
        _ratio([*ratios, *[Ratio(end)] * unscored]) if bounds and unscored else value for end in (0.0, 1.0)
    )
    return MetricValue(
        name=name,
        value=value,
        n=len(scored) + unscored,
        n_scored=len(scored),
        n_undefined=len(found) - len(scored) - unscored,
        lowest=low,
        highest=high,
        interval=_interval(scored, rate),
    )


def _ratio(ratios: list[Ratio]) -> float | None:
    total = sum(ratio.y for ratio in ratios)
    return sum(ratio.x for ratio in ratios) / total if total else None


def _interval(scored: list[tuple[Ratio, str]], rate: bool) -> Interval | None:
    if not any(ratio.y for ratio, _ in scored):
        return None
    make = clustered_ratio_interval if rate else clustered_mean_interval
    return make([r.x for r, _ in scored], [r.y for r, _ in scored], [doc for _, doc in scored])
