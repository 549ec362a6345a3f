"""Intervals against scipy, against published values, and against one worked by hand."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

from looseleaf.statistics import MIN_CLUSTERS, clustered_ratio_interval, student_t_quantile, wilson_interval


@pytest.mark.parametrize("degrees", [*range(1, 40), 60, 99, 120, 243, 1000, 2001])
def test_t_quantiles_are_scipys(degrees: int) -> None:
    for probability in (0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9995):
        expected = float(stats.t.ppf(probability, degrees))
        assert student_t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (14, 500, 1.7, 4.6),
        (181, 500, 32.1, 40.5),
        (222, 500, 40.1, 48.8),
        (6, 100, 2.8, 12.5),
    ],
)
def test_wilson_gives_the_published_intervals(successes: int, n: int, low: float, high: float) -> None:
    """AWM (arXiv 2608.25618): controlled intervention and manual audit, in percent."""
    found = wilson_interval(successes, n)
    assert [round(100 * end, 1) for end in found] == [low, high]


def test_wilson_at_the_ends_and_without_rows() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    z2 = stats.norm.ppf(0.975) ** 2
    assert wilson_interval(0, 10) == pytest.approx((0.0, z2 / (10 + z2)))
    assert wilson_interval(10, 10) == pytest.approx((10 / (10 + z2), 1.0))


@pytest.mark.parametrize(("successes", "n"), [(1, 7), (3, 3), (50, 120)])
def test_wilson_is_scipys(successes: int, n: int) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson_interval(successes, n) == pytest.approx((expected.low, expected.high))


def test_a_clustered_ratio_worked_by_hand() -> None:
    """Ten documents of two questions; five have both right, five none.

    θ = 10/20 = .5; residuals are ±1, so Σ = 10; se = sqrt(10/9 · 10)/20 = (10/3)/20 = 1/6; on the logit scale
    se/(θ(1−θ)) = 2/3; t(.975; 9) = 2.262157; half = 1.508105; 1/(1 + e^1.508105) = .181220.
    """
    found = clustered_ratio_interval([1, 1] * 5 + [0, 0] * 5, [1] * 20, [k // 2 for k in range(20)])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.181220, 0.818780), abs=1e-6)
    assert (found.clusters, found.method) == (10, "clustered ratio, logit scale")


def test_unequal_documents_worked_by_hand() -> None:
    """Twelve documents with y = 1, 2, …, 12 questions; x = y in every third, else 0.

    Σy = 78, Σx = 3 + 6 + 9 + 12 = 30, θ = 5/13. Residuals: y·8/13 where right, −y·5/13 where not; the squares of y
    add up to 650, those of the right ones to 270, so Σ = (270·64 + 380·25)/169 = 26780/169.
    se = sqrt(12/11 · 26780/169)/78.
    """
    sizes = range(1, 13)
    found = clustered_ratio_interval(
        [float(size % 3 == 0) for size in sizes for _ in range(size)],
        [1.0 for size in sizes for _ in range(size)],
        [f"doc {size}" for size in sizes for _ in range(size)],
    )
    theta = 5 / 13
    half = 2.200985 * math.sqrt(12 / 11 * 26780 / 169) / 78 / (theta * (1 - theta))
    centre = math.log(theta / (1 - theta))
    assert found is not None
    assert found.low == pytest.approx(1 / (1 + math.exp(half - centre)), abs=1e-6)
    assert found.high == pytest.approx(1 / (1 + math.exp(-half - centre)), abs=1e-6)
    assert found.clusters == 12


def test_below_ten_documents_there_is_no_interval() -> None:
    assert MIN_CLUSTERS == 10
    assert clustered_ratio_interval([1] * 900, [1] * 900, [k % 9 for k in range(900)]) is None
    assert clustered_ratio_interval([1] * 900, [1] * 900, [k % 10 for k in range(900)]) is not None
    assert clustered_ratio_interval([], [], []) is None


def test_documents_that_add_nothing_to_the_denominator_do_not_count() -> None:
    x, y = [1.0, 0.0] * 5, [1.0] * 10
    assert clustered_ratio_interval([*x[:9], 0.0], [*y[:9], 0.0], list(range(10))) is None
    with_empty = clustered_ratio_interval([*x, 0.0], [*y, 0.0], list(range(11)))
    assert with_empty == clustered_ratio_interval(x, y, list(range(10)))


def test_at_zero_and_one_it_is_wilson_over_documents() -> None:
    """n is the number of documents, not of questions: 400 questions of 10 documents are no 400 observations."""
    clusters = [k % 10 for k in range(400)]
    none = clustered_ratio_interval([0] * 400, [1] * 400, clusters)
    every = clustered_ratio_interval([1] * 400, [1] * 400, clusters)
    assert none is not None
    assert every is not None
    assert (none.low, none.high) == pytest.approx(wilson_interval(0, 10))
    assert (every.low, every.high) == pytest.approx(wilson_interval(10, 10))
    assert none.method == every.method == "Wilson on documents"


def test_documents_that_do_not_vary_give_no_interval_of_width_zero() -> None:
    """One of three right in every document: the linearised error is 0, which says nothing about other documents."""
    found = clustered_ratio_interval([1, 0, 0] * 12, [1] * 36, [k // 3 for k in range(36)])
    assert found is not None
    assert (found.low, found.high) == pytest.approx(wilson_interval(4, 12))
    assert found.method == "Wilson on documents"


def test_order_of_rows_and_names_of_documents_do_not_matter() -> None:
    rng = random.Random(5)
    rows = [(float(rng.random() < 0.4), rng.randrange(1, 4), f"d{rng.randrange(15)}") for _ in range(100)]
    rows = [(x * y, float(y), cluster) for x, y, cluster in rows]
    shuffled = rng.sample(rows, len(rows))
    first = clustered_ratio_interval(*zip(*rows, strict=True))
    second = clustered_ratio_interval(*zip(*shuffled, strict=True))
    assert first is not None
    assert second is not None
    assert (first.low, first.high) == pytest.approx((second.low, second.high))
    assert 0 < first.low < sum(x for x, _, _ in rows) / sum(y for _, y, _ in rows) < first.high < 1


def test_extreme_ratios_stay_inside_zero_and_one() -> None:
    x = [1.0] + [0.0] * 9_999
    found = clustered_ratio_interval(x, [1.0] * 10_000, [k % 10 for k in range(10_000)])
    assert found is not None
    assert 0 <= found.low < 0.0001 < found.high <= 1


def test_the_interval_covers() -> None:
    """Of 400 seeded samples of 40 documents whose difficulty varies, 95 % ± 4 hold the true rate."""
    rng = random.Random(11)
    hits = 0
    for _ in range(400):
        rows = [
            (float(rng.random() < rate), document)
            for document in range(40)
            for rate in [rng.betavariate(1.2, 1.8)]
            for _ in range(8)
        ]
        found = clustered_ratio_interval([x for x, _ in rows], [1] * len(rows), [d for _, d in rows])
        assert found is not None
        hits += found.low <= 0.4 <= found.high
    assert 0.91 <= hits / 400 <= 0.99
