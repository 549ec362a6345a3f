"""Paired values of the same items at two times: how much the mean moved, with an exact test and interval."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVEL", "PairedChange", "paired_change"]

LEVEL = 0.95
"""Two-sided confidence level of the interval."""
STEPS = 100
"""Graded differences are taken in hundredths for the exact distribution of their sum."""
HALVINGS = 40
"""Bisection steps: an end of an interval is then exact to 1e-12."""


class PairedChange(msgspec.Struct, frozen=True, kw_only=True):
    """mean(now − pinned) over items.

    Attributes:
        items: items that were replayed.
        n: items with a value both times; the others are left out of both.
        up: items whose value rose.
        down: items whose value fell.
        mean: mean(now − pinned) over the `n` items, or `None` where there are none.
        low: lower end of its interval, or `None` likewise.
        high: upper end.
        p_value: exact two-sided sign-flip test that a changed item is as likely to rise as to fall; for values 0 and 1
            it is McNemar's exact test.
    """

    items: int
    n: int
    up: int
    down: int
    mean: float | None
    low: float | None
    high: float | None
    p_value: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval says that the values moved; it does so where the test's p-value is below 1 − `LEVEL`."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def paired_change(pinned: Sequence[float | None], now: Sequence[float | None]) -> PairedChange:
    """Compare the values of the same items at two times.

    The interval is made of two exact ones: of the share of changed items (Clopper and Pearson 1934, Biometrika 26,
    404–413) and, given which items changed and by how much, of the chance that a change is a rise (the sign-flip test
    inverted, Clopper and Pearson again where all changes are as large). Its ends are the products that lie farthest
    out, so it excludes 0 exactly where the second one excludes ½.

    Args:
        pinned: value of each item then, `None` where it has none.
        now: value of each item now, in the same order.
    """
    moves = [b - a for a, b in zip(pinned, now, strict=True) if a is not None and b is not None]
    up, down = sum(move > 0 for move in moves), sum(move < 0 for move in moves)
    rises, p_value = _rises(tuple(_in_steps(moves)))
    return PairedChange(
        items=len(pinned),
        n=len(moves),
        up=up,
        down=down,
        mean=sum(moves) / len(moves) if moves else None,
        p_value=p_value,
        **_ends(moves, up + down, rises),
    )


def _ends(moves: Sequence[float], changed: int, rises: tuple[float, float]) -> dict[str, float | None]:
    if not moves:
        return {"low": None, "high": None}
    size = sum(map(abs, moves)) / changed if changed else 1.0
    fewest, most = _clopper_pearson(changed, len(moves))
    low, high = (2 * chance - 1 for chance in rises)
    return {
        "low": low * size * (most if low < 0 else fewest),
        "high": high * size * (most if high > 0 else fewest),
    }


def _in_steps(moves: Sequence[float]) -> list[int]:
    """Every change as a whole number of the largest step that fits them all; none becomes 0."""
    steps = [round(move * STEPS) or int(math.copysign(1, move)) for move in moves if move]
    unit = math.gcd(*steps) or 1
    return sorted(step // unit for step in steps)


@functools.lru_cache(maxsize=1024)
def _rises(steps: tuple[int, ...]) -> tuple[tuple[float, float], float]:
    """Interval of the chance p that a change is a rise, and the p-value of p = ½."""
    if not steps:
        return (0.0, 1.0), 1.0
    sizes = np.abs(np.asarray(steps, dtype=np.int64))
    risen = int(sum(step for step in steps if step > 0))

    def at_least(chance: float) -> float:
        return float(_distribution(sizes, chance)[risen:].sum())

    def at_most(chance: float) -> float:
        return float(_distribution(sizes, chance)[: risen + 1].sum())

    tail = (1 - LEVEL) / 2
    low = 0.0 if risen == 0 else _crossing(at_least, tail)
    high = 1.0 if risen == sizes.sum() else 1 - _crossing(lambda chance: at_most(1 - chance), tail)
    return (low, high), min(1.0, 2 * min(at_least(0.5), at_most(0.5)))


def _distribution(sizes: NDArray[np.int64], chance: float) -> NDArray[np.float64]:
    """Chances of every sum of the rises, each of the changes being a rise with this chance."""
    if np.all(sizes == 1):
        return _binomial(len(sizes), chance)
    chances = np.ones(1)
    for size in sizes:
        wider = np.zeros(len(chances) + size)
        wider[: len(chances)] = (1 - chance) * chances
        wider[size:] += chance * chances
        chances = wider
    return chances


def _binomial(n: int, chance: float) -> NDArray[np.float64]:
    if chance in (0.0, 1.0):
        return np.asarray(np.eye(1, n + 1, round(n * chance))[0])
    logs = _log_choose(n) + np.arange(n + 1) * math.log(chance) + np.arange(n, -1, -1) * math.log1p(-chance)
    return np.asarray(np.exp(logs))


@functools.lru_cache(maxsize=64)
def _log_choose(n: int) -> NDArray[np.float64]:
    return np.asarray(
        [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    )


@functools.lru_cache(maxsize=1024)
def _clopper_pearson(hits: int, n: int) -> tuple[float, float]:
    tail = (1 - LEVEL) / 2
    low = 0.0 if hits == 0 else _crossing(lambda chance: float(_binomial(n, chance)[hits:].sum()), tail)
    if hits == n:
        return low, 1.0
    return low, 1 - _crossing(lambda chance: float(_binomial(n, 1 - chance)[: hits + 1].sum()), tail)


def _crossing(rising: Callable[[float], float], target: float) -> float:
    """Where a function that rises from 0 to 1 on [0, 1] reaches the target."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return (low + high) / 2
