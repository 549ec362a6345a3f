"""Intervals for one rate or ratio Σx/Σy whose rows come in documents.

Questions of one document are not independent, so the document is the sampling unit.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from looseleaf.statistics.clusters import Clusters, Floats
from looseleaf.statistics.distributions import expit, logit, student_t_quantile
from looseleaf.statistics.interval import LEVEL, MIN_CLUSTERS, Interval, wilson_interval

__all__ = ["clustered_mean_interval", "clustered_ratio_interval", "linearised_error"]

ROUNDING = 1e-24
"""Share of (Σy)² up to which a sum of squared residuals is rounding error: some thousand machine epsilons squared."""


def clustered_ratio_interval(
    numerators: Sequence[float] | Floats,
    denominators: Sequence[float] | Floats,
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
    sums_x, sums_y = _used(numerators, denominators, clusters)
    count = len(sums_y)
    if count < MIN_CLUSTERS:
        return None
    theta = float(sums_x.sum() / sums_y.sum())
    error = linearised_error(sums_x, sums_y)
    if not 0.0 < theta < 1.0 or error == 0.0:
        low, high = wilson_interval(min(max(theta, 0.0), 1.0) * count, count, level)
        return Interval(low, high, "Wilson on documents", count)
    half = student_t_quantile(0.5 + level / 2, count - 1) * error / (theta * (1 - theta))
    centre = logit(theta)
    return Interval(expit(centre - half), expit(centre + half), "clustered ratio, logit scale", count)


def clustered_mean_interval(
    numerators: Sequence[float] | Floats,
    denominators: Sequence[float] | Floats,
    clusters: Sequence[Hashable],
    level: float = LEVEL,
) -> Interval | None:
    """The same for a ratio that is no rate, such as a signed gap or a count a question: symmetric, not bounded.

    Args:
        numerators: x of each row.
        denominators: y of each row, ≥ 0.
        clusters: document of each row.
        level: two-sided confidence level.

    Returns:
        The interval, or `None` with fewer than `MIN_CLUSTERS` clusters or where every document has the same value.
    """
    sums_x, sums_y = _used(numerators, denominators, clusters)
    count = len(sums_y)
    if count < MIN_CLUSTERS:
        return None
    error = linearised_error(sums_x, sums_y)
    if error == 0.0:
        return None
    theta = float(sums_x.sum() / sums_y.sum())
    half = student_t_quantile(0.5 + level / 2, count - 1) * error
    return Interval(theta - half, theta + half, "clustered ratio", count)


def linearised_error(sums_x: Floats, sums_y: Floats) -> float:
    """sqrt(K/(K−1) · Σ_k (x_k − θ y_k)²) / Σy from the sums of K ≥ 2 documents; 0 where only rounding is left."""
    count, total = len(sums_y), float(sums_y.sum())
    residual = float(np.sum((sums_x - sums_x.sum() / total * sums_y) ** 2))
    if residual <= ROUNDING * total**2:
        return 0.0
    return math.sqrt(count / (count - 1) * residual) / total


def _used(
    numerators: ArrayLike, denominators: ArrayLike, clusters: Sequence[Hashable]
) -> tuple[Floats, Floats]:
    """Sums of the documents that have a positive denominator."""
    groups = Clusters(clusters)
    sums_x, sums_y = groups.sums(numerators), groups.sums(denominators)
    used = sums_y > 0
    return sums_x[used], sums_y[used]
