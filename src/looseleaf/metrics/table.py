"""Evaluating metrics over rows: value, counts, bounds and interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from looseleaf.metrics.catalogue import METRICS, metric_named
from looseleaf.metrics.metric import Metric, Missing, Ratio
from looseleaf.metrics.row import Row, rows_of
from looseleaf.question import Question
from looseleaf.score import Score
from looseleaf.statistics import Interval, clustered_ratio_interval
from looseleaf.trajectory import Trajectory

__all__ = ["MetricTable", "MetricValue", "evaluate", "evaluate_by", "evaluate_labelled", "evaluate_rows"]


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
    rows: Iterable[Row], metrics: Iterable[str] | None = None, label: str = "all"
) -> MetricTable:
    """Metrics over given rows, which are looked at once and one at a time."""
    return evaluate_labelled(rows, lambda row: (label,), metrics).get(label) or _empty(label, metrics)


def evaluate_by(
    rows: Iterable[Row], labels_of: Callable[[Row], Iterable[str]], metrics: Iterable[str]
) -> list[MetricTable]:
    """Metrics for each label; a row may carry several labels, so the parts may overlap."""
    return list(evaluate_labelled(rows, labels_of, metrics).values())


def evaluate_labelled(
    rows: Iterable[Row], labels_of: Callable[[Row], Iterable[str]], metrics: Iterable[str] | None = None
) -> dict[str, MetricTable]:
    """Metrics for each label in order of first appearance; rows are looked at once and one at a time.

    What is kept is, for each label and metric, two sums a document.
    """
    chosen = [metric_named(name) for name in (METRICS if metrics is None else metrics)]
    parts: dict[str, _Part] = {}
    for row in rows:
        outcomes = [metric.of(row) for metric in chosen]
        for label in labels_of(row):
            part = parts.get(label)
            if part is None:
                part = parts[label] = _Part(chosen)
            part.add(row, outcomes)
    return {label: part.table(label) for label, part in parts.items()}


def _empty(label: str, metrics: Iterable[str] | None) -> MetricTable:
    return _Part([metric_named(name) for name in (METRICS if metrics is None else metrics)]).table(label)


class _Part:
    """Sums of several metrics over one set of rows."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._sums = [_Sums(metric) for metric in metrics]
        self._rows = 0

    def add(self, row: Row, outcomes: Sequence[Ratio | Missing]) -> None:
        """One row with what it adds to each metric."""
        self._rows += 1
        document = row.question.doc_id
        for sums, outcome in zip(self._sums, outcomes, strict=True):
            if isinstance(outcome, Ratio):
                sums.add(document, outcome)
            elif outcome is Missing.UNSCORED:
                sums.add_unscored(row)

    def table(self, label: str) -> MetricTable:
        """The metrics."""
        return MetricTable(
            label=label,
            n_rows=self._rows,
            values={sums.metric.name: sums.value(self._rows) for sums in self._sums},
        )


class _Sums:
    """One metric's sums over one set of rows."""

    __slots__ = ("_best", "_documents", "_scored", "_unscored", "_worst", "_x", "_y", "metric")

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._documents: dict[str, list[float]] = {}
        self._scored = self._unscored = 0
        self._x = self._y = 0.0
        self._worst: list[float] = [0.0, 0.0]
        self._best: list[float] = [0.0, 0.0]

    def add(self, document: str, ratio: Ratio) -> None:
        x, y = ratio
        self._scored += 1
        self._x += x
        self._y += y
        if self.metric.is_rate:
            sums = self._documents.get(document)
            if sums is None:
                self._documents[document] = [x, y]
            else:
                sums[0] += x
                sums[1] += y

    def add_unscored(self, row: Row) -> None:
        """What the row would add at worst and at best."""
        self._unscored += 1
        for bound, sums in ((self.metric.worst, self._worst), (self.metric.best, self._best)):
            if bound is not None:
                x, y = bound(row) if callable(bound) else bound
                sums[0] += x
                sums[1] += y

    def value(self, rows: int) -> MetricValue:
        """The metric, of so many rows in all."""
        value = _quotient(self._x, self._y)
        ends = (
            _quotient(self._x + sums[0], self._y + sums[1])
            for bound, sums in ((self.metric.worst, self._worst), (self.metric.best, self._best))
            if bound is not None
        )
        bounds = sorted(end for end in ends if end is not None)
        return MetricValue(
            name=self.metric.name,
            value=value,
            n=self._scored + self._unscored,
            n_scored=self._scored,
            n_undefined=rows - self._scored - self._unscored,
            lowest=bounds[0] if bounds else value,
            highest=bounds[-1] if bounds else value,
            interval=self._interval(),
        )

    def _interval(self) -> Interval | None:
        if not self.metric.is_rate or not self._scored:
            return None
        sums = self._documents.values()
        return clustered_ratio_interval([x for x, _ in sums], [y for _, y in sums], range(len(sums)))


def _quotient(x: float, y: float) -> float | None:
    return x / y if y else None
