"""Evaluating metrics over rows: value, counts, bounds and interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from looseleaf.metrics.catalogue import METRICS, metric_named
from looseleaf.metrics.metric import Bound, Metric, Missing, Ratio
from looseleaf.metrics.row import Row, rows_of
from looseleaf.question import Question
from looseleaf.score import Score
from looseleaf.statistics import Interval, clustered_ratio_interval
from looseleaf.trajectory import Trajectory

__all__ = ["MetricTable", "MetricValue", "evaluate", "evaluate_rows"]


class MetricValue(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over one set of rows.

    Attributes:
        name: the metric's canonical name.
        value: Σx/Σy over the scored rows, or `None` where Σy is 0.
        n: rows the metric applies to, scored or not.
        n_scored: rows that have a score.
        n_undefined: rows it does not apply to.
        lowest: the value if every unscored row turned out to lower it; equals `value` where all are scored.
        highest: the value if every unscored row turned out to raise it.
        interval: document-clustered interval over the scored rows, or `None` with too few documents.
    """

    name: str
    value: float | None
    n: int
    n_scored: int
    n_undefined: int
    lowest: float | None
    highest: float | None
    interval: Interval | None = None


class MetricTable(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics by name for one set of rows.

    Attributes:
        label: name of the set of rows, e.g. `all` or `Table`.
        n_rows: selected rows in it.
        values: by canonical metric name.
    """

    label: str
    n_rows: int
    values: dict[str, MetricValue]

    def __getitem__(self, name: str) -> MetricValue:
        return self.values[name]


def evaluate(
    trajectories: Iterable[Trajectory],
    questions: Iterable[Question],
    scores: Mapping[str, Score],
    *,
    memory_scores: Mapping[str, Score] | None = None,
    metrics: Sequence[str] | None = None,
    threshold: str = ">0",
) -> MetricTable:
    """Metrics over all selected questions.

    Args:
        trajectories: what was run.
        questions: every selected question; one without a trajectory counts as unscored.
        scores: of the final answers, by trajectory id.
        memory_scores: of the readings from memory alone, by trajectory id.
        metrics: canonical names; all by default.
        threshold: binarisation for the cells.
    """
    found = list(trajectories)
    samples = 1 + max((trajectory.sample_index for trajectory in found), default=0)
    rows = rows_of(questions, found, scores, memory_scores, samples=samples, threshold=threshold)
    return evaluate_rows(rows, metrics)


def evaluate_rows(
    rows: Sequence[Row], metrics: Iterable[str] | None = None, label: str = "all"
) -> MetricTable:
    """Metrics over given rows."""
    names = list(METRICS) if metrics is None else list(metrics)
    return MetricTable(
        label=label, n_rows=len(rows), values={name: _value(metric_named(name), rows) for name in names}
    )


def evaluate_by(
    rows: Sequence[Row], labels_of: Callable[[Row], Iterable[str]], metrics: Iterable[str]
) -> list[MetricTable]:
    """Metrics for each label; a row may carry several labels, so the parts may overlap."""
    parts: dict[str, list[Row]] = {}
    for row in rows:
        for label in labels_of(row):
            parts.setdefault(label, []).append(row)
    names = list(metrics)
    return [evaluate_rows(part, names, label) for label, part in parts.items()]


def _value(metric: Metric, rows: Sequence[Row]) -> MetricValue:
    outcomes = [(metric.of(row), row) for row in rows]
    scored = [(outcome, row) for outcome, row in outcomes if isinstance(outcome, Ratio)]
    unscored = [row for outcome, row in outcomes if outcome is Missing.UNSCORED]
    n_undefined = len(rows) - len(scored) - len(unscored)
    ratios = [ratio for ratio, _ in scored]
    value = _ratio(ratios)
    ends = (
        _ratio([*ratios, *_added(bound, unscored)])
        for bound in (metric.worst, metric.best)
        if bound is not None
    )
    bounds = sorted(end for end in ends if end is not None)
    return MetricValue(
        name=metric.name,
        value=value,
        n=len(rows) - n_undefined,
        n_scored=len(scored),
        n_undefined=n_undefined,
        lowest=bounds[0] if bounds else value,
        highest=bounds[-1] if bounds else value,
        interval=_interval(metric, scored),
    )


def _added(bound: Bound, unscored: Iterable[Row]) -> list[Ratio]:
    """What the unscored rows would add."""
    return [bound(row) if callable(bound) else bound for row in unscored if bound is not None]


def _ratio(ratios: Sequence[Ratio]) -> float | None:
    total = sum(ratio.y for ratio in ratios)
    return sum(ratio.x for ratio in ratios) / total if total else None


def _interval(metric: Metric, scored: Sequence[tuple[Ratio, Row]]) -> Interval | None:
    if not metric.is_rate or not scored:
        return None
    return clustered_ratio_interval(
        [ratio.x for ratio, _ in scored],
        [ratio.y for ratio, _ in scored],
        [row.question.doc_id for _, row in scored],
    )
