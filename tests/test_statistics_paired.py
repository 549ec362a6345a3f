"""Paired tests: worked by hand, against scipy, against each other where they must agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from looseleaf.statistics import INDEPENDENT, mcnemar_test, obuchowski_test, sign_flip_test

PSYCHIATRISTS = (
    (0, 4), (1, 2), (1, 3), (1, 2), (0, 1), (3, 3), (3, 0), (3, 2), (1, 2), (0, 4), (0, 2), (1, 4), (0, 3), (0, 2),
    (0, 1), (0, 3), (0, 1), (0, 2), (3, 0), (1, 0), (1, 0), (2, 2), (0, 1), (0, 2), (0, 2), (0, 0), (0, 0), (0, 1),
    (0, 1),
)  # fmt: skip
"""Discordant pairs of 29 psychiatrists with their patients: the example of Eliasziw and Donner (1991, Stat. Med. 10,
1981–1991), as data `psychiatry` of the R package clust.bin.pair, whose tests expect 11.85 for McNemar's test."""


def test_obuchowski_worked_by_hand() -> None:
    """D = (3, −1, 2, 0, 2): ΣD = 6, ΣD² = 18, K = 5; (4/5)·36/18 = 1.6; P(χ²₁ ≥ 1.6) = .2059."""
    found = obuchowski_test([3, -1, 2, 0, 2])
    assert found.statistic == pytest.approx(1.6)
    assert found.p_value == pytest.approx(0.20590, abs=1e-5)
    assert (found.clusters, found.method) == (5, "Obuchowski, documents as clusters")


def test_the_published_example() -> None:
    """b = 21, c = 50: ΣD = −29 and ΣD² = 113 over 29 psychiatrists, so (28/29)·841/113 = 7.186 where McNemar says
    841/71 = 11.85."""
    b, c = np.array(PSYCHIATRISTS).T
    assert obuchowski_test(b - c).statistic == pytest.approx(7.186, abs=1e-3)
    assert round(mcnemar_test(int(b.sum()), int(c.sum())).statistic, 2) == 11.85


def test_documents_of_one_question_give_mcnemar_but_for_the_factor() -> None:
    differences = [1] * 30 + [-1] * 12 + [0] * 58
    assert obuchowski_test(differences).statistic == pytest.approx(0.99 * mcnemar_test(30, 12).statistic)


def test_no_difference_anywhere_is_no_evidence() -> None:
    for found in (obuchowski_test([0] * 20), sign_flip_test([0] * 20), sign_flip_test([0.0, 0.0])):
        assert (found.statistic, found.p_value) == (0, 1)


def test_the_order_of_the_runs_does_not_matter() -> None:
    differences = np.random.default_rng(3).integers(-4, 6, 30)
    for test in (obuchowski_test, sign_flip_test):
        assert test(differences).p_value == pytest.approx(test(-differences).p_value)


def test_sign_flips_worked_by_hand() -> None:
    """±1 ±2 ±2 has sums ±5, ±3, ±1, ±1; observed 1+2+2 = 5 → 2 of 8; observed 1+2−2 = 1 → all 8."""
    assert sign_flip_test([1, 2, 2]).p_value == 0.25
    assert sign_flip_test([1, 2, -2]).p_value == 1.0
    assert sign_flip_test([-1, 2, 2]).p_value == 0.5
    assert sign_flip_test([1, 2, 2]).method == "document sign-flip, exact"


def brute_force(differences: np.ndarray) -> float:
    sums = [
        abs(np.dot(signs, np.abs(differences)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return float(np.mean(np.array(sums) >= abs(differences.sum()) - 1e-9))


def test_all_three_ways_to_flip_signs_agree() -> None:
    """Whole numbers by convolution, few documents by listing, many by Monte Carlo."""
    generator = np.random.default_rng(8)
    whole = generator.integers(-5, 8, 12)
    assert sign_flip_test(whole).p_value == pytest.approx(brute_force(whole))
    graded = whole / 3 + 0.1
    assert sign_flip_test(graded).p_value == pytest.approx(brute_force(graded))
    halves = generator.integers(-3, 5, 40) / 2
    sampled, exact = sign_flip_test(halves, seed=1), sign_flip_test(2 * halves)
    assert "random patterns" in sampled.method
    assert sampled.p_value == pytest.approx(exact.p_value, abs=4 * (0.25 / 100_000) ** 0.5)


def test_monte_carlo_never_says_zero_and_repeats_with_its_seed() -> None:
    far = np.full(60, 0.7)
    assert sign_flip_test(far, flips=1_000).p_value == pytest.approx(1 / 1_001)
    near = np.random.default_rng(0).normal(0.1, 1, 60)
    assert sign_flip_test(near, seed=5).p_value == sign_flip_test(near, seed=5).p_value


def test_flips_in_blocks_count_every_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    near = np.random.default_rng(0).normal(0.1, 1, 60)
    whole = sign_flip_test(near, flips=5_000).p_value
    monkeypatch.setattr("looseleaf.statistics.paired.FLIP_BLOCK", 60 * 333)
    assert sign_flip_test(near, flips=5_000).p_value == pytest.approx(whole, abs=0.03)


@pytest.mark.parametrize(("b", "c"), [(3, 11), (0, 6), (12, 12), (0, 0), (1, 0)])
def test_mcnemar_below_25_pairs_is_the_binomial(b: int, c: int) -> None:
    expected = stats.binomtest(b, b + c).pvalue if b + c else 1.0
    found = mcnemar_test(b, c)
    assert found.p_value == pytest.approx(expected)
    assert found.method == f"McNemar, exact, {INDEPENDENT}"


def test_mcnemar_from_25_pairs_is_chi_square() -> None:
    """(40 − 22)²/62 = 5.2258 (no correction for continuity)."""
    found = mcnemar_test(40, 22)
    assert found.statistic == pytest.approx(5.2258, abs=1e-4)
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 1))
    assert found.method.endswith("assumes independent questions")
