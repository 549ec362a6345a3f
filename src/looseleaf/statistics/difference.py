"""Differences of two ratios over the same documents."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from looseleaf.statistics.clusters import Floats
from looseleaf.statistics.distributions import student_t_p_value, student_t_quantile
from looseleaf.statistics.interval import LEVEL, MIN_CLUSTERS, Interval, wilson_interval
from looseleaf.statistics.ratio import ROUNDING

__all__ = ["Difference", "difference_of_influences", "influences", "null_influences", "paired_difference"]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """θ_A − θ_B.

    Attributes:
        value: the difference, or `None` where a ratio has no denominator.
        interval: document-clustered interval, or `None` with too few documents.
        error: linearised standard error, or `None` likewise.
        p_value: two-sided Student t on K − 1 degrees of freedom, or `None` likewise.
    """

    value: float | None
    interval: Interval | None = None
    error: float | None = None
    p_value: float | None = None


def influences(sums_x: Floats, sums_y: Floats) -> Floats:
    """(x_k − θ y_k) / Σy: what each document adds to the linearised error of θ = Σx/Σy."""
    total = float(sums_y.sum())
    return np.asarray((sums_x - sums_x.sum() / total * sums_y) / total)


def null_influences(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
    """Influences of the documents on θ_A − θ_B if both ratios were one θ, estimated from both runs together.

    They add up to θ_A − θ_B. Where the denominators are equal they are D_k / Σy with D_k = x_Ak − x_Bk, so a test of
    them is the test of the D_k.

    Args:
        first: (x_k, y_k) of A by document, Σy > 0.
        second: (x_k, y_k) of B by document, Σy > 0.
    """
    (x_a, y_a), (x_b, y_b) = first, second
    theta = (x_a.sum() + x_b.sum()) / (y_a.sum() + y_b.sum())
    return np.asarray((x_a - theta * y_a) / y_a.sum() - (x_b - theta * y_b) / y_b.sum())


def paired_difference(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], level: float = LEVEL
) -> Difference:
    """θ_A − θ_B of two runs on the same questions; what the documents share cancels.

    se = sqrt(K/(K−1) · Σ_k (z_Ak − z_Bk)²) with the influences z, Student t on K − 1 degrees of freedom, K documents
    where either ratio has a denominator.

    Args:
        first: (x_k, y_k) of A by document.
        second: (x_k, y_k) of B by document, in the same order.
        level: two-sided confidence level.

    Source: Taylor linearisation of a difference of ratios (Cochran, Sampling Techniques, 3rd ed., §6.5).
    """
    (x_a, y_a), (x_b, y_b) = first, second
    if not y_a.sum() > 0 or not y_b.sum() > 0:
        return Difference(value=None)
    value = float(x_a.sum() / y_a.sum() - x_b.sum() / y_b.sum())
    z = influences(x_a, y_a) - influences(x_b, y_b)
    return difference_of_influences(value, z, (y_a > 0) | (y_b > 0), _fewest(y_a, y_b), level)


def _fewest(y_a: Floats, y_b: Floats) -> int:
    return int(min(np.sum(y_a > 0), np.sum(y_b > 0)))


def difference_of_influences(
    value: float, z: Floats, used: NDArray[np.bool_], fewest: int, level: float = LEVEL
) -> Difference:
    """A difference whose linearised influence of each document is known.

    Args:
        value: the difference.
        z: influence of each document.
        used: which documents count.
        fewest: documents behind the ratio that has the fewest.
        level: two-sided confidence level.

    Returns:
        Without interval below `MIN_CLUSTERS` documents. Where no document has any influence the error is 0 and says
        nothing about other documents: ± the Wilson bound of none in K.
    """
    count = int(used.sum())
    if fewest < MIN_CLUSTERS:
        return Difference(value=value)
    variance = count / (count - 1) * float(np.sum(z[used] ** 2))
    if variance <= ROUNDING:
        bound = wilson_interval(0, count, level)[1]
        ends = Interval(max(-1.0, value - bound), min(1.0, value + bound), "Wilson on documents", count)
        return Difference(value=value, interval=ends, error=0.0, p_value=1.0)
    error = math.sqrt(variance)
    half = student_t_quantile(0.5 + level / 2, count - 1) * error
    return Difference(
        value=value,
        interval=Interval(value - half, value + half, "paired clustered difference", count),
        error=error,
        p_value=student_t_p_value(value / error, count - 1),
    )
