"""Paired differences of ratios, and the split of a conditional rate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from looseleaf.statistics import Clusters, paired_difference, split_conditional_rate, wilson_interval
from looseleaf.statistics.clusters import Floats
from looseleaf.statistics.difference import null_influences


def test_a_plain_difference_is_the_paired_t_test() -> None:
    """With one question a document, Σx/Σy is a mean and the linearised test is Student's paired t."""
    generator = np.random.default_rng(2)
    a, b, ones = generator.random(40), generator.random(40), np.ones(40)
    found = paired_difference((a, ones), (b, ones))
    expected = stats.ttest_rel(a, b)
    ends = expected.confidence_interval()
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((ends.low, ends.high))


def test_unequal_documents_worked_by_hand() -> None:
    """Ten documents; A has 2 of 2 right in five and 0 of 2 in five, B 1 of 2 everywhere.

    θ_A = θ_B = ½; z_k = ±1/20, so Σz² = 10/400 and se = sqrt(10/9 · 1/40) = 1/6; t(.975; 9) = 2.262157.
    """
    twos = np.full(10, 2.0)
    found = paired_difference((np.array([2.0, 0.0] * 5), twos), (np.ones(10), twos))
    assert found.value == 0
    assert found.error == pytest.approx(1 / 6)
    assert found.p_value == pytest.approx(1)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((-2.262157 / 6, 2.262157 / 6), abs=1e-6)
    assert found.interval.clusters == 10


def test_what_documents_share_cancels() -> None:
    """Documents that are hard for both runs alike widen each run's own interval, not the difference."""
    hard = np.random.default_rng(0).integers(0, 11, 60).astype(float)
    tens = np.full(60, 10.0)
    better = np.minimum(hard + 1, 10)
    found = paired_difference((better, tens), (hard, tens))
    assert found.interval is not None
    assert (
        found.interval.high - found.interval.low < 0.03 < 0.07 < 0.1 * hard.std() * 2 * 1.96 / math.sqrt(60)
    )


def test_runs_that_never_differ_get_no_interval_of_width_zero() -> None:
    x, y = np.array([1.0, 0.0] * 10), np.ones(20)
    found = paired_difference((x, y), (x, y))
    bound = wilson_interval(0, 20)[1]
    assert found.interval is not None
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((0, -bound, bound))
    assert (found.interval.method, found.p_value) == ("Wilson on documents", 1)


def test_below_ten_documents_and_without_denominator() -> None:
    x, y = np.ones(9), np.full(9, 2.0)
    few = paired_difference((x, y), (x * 2, y))
    assert (few.value, few.interval, few.p_value) == (-0.5, None, None)
    none = paired_difference((x, y), (np.zeros(9), np.zeros(9)))
    assert none.value is None
    nine = np.array([1.0] * 9 + [0.0] * 21)
    thin = paired_difference((np.ones(30), np.ones(30)), (nine, nine))
    assert (thin.value, thin.interval) == (0, None)


def test_influences_under_the_null_are_obuchowskis_differences() -> None:
    """With equal denominators they are D_k/Σy; else they still add up to the difference."""
    y, other = np.array([2.0, 3.0, 5.0]), np.array([1.0, 3.0, 4.0])
    a, b = np.array([1.0, 3.0, 0.0]), np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(null_influences((a, y), (b, y)), (a - b) / 10)
    assert null_influences((a, y), (b, other)).sum() == pytest.approx(4 / 10 - 5 / 8)


def test_a_conditional_split_worked_by_hand() -> None:
    """A is right on rows 0–3 and misses 1 of them in memory; B is right on 2–5 and misses 3.

    Both right: rows 2 and 3; A misses neither, B misses row 3. P_A = 1/4, P_B = 3/4: −½ in all, 0 − ½ = −½ within,
    0 composition. If A also missed row 2 in place of row 0, within would be ½ − ½ = 0 and composition −½.
    """
    right = ([1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1])
    clusters = Clusters(range(6))
    found = split_conditional_rate(([1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]), right, clusters)
    assert (found.first, found.second, found.n_first, found.n_second) == (0.25, 0.75, 4, 4)
    assert (found.first_common, found.second_common, found.n_common) == (0, 0.5, 2)
    assert (found.total.value, found.within.value, found.composition.value) == (-0.5, -0.5, 0)
    moved = split_conditional_rate(([0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]), right, clusters)
    assert (moved.total.value, moved.within.value, moved.composition.value) == (-0.5, 0, -0.5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.booleans()] * 4, st.integers(0, 30)), min_size=30, max_size=120))
def test_within_and_composition_add_up(rows: list[tuple[bool, bool, bool, bool, int]]) -> None:
    a, b, miss_a, miss_b, documents = (np.array(column) for column in zip(*rows, strict=True))
    found = split_conditional_rate((miss_a, miss_b), (a, b), Clusters(documents.tolist()))
    swapped = split_conditional_rate((miss_b, miss_a), (b, a), Clusters(documents.tolist()))
    if found.within.value is None:
        assert found.composition.value is None
        return
    assert found.total.value is not None
    assert found.composition.value is not None
    assert found.within.value + found.composition.value == pytest.approx(found.total.value)
    assert swapped.within.value == pytest.approx(-found.within.value)
    if found.within.interval and found.total.interval and found.composition.interval:
        assert found.within.interval.low <= found.within.value <= found.within.interval.high


def test_sums_by_document() -> None:
    clusters = Clusters(["b", "a", "b", "c"])
    assert clusters.names == ("b", "a", "c")
    np.testing.assert_array_equal(clusters.sums([1, 2, 4, 8]), [5, 2, 8])
    stacked: Floats = clusters.sums([[1, 2, 4, 8], [1, 1, 1, 1]])
    np.testing.assert_array_equal(stacked, [[5, 2, 8], [2, 1, 1]])
    assert Clusters([]).sums([]).shape == (0,)
