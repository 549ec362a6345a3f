"""Intervals for rates and ratios whose questions come in documents.

Questions of one document are not independent, so the document is the sampling unit. All headline intervals are
linearised ratio intervals over documents on the logit scale.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import msgspec
import numpy as np

__all__ = ["MIN_CLUSTERS", "Interval", "clustered_ratio_interval", "student_t_quantile", "wilson_interval"]

MIN_CLUSTERS = 10
"""Fewest documents with a positive denominator for which an interval is given; below, linearisation is not trusted."""
ROUNDING = 1e-24
"""Share of (Σy)² up to which a sum of squared residuals is rounding error: some thousand machine epsilons squared."""
LEVEL = 0.95
"""Two-sided confidence level of every interval."""


class Interval(msgspec.Struct, frozen=True):
    """A two-sided confidence interval.

    Attributes:
        low: lower end.
        high: upper end.
        method: how it was made.
        clusters: documents that it rests on.
    """

    low: float
    high: float
    method: str
    clusters: int


def clustered_ratio_interval(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable],
    level: float = LEVEL,
) -> Interval | None:
    """Interval for θ = Σx/Σy in [0, 1] with documents as clusters.

    se(θ) = sqrt(K/(K−1) · Σ_k (x_k − θ y_k)²) / Σy over the K clusters with y_k > 0, carried to the logit scale,
    Student t on K − 1 degrees of freedom. Where θ is 0 or 1, or is the same in every document, the linearised error
    is 0 and says nothing: Wilson with n = K.

    Args:
        numerators: x of each row.
        denominators: y of each row, ≥ 0.
        clusters: document of each row.
        level: two-sided confidence level.

    Returns:
        The interval, or `None` with fewer than `MIN_CLUSTERS` clusters.

    Source: Taylor linearisation of a ratio estimator (Cochran, Sampling Techniques, 3rd ed., §6.4 and §9).
    """
    sums_x, sums_y = _cluster_sums(numerators, denominators, clusters)
    count = len(sums_y)
    if count < MIN_CLUSTERS:
        return None
    total = sums_y.sum()
    theta = float(sums_x.sum() / total)
    residual = float(np.sum((sums_x - theta * sums_y) ** 2))
    if not 0.0 < theta < 1.0 or residual <= ROUNDING * total**2:
        low, high = wilson_interval(min(max(theta, 0.0), 1.0) * count, count, level)
        return Interval(low, high, "Wilson on documents", count)
    error = math.sqrt(count / (count - 1) * residual) / float(total)
    half = student_t_quantile(0.5 + level / 2, count - 1) * error / (theta * (1 - theta))
    centre = math.log(theta / (1 - theta))
    return Interval(_expit(centre - half), _expit(centre + half), "clustered ratio, logit scale", count)


def _cluster_sums(
    numerators: Sequence[float], denominators: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[np.ndarray, np.ndarray]:
    index = {cluster: position for position, cluster in enumerate(dict.fromkeys(clusters))}
    positions = np.fromiter((index[cluster] for cluster in clusters), dtype=np.intp, count=len(clusters))
    sums_x = np.bincount(positions, weights=np.asarray(numerators, dtype=float), minlength=len(index))
    sums_y = np.bincount(positions, weights=np.asarray(denominators, dtype=float), minlength=len(index))
    used = sums_y > 0
    return sums_x[used], sums_y[used]


def wilson_interval(successes: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson score interval of a proportion; it assumes independent questions.

    Source: Wilson (1927), J. Am. Stat. Assoc. 22, 209–212.
    """
    if n <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    p = successes / n
    scale = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)


def student_t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t, by bisection on its exact distribution function.

    scipy has this, but is larger than the whole core install.

    Args:
        probability: between 0.5 and 1, exclusive of 1.
        degrees: degrees of freedom, ≥ 1.
    """
    low, high = 0.0, 1.0
    while _student_t_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_t_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


BISECTIONS = 100
"""Halvings of the bracket: more than a double can tell apart."""


def _student_t_cdf(t: float, degrees: int) -> float:
    """Finite trigonometric series for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    if degrees % 2:
        term, total = cosine, 0.0
        for step in range(1, (degrees - 1) // 2 + 1):
            total += term
            term *= cosine * cosine * 2 * step / (2 * step + 1)
        inside = 2 / math.pi * (angle + math.sin(angle) * total)
    else:
        term, total = 1.0, 0.0
        for step in range(1, degrees // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * step - 1) / (2 * step)
        inside = math.sin(angle) * total
    return 0.5 + inside / 2


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
