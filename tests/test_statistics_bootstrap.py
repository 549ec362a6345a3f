"""The clustered bootstrap: what a resample is, what is undefined, and that it agrees with the formula."""

from __future__ import annotations

import numpy as np
import pytest

from looseleaf.statistics import (
    Clusters,
    bootstrap_ratios,
    clustered_ratio_interval,
    percentile_interval,
    resample_weights,
)


def test_a_resample_draws_as_many_documents_as_there_are() -> None:
    weights = resample_weights(37, resamples=2_000, seed=1)
    assert weights.shape == (2_000, 37)
    assert set(weights.sum(axis=1)) == {37}
    assert weights.mean() == 1
    assert weights.var() == pytest.approx(36 / 37, abs=0.02)  # multinomial: K · 1/K · (1 − 1/K)
    np.testing.assert_array_equal(weights, resample_weights(37, resamples=2_000, seed=1))
    assert not np.array_equal(weights, resample_weights(37, resamples=2_000, seed=2))


def test_ratios_are_those_of_the_drawn_documents() -> None:
    x, y = np.array([1.0, 0.0, 3.0]), np.array([2.0, 4.0, 3.0])
    weights = np.array([[3.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
    np.testing.assert_allclose(bootstrap_ratios(x, y, weights), [0.5, 4 / 9, 6 / 10])


def test_resamples_without_denominator_are_counted_and_left_out() -> None:
    """One document of twelve carries the denominator: (11/12)^12 = .352 of resamples miss it."""
    y = np.zeros(12)
    y[3] = 5
    ratios = bootstrap_ratios(0.4 * y, y, resample_weights(12, resamples=5_000))
    found = percentile_interval(ratios, 12)
    assert found is not None
    assert found.undefined / found.resamples == pytest.approx((11 / 12) ** 12, abs=0.03)
    assert (found.low, found.high) == pytest.approx((0.4, 0.4))
    assert percentile_interval(ratios, 1) is None
    assert percentile_interval(np.full(100, np.nan), 12) is None


def test_it_agrees_with_the_formula_where_documents_are_many() -> None:
    generator = np.random.default_rng(0)
    documents = np.repeat(np.arange(300), generator.integers(1, 9, 300))
    y = (generator.random(len(documents)) < 0.8).astype(float)
    x = y * (generator.random(len(documents)) < generator.beta(2, 3, 300)[documents])
    clusters = Clusters(documents.tolist())
    ratios = bootstrap_ratios(clusters.sums(x), clusters.sums(y), resample_weights(300))
    found = percentile_interval(ratios, 300)
    formula = clustered_ratio_interval(x, y, documents.tolist())
    assert found is not None
    assert formula is not None
    assert (found.low, found.high) == pytest.approx((formula.low, formula.high), abs=0.004)
    assert (found.resamples, found.undefined) == (10_000, 0)


def test_metrics_share_their_resamples() -> None:
    """So a difference of two metrics, or of two runs, has a bootstrap of its own."""
    sums = np.random.default_rng(0).random((2, 40))
    ones = np.ones((2, 40))
    weights = resample_weights(40, resamples=500)
    together = bootstrap_ratios(sums, ones, weights)
    np.testing.assert_allclose(together[1], bootstrap_ratios(sums[1], ones[1], weights))
    np.testing.assert_allclose(
        together[0] - together[1], bootstrap_ratios(sums[0] - sums[1], ones[0], weights)
    )
