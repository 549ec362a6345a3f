"""Tests of paired rows: two runs on the same questions, documents as clusters."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from looseleaf.statistics.clusters import Floats
from looseleaf.statistics.distributions import chi_square_p_value
from looseleaf.statistics.interval import INDEPENDENT

__all__ = ["TestResult", "mcnemar_test", "obuchowski_test", "sign_flip_test"]

MCNEMAR_EXACT_BELOW = 25
"""Discordant pairs below which the binomial distribution stands in for χ² (McNemar 1947 is an approximation)."""
ENUMERATED_DOCUMENTS = 16
"""Most documents whose 2^K sign patterns are all listed when the differences are not whole numbers."""
FLIPS = 100_000
"""Monte Carlo sign patterns: a p-value of .05 then has a standard error of .0007."""
WHOLE = 1e-9
"""How far a difference may lie from a whole number and still be one."""
FLIP_BLOCK = 1_000_000
"""Signs held in memory at once: 8 MB."""
BITS = 8
"""Signs in one random byte."""
TIES = 1e-9
"""Relative slack with which a flipped sum counts as large as the observed one: the same sum in another order."""


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """A two-sided test.

    Attributes:
        statistic: value of the statistic; its meaning is the method's.
        p_value: two-sided.
        method: which test, and what it assumes where that is questionable.
        clusters: documents, or discordant pairs where it assumes independent questions.
    """

    __test__ = False  # not a test class, whatever its name makes pytest think

    statistic: float
    p_value: float
    method: str
    clusters: int


def obuchowski_test(differences: ArrayLike) -> TestResult:
    """Clustered test that two runs have the same rate: (K−1)/K · (ΣD_k)² / ΣD_k², χ² on one degree of freedom.

    Args:
        differences: D_k = b_k − c_k of each of the K documents that have paired rows, zeros included: rows only the
            first run has right minus rows only the second has right. For graded scores, the summed difference.

    Source: Obuchowski (1998), Stat. Med. 17, 1495–1507, in the form of Yang et al. (2010), Biom. J. 52, 638–652.
    """
    d = np.asarray(differences, dtype=np.float64)
    squares = float(np.sum(d**2))
    statistic = (len(d) - 1) / len(d) * float(d.sum()) ** 2 / squares if squares > 0 else 0.0
    return TestResult(
        statistic=statistic,
        p_value=chi_square_p_value(statistic),
        method="Obuchowski, documents as clusters",
        clusters=len(d),
    )


def sign_flip_test(differences: ArrayLike, *, flips: int = FLIPS, seed: int = 0) -> TestResult:
    """Randomisation test: under the null hypothesis each document's D_k could as well have the other sign.

    Exact where the differences are whole numbers (the distribution of ΣD_k is a convolution) or the documents are
    few; else Monte Carlo with the observed pattern counted in, so that p is never 0.

    Args:
        differences: D_k of each document, as for `obuchowski_test`.
        flips: Monte Carlo sign patterns.
        seed: of the Monte Carlo patterns.
    """
    d = np.abs(np.asarray(differences, dtype=np.float64))
    total = float(np.sum(np.asarray(differences, dtype=np.float64)))
    moved = d[d > 0]
    if np.all(np.abs(moved - np.rint(moved)) < WHOLE):
        p_value, how = _convolved(np.rint(moved).astype(np.int64), round(abs(total))), "exact"
    elif len(moved) <= ENUMERATED_DOCUMENTS:
        p_value, how = _enumerated(moved, abs(total)), "exact"
    else:
        p_value, how = _sampled(moved, abs(total), flips, seed), f"{flips:,} random patterns"
    return TestResult(statistic=total, p_value=p_value, method=f"document sign-flip, {how}", clusters=len(d))


def _convolved(sizes: NDArray[np.int64], observed: int) -> float:
    """P(|Σ ± size| ≥ observed): the sum over all sign patterns, one document at a time."""
    chances = np.ones(1)
    for size in sizes:
        wider = np.zeros(len(chances) + 2 * size)
        wider[: len(chances)] += chances / 2
        wider[2 * size :] += chances / 2
        chances = wider
    sums = np.arange(len(chances)) - len(chances) // 2
    return min(1.0, float(chances[np.abs(sums) >= observed].sum()))


def _enumerated(sizes: Floats, observed: float) -> float:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return float(np.mean(_reaches(sums, observed, sizes)))


def _sampled(sizes: Floats, observed: float, flips: int, seed: int) -> float:
    generator = np.random.default_rng(seed)
    block = max(1, FLIP_BLOCK // len(sizes))
    reached = 0
    for start in range(0, flips, block):
        count = min(block, flips - start)
        bits = np.frombuffer(generator.bytes(-(-count * len(sizes) // BITS)), dtype=np.uint8)
        pluses = np.unpackbits(bits, count=count * len(sizes)).reshape(count, len(sizes))
        sums = 2 * (pluses.astype(np.float64) @ sizes) - sizes.sum()
        reached += int(np.sum(_reaches(sums, observed, sizes)))
    return (1 + reached) / (1 + flips)


def _reaches(sums: Floats, observed: float, sizes: Floats) -> NDArray[np.bool_]:
    return np.abs(sums) >= observed - TIES * float(sizes.sum())


def mcnemar_test(only_first: int, only_second: int) -> TestResult:
    """McNemar's test, to reproduce papers: it takes questions of one document for independent ones.

    (b − c)²/(b + c) on χ² with one degree of freedom; the two-sided binomial below `MCNEMAR_EXACT_BELOW` pairs.

    Source: McNemar (1947), Psychometrika 12, 153–157.
    """
    n = only_first + only_second
    statistic = (only_first - only_second) ** 2 / n if n else 0.0
    exact = n < MCNEMAR_EXACT_BELOW
    p_value = _binomial(min(only_first, only_second), n) if exact else chi_square_p_value(statistic)
    name = "McNemar, exact" if exact else "McNemar"
    return TestResult(statistic=statistic, p_value=p_value, method=f"{name}, {INDEPENDENT}", clusters=n)


def _binomial(fewer: int, n: int) -> float:
    """Two-sided probability of a split at least as uneven under p = ½."""
    patterns: int = 2 ** (n - 1) if n else 1
    return min(1.0, sum(math.comb(n, count) for count in range(fewer + 1)) / patterns)
