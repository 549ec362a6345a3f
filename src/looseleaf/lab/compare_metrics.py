"""Comparing one metric of two runs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from looseleaf.lab.compare_pairs import PairedQuestion, PairedSums, paired_sums
from looseleaf.lab.compare_record import MetricComparison
from looseleaf.metrics import Metric, Ratio, Row
from looseleaf.metrics.metric import UNSCORED, Bound, Missing
from looseleaf.statistics import (
    MIN_CLUSTERS,
    BootstrapInterval,
    Difference,
    Interval,
    SampleSize,
    TestResult,
    bootstrap_ratios,
    clustered_mean_interval,
    clustered_ratio_interval,
    obuchowski_test,
    paired_difference,
    percentile_interval,
    resample_weights,
    sample_size,
    sign_flip_test,
)
from looseleaf.statistics.clusters import Floats
from looseleaf.statistics.difference import null_influences

__all__ = ["CORRECT", "MEMORY_CORRECT", "compare_metric"]


def _correct(row: Row) -> Ratio | Missing:
    return UNSCORED if row.answer_correct is None else Ratio(float(row.answer_correct))


def _memory_correct(row: Row) -> Ratio | Missing:
    if row.memory is None:
        return Missing.UNDEFINED
    return UNSCORED if row.memory_correct is None else Ratio(float(row.memory_correct))


CORRECT = Metric(name="s_ans", doc="share of questions with a correct final answer", of=_correct)
MEMORY_CORRECT = Metric(
    name="s_mem", doc="share of questions that the memory alone answers", of=_memory_correct
)


def compare_metric(
    pairs: Sequence[PairedQuestion], metric: Metric, weights: Floats | None = None
) -> MetricComparison:
    """One metric over paired questions.

    Args:
        pairs: the questions that both runs have.
        metric: the metric.
        weights: bootstrap weights of the documents of `pairs`; no bootstrap without. Documents of which no question
            counts keep their weight and add nothing.
    """
    sums = paired_sums(pairs, metric)
    first, second = sums.by_document()
    difference = _difference(metric, first, second)
    test, flip = _test(sums, first, second), _sign_flip(sums, first, second)
    lowest, highest = _bounds(metric, pairs)
    return MetricComparison(
        name=metric.name,
        percent=metric.percent,
        first=_value(*sums.first),
        second=_value(*sums.second),
        n=sums.applies - sums.dropped,
        n_applies=sums.applies,
        documents=_documents(first, second),
        difference=difference,
        lowest=lowest,
        highest=highest,
        bootstrap=None if weights is None else _bootstrap(pairs, sums, weights),
        first_interval=_own_interval(metric, first),
        second_interval=_own_interval(metric, second),
        test=test,
        sign_flip=flip,
        p_value=_p_value(test, difference, flip),
        sample_size=_size(metric, sums, difference),
    )


def _value(x: Floats, y: Floats) -> float | None:
    total = float(y.sum())
    return float(x.sum()) / total if total > 0 else None


def _documents(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> int:
    return int(np.sum((first[1] > 0) | (second[1] > 0)))


def _difference(metric: Metric, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Difference:
    found = paired_difference(first, second)
    if not metric.is_rate and found.error == 0.0:  # the Wilson bound speaks of rates only
        return Difference(value=found.value)
    return found


def _own_interval(metric: Metric, side: tuple[Floats, Floats]) -> Interval | None:
    x, y = side
    make = clustered_ratio_interval if metric.is_rate else clustered_mean_interval
    return make(x, y, range(len(x))) if len(x) else None


def _test(sums: PairedSums, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> TestResult | None:
    """Obuchowski's test of rows that pair one to one, with documents enough."""
    used = first[1] > 0
    if not sums.same_rows or used.sum() < MIN_CLUSTERS:
        return None
    return obuchowski_test((first[0] - second[0])[used])


def _sign_flip(
    sums: PairedSums, first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> TestResult | None:
    """Sign flips of the documents' differences; of their influences where rows do not pair."""
    if not first[1].any() or not second[1].any():
        return None
    used = (first[1] > 0) | (second[1] > 0)
    if sums.same_rows:
        return sign_flip_test((first[0] - second[0])[used])
    found = sign_flip_test(null_influences(first, second)[used])
    return msgspec.structs.replace(found, method=f"{found.method}, linearised")


def _p_value(test: TestResult | None, difference: Difference, flip: TestResult | None) -> float | None:
    if test is not None:
        return test.p_value
    return difference.p_value if difference.p_value is not None or flip is None else flip.p_value


def _bootstrap(
    pairs: Sequence[PairedQuestion], sums: PairedSums, weights: Floats
) -> BootstrapInterval | None:
    first, second = sums.by_document()
    places = {name: place for place, name in enumerate(dict.fromkeys(p.question.doc_id for p in pairs))}
    kept = weights[:, [places[str(name)] for name in sums.clusters.names]]
    ratios = bootstrap_ratios(np.array([first[0], second[0]]), np.array([first[1], second[1]]), kept)
    fewest = int(min(np.sum(first[1] > 0), np.sum(second[1] > 0)))
    return percentile_interval(ratios[0] - ratios[1], fewest)


def _size(metric: Metric, sums: PairedSums, difference: Difference) -> SampleSize | None:
    if not metric.percent or not difference.error:
        return None
    return sample_size(difference.error, sums.applies - sums.dropped, _documents(*sums.by_document()))


def _bounds(metric: Metric, pairs: Sequence[PairedQuestion]) -> tuple[float | None, float | None]:
    """A − B if unscored rows fell one way for A and the other way for B."""
    a = _extremes(metric, [row for pair in pairs for row in pair.first])
    b = _extremes(metric, [row for pair in pairs for row in pair.second])
    return (a[0] - b[1], a[1] - b[0]) if a and b else (None, None)


def _extremes(metric: Metric, rows: Sequence[Row]) -> tuple[float, float] | None:
    ends = [_filled(metric, rows, bound) for bound in (metric.worst, metric.best)]
    known = sorted(end for end in ends if end is not None)
    return (known[0], known[-1]) if known else None


def _filled(metric: Metric, rows: Sequence[Row], bound: Bound) -> float | None:
    """The metric with every unscored row at the bound; `None` where nothing bounds it."""
    x = y = 0.0
    for row in rows:
        outcome = metric.of(row)
        if outcome is Missing.UNSCORED:
            if bound is None:
                return None
            outcome = bound(row) if callable(bound) else bound
        if isinstance(outcome, Ratio):
            x, y = x + outcome.x, y + outcome.y
    return x / y if y else None


def document_weights(pairs: Sequence[PairedQuestion]) -> Floats:
    """Bootstrap weights of the documents of these questions, in order of first appearance."""
    return resample_weights(len({pair.question.doc_id for pair in pairs}))
