"""`Interval`, and the plain Wilson interval that papers print."""

from __future__ import annotations

import math

import msgspec

from looseleaf.statistics.distributions import normal_quantile

__all__ = ["INDEPENDENT", "LEVEL", "MIN_CLUSTERS", "Interval", "independent_interval", "wilson_interval"]

MIN_CLUSTERS = 10
"""Fewest documents with a positive denominator for which an interval is given; below, linearisation is not trusted."""
LEVEL = 0.95
"""Two-sided confidence level of every interval."""
INDEPENDENT = "assumes independent questions"
"""What stands beside every number that ignores that questions come in documents."""


class Interval(msgspec.Struct, frozen=True):
    """A two-sided confidence interval.

    Attributes:
        low: lower end.
        high: upper end.
        method: how it was made.
        clusters: documents that it rests on; for intervals that assume independent questions, the questions.
    """

    low: float
    high: float
    method: str
    clusters: int


def wilson_interval(successes: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson score interval of a proportion; it assumes independent questions.

    Args:
        successes: hits, at most `n`; may be a fraction where documents stand for questions.
        n: trials; with none the interval is [0, 1].
        level: two-sided confidence level.

    Returns:
        Lower and upper end, within [0, 1].

    Source: Wilson (1927), J. Am. Stat. Assoc. 22, 209–212.
    """
    if n <= 0:
        return 0.0, 1.0
    z = normal_quantile(0.5 + level / 2)
    p = successes / n
    scale = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)


def independent_interval(successes: int, n: int, level: float = LEVEL) -> Interval:
    """Plain Wilson over questions, to reproduce what papers print; never a headline interval.

    Args:
        successes: questions that count.
        n: all questions.
        level: two-sided confidence level.

    Returns:
        The interval; its method says that it assumes independent questions.
    """
    low, high = wilson_interval(successes, n, level)
    return Interval(low, high, f"Wilson, {INDEPENDENT}", n)
