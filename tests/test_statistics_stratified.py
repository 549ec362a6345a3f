"""Estimates from a stratified sample: worked by hand, exactly unbiased, never surer than the labels allow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from looseleaf.statistics import Stratum, stratified_ratio, wilson_interval

RATE = [(0.0, 1.0), (1.0, 1.0)]


def stratum(judge: Sequence[float], labelled: Sequence[int], human: Sequence[float]) -> Stratum:
    """A plain rate: verdicts of all rows, which were labelled, and what people said of these."""
    predicted = np.column_stack([judge, np.ones(len(judge))])
    said = np.column_stack([human, np.ones(len(human))]) if len(human) else np.empty((0, 2))
    return Stratum(predicted=predicted, predicted_labelled=predicted[list(labelled)], human=said)


def test_worked_by_hand() -> None:
    """Stratum A: 60 rows, judge says 1; 6 labelled, 4 of them right. Stratum B: 40 rows, 0; 5 labelled, 1 right.

    θ̂ = .6·(1 − 2/6) + .4·(0 + 1/5) = .48. s² of (0,0,0,0,−1,−1) = .2667; of (0,0,0,0,1) = .2.
    Var = .36·.9·.2667/6 + .16·.875·.2/5 = .0144 + .0056 = .02.
    """
    found = stratified_ratio(
        {
            "A": stratum([1] * 60, range(6), [1, 1, 1, 1, 0, 0]),
            "B": stratum([0] * 40, range(5), [0, 0, 0, 0, 1]),
        },
        RATE,
    )
    assert found.value == pytest.approx(0.48)
    assert found.error == pytest.approx(math.sqrt(0.02))
    assert found.judged == 0.6
    assert (found.rows, found.labelled, found.silent_strata, found.base) == (100, 11, 0, 1)
    assert found.interval is not None
    half = 1.959964 * math.sqrt(0.02)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.48 - half, 0.48 + half), abs=1e-6)


def test_a_stratum_without_an_error_is_not_certain() -> None:
    """50 rows that the judge holds for right, 10 labelled, all right: others may be wrong, none can be more right.

    n = 10 / (1 − 10/50) = 12.5; the bound of 0 in 12.5 is z²/(12.5 + z²) = .2351, downwards only.
    """
    found = stratified_ratio({"A": stratum([1] * 50, range(10), [1] * 10)}, RATE)
    assert found.interval is not None
    assert (found.value, found.error, found.silent_strata) == (1, 0, 1)
    assert (found.interval.low, found.interval.high) == pytest.approx((1 - wilson_interval(0, 12.5)[1], 1))
    assert 1 - found.interval.low == pytest.approx(0.2351, abs=1e-4)


def test_a_stratum_of_nothing_but_errors_is_not_certain_either() -> None:
    found = stratified_ratio({"A": stratum([1] * 50, range(10), [0] * 10)}, RATE)
    assert found.interval is not None
    assert (found.value, found.interval.low) == (0, 0)
    assert found.interval.high == pytest.approx(wilson_interval(0, 12.5)[1])


def test_silent_strata_are_bounded_together() -> None:
    """Two strata drawn in proportion are one simple sample of both, so they have its bound."""
    two = {name: stratum([1] * 50, range(10), [1] * 10) for name in ("A", "B")}
    one = {"A": stratum([1] * 100, range(20), [1] * 20)}
    both, whole = stratified_ratio(two, RATE).interval, stratified_ratio(one, RATE).interval
    assert both is not None
    assert whole is not None
    assert both.low == pytest.approx(whole.low)


def test_with_every_row_labelled_nothing_is_left_to_chance() -> None:
    found = stratified_ratio(
        {"A": stratum([1] * 4, range(4), [1, 1, 0, 1]), "B": stratum([0], range(1), [1])}, RATE
    )
    assert found.interval is not None
    assert (found.value, found.error, found.interval.low, found.interval.high) == pytest.approx(
        (0.8, 0, 0.8, 0.8)
    )


@pytest.mark.parametrize("labelled", [0, 1])
def test_a_stratum_without_labels_is_refused(labelled: int) -> None:
    strata = {
        "A": stratum([1] * 9, range(3), [1, 0, 1]),
        "B": stratum([0] * 9, range(labelled), [0] * labelled),
    }
    with pytest.raises(ValueError, match=f"'B' has {labelled} labels"):
        stratified_ratio(strata, RATE)


def test_it_is_unbiased_over_every_sample_there_is() -> None:
    """All 10 · 15 samples of two and two rows: the mean of the estimates is the truth, whatever the judge says."""
    judge = {"A": [1, 1, 1, 1, 1], "B": [0, 0, 1, 0, 0, 0]}
    truth = {"A": [1, 0, 1, 1, 0], "B": [0, 1, 1, 0, 0, 1]}
    estimates, variances = [], []
    for a, b in itertools.product(itertools.combinations(range(5), 2), itertools.combinations(range(6), 2)):
        drawn = {
            name: stratum(judge[name], rows, [truth[name][row] for row in rows])
            for name, rows in (("A", a), ("B", b))
        }
        found = stratified_ratio(drawn, RATE)
        assert found.value is not None
        assert found.error is not None
        estimates.append(found.value)
        variances.append(found.error**2)
    assert np.mean(estimates) == pytest.approx(6 / 11)
    assert np.mean(variances) == pytest.approx(np.var(estimates))  # the variance is unbiased too


def test_a_ratio_is_linearised() -> None:
    """P = x/y with y on some rows only. Of 40 rows the judge has x = 1 on 10 and y = 1 on 20; of 8 labelled rows one
    with y loses its x and one without gains both.

    x: .25 + 0/8 = .25; y: .5 + 1/8 = .625; θ̂ = .4. Residuals x − .4·y: −1 and 1 − .4 = .6, six zeros; mean −.05,
    Σ² = 1.36, s² = (1.36 − 8·.0025)/7 = .191429; Var = (1 − 8/40)·s²/8 / .625² = .049006.
    """
    judged = np.array([[1.0, 1.0]] * 10 + [[0.0, 1.0]] * 10 + [[0.0, 0.0]] * 20)
    seen = judged[[0, 1, 2, 10, 11, 20, 21, 22]]
    human = seen.copy()
    human[0] = [0, 1]
    human[5] = [1, 1]
    found = stratified_ratio(
        {"all": Stratum(predicted=judged, predicted_labelled=seen, human=human)}, [(0, 0), (0, 1), (1, 1)]
    )
    assert found.value == pytest.approx(0.4)
    assert found.base == pytest.approx(0.625)
    assert found.error == pytest.approx(math.sqrt(0.049006), abs=1e-5)
    assert found.judged == 0.5


def test_a_rate_of_no_rows_is_undefined() -> None:
    nothing = np.zeros((10, 2))
    found = stratified_ratio(
        {"all": Stratum(predicted=nothing, predicted_labelled=nothing[:4], human=nothing[:4])}, [(0, 0)]
    )
    assert (found.value, found.interval, found.judged, found.rows) == (None, None, None, 10)
