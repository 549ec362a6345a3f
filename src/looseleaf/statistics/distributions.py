"""Distribution functions that intervals and tests need; scipy has them, but is larger than the whole core install."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

__all__ = [
    "chi_square_p_value",
    "expit",
    "logit",
    "normal_quantile",
    "student_t_p_value",
    "student_t_quantile",
]

BISECTIONS = 100
"""Halvings of the bracket: more than a double can tell apart."""
CACHED_QUANTILES = 4096
"""Quantiles that are remembered: one for each number of documents and level that a report meets."""


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(probability)


def chi_square_p_value(statistic: float) -> float:
    """P(X ≥ statistic) for χ² on one degree of freedom."""
    return math.erfc(math.sqrt(statistic / 2))


def student_t_p_value(t: float, degrees: int) -> float:
    """Two-sided P(|T| ≥ |t|) for Student's t on whole degrees of freedom."""
    return max(0.0, 2 * (1 - _student_t_cdf(abs(t), degrees)))


@lru_cache(maxsize=CACHED_QUANTILES)
def student_t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t, by bisection on its exact distribution function.

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


def expit(x: float) -> float:
    """1 / (1 + e^−x), without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def logit(p: float) -> float:
    """log(p / (1 − p)) of a probability strictly between 0 and 1."""
    return math.log(p / (1 - p))
