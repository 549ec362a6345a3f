"""Comparing one metric of two runs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from looseleaf.lab.compare_pairs import PairedQuestion, PairedSums, paired_sums
from looseleaf.lab.compare_record import MetricComparison
from looseleaf.metrics import Metric, Ratio, Row
from looseleaf.metrics.metric import UNSCORED, Missing
from looseleaf.statistics import (
    MIN_CLUSTERS,
    BootstrapInterval,
    Difference,
    Interval,
    SampleSize,
    TestResult,
    clustered_mean_interval,
    clustered_ratio_interval,
    obuchowski_test,
    paired_difference,
    percentile_interval,
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
    pairs: Sequence[PairedQuestion],
    metric: Metric,
    *,
    ratios: Floats | None = None,
    sums: PairedSums | None = None,
) -> MetricComparison:
    """One metric over paired questions.

    Args:
        pairs: the questions that both runs have.
        metric: the metric.
        ratios: the metric in each resample of the documents, of both runs, shape (2, resamples); no bootstrap without.
        sums: what `paired_sums` says of the metric, where that is known already.
    """
    sums = paired_sums(pairs, metric) if sums is None else sums
    first, second = sums.first, sums.second
    difference = _difference(metric, first, second)
    test, flip = _test(sums, first, second), _sign_flip(sums, first, second)
    lowest, highest = _bounds(sums)
    return MetricComparison(
        name=metric.name,
        percent=metric.percent,
        first=_value(*sums.totals[0]),
        second=_value(*sums.totals[1]),
        n=sums.applies - sums.dropped,
        n_applies=sums.applies,
        documents=_documents(first, second),
        difference=difference,
        lowest=lowest,
        highest=highest,
        bootstrap=None if ratios is None else _bootstrap(first, second, ratios),
        first_interval=_own_interval(metric, first),
        second_interval=_own_interval(metric, second),
        test=test,
        sign_flip=flip,
        p_value=_p_value(test, difference, flip),
        sample_size=_size(metric, sums, difference),
    )


def _value(x: float, y: float) -> float | None:
    return x / y if y > 0 else None


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
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], ratios: Floats
) -> BootstrapInterval | None:
    fewest = int(min(np.sum(first[1] > 0), np.sum(second[1] > 0)))
    return percentile_interval(ratios[0] - ratios[1], fewest)


def _size(metric: Metric, sums: PairedSums, difference: Difference) -> SampleSize | None:
    if not metric.percent or not difference.error:
        return None
    return sample_size(difference.error, sums.applies - sums.dropped, _documents(sums.first, sums.second))


def _bounds(sums: PairedSums) -> tuple[float | None, float | None]:
    """A − B if unscored rows fell one way for A and the other way for B."""
    a, b = (sorted(end for end in ends if end is not None) for ends in sums.ends)
    return (a[0] - b[-1], a[-1] - b[0]) if a and b else (None, None)
