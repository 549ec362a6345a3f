"""Families of tests, several seeds, and how many questions it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from looseleaf.statistics import (
    clustered_mean_interval,
    holm,
    independent_interval,
    sample_size,
    seed_summary,
)
from looseleaf.statistics.distributions import student_t_p_value


def test_holm_worked_by_hand() -> None:
    """Sorted .01, .03, .04, .20 of four: .04, .09, .09 (not .08: it may not fall), .20."""
    found = holm({"a": 0.04, "b": 0.01, "c": 0.20, "d": 0.03})
    assert found == pytest.approx({"a": 0.09, "b": 0.04, "c": 0.20, "d": 0.09})
    assert list(found) == ["a", "b", "c", "d"]


def test_a_family_does_not_shrink_by_tests_that_fail() -> None:
    assert holm({"a": 0.02, "b": None, "c": None}) == pytest.approx({"a": 0.06, "b": 1.0, "c": 1.0})
    assert holm({}) == {}


def test_seeds_worked_by_hand() -> None:
    """Three questions, two seeds: seed means 2/3 and 1/3, mean ½, sd sqrt(1/18); variances 0, ½, 0."""
    found = seed_summary([[1, 1], [1, 0], [0, 0]], np.ones((3, 2)))
    assert found.values == pytest.approx((2 / 3, 1 / 3))
    assert found.mean == pytest.approx(0.5)
    assert found.sd == pytest.approx(math.sqrt(1 / 18))
    assert found.question_variance == pytest.approx(0.5 / 3)
    assert found.questions == 3


def test_means_that_agree_can_hide_questions_that_do_not() -> None:
    flipping = np.array([[1, 0], [0, 1]] * 20)
    found = seed_summary(flipping, np.ones_like(flipping))
    assert (found.sd, found.question_variance) == (0, 0.5)


def test_unscored_seeds_are_left_out() -> None:
    nan = float("nan")
    found = seed_summary([[1, nan], [0, nan], [1, nan]], [[1, nan], [1, nan], [1, nan]])
    assert found.values == (pytest.approx(2 / 3), None)
    assert (found.sd, found.question_variance, found.questions) == (None, None, 0)


def test_the_power_line() -> None:
    """(1.959964 + .841621)² = 7.8489; se .01 at n = 1,000: 1,000 · 7.8489 · (.01/.02)² = 1,962.2, up to 2,000."""
    found = sample_size(0.01, 1_000, 125)
    assert found is not None
    assert (found.questions, found.documents) == (2_000, 250)
    assert found.text() == "to see 2 points with 80 % power you need n ≈ 2,000 questions (250 documents)"
    smaller = sample_size(0.01, 1_000, 125, difference=0.01)
    assert smaller is not None
    assert smaller.questions == 7_900
    assert sample_size(0.0, 1_000, 125) is None


def test_the_power_line_keeps_its_word() -> None:
    """At the size it names, a true difference of two points is rejected 80 % of the time."""
    found = sample_size(0.01, 1_000, 125, difference=0.02)
    assert found is not None
    error = 0.01 * math.sqrt(1_000 / found.questions)
    assert stats.norm.sf(1.959964 - 0.02 / error) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("degrees", [1, 2, 9, 36, 134])
def test_two_sided_t_is_scipys(degrees: int) -> None:
    for t in (0.0, 0.5, 1.96, -2.5, 7.0):
        assert student_t_p_value(t, degrees) == pytest.approx(2 * stats.t.sf(abs(t), degrees), abs=1e-12)


def test_an_interval_for_what_is_no_rate() -> None:
    """Gaps of −1, 0 and 1 in 12 documents of one question: Student's t interval of their mean."""
    gaps = [1.0, 0.0, -1.0, 1.0] * 3
    found = clustered_mean_interval(gaps, [1.0] * 12, range(12))
    expected = stats.t.interval(0.95, 11, np.mean(gaps), stats.sem(gaps))
    assert found is not None
    assert (found.low, found.high) == pytest.approx(expected)
    assert clustered_mean_interval(gaps[:9], [1.0] * 9, range(9)) is None
    assert clustered_mean_interval([2.0] * 12, [1.0] * 12, range(12)) is None


def test_what_assumes_independence_says_so() -> None:
    found = independent_interval(6, 100)
    assert found.method == "Wilson, assumes independent questions"
    assert (round(100 * found.low, 1), round(100 * found.high, 1), found.clusters) == (2.8, 12.5, 100)
