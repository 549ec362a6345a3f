"""Several seeds of one policy: how much a number moves when nothing but the dice change."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

__all__ = ["SeedSummary", "seed_summary"]


class SeedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio over several seeds.

    Attributes:
        values: Σx/Σy of each seed, `None` where a seed has no denominator.
        mean: mean of the seeds that have one.
        sd: their standard deviation (n − 1), or `None` with fewer than two.
        question_variance: mean over questions of the variance (n − 1) between seeds: what one question's value moves
            by, which the standard deviation of the means hides; `None` where no question has two seeds.
        questions: questions behind it.
    """

    values: tuple[float | None, ...]
    mean: float | None
    sd: float | None
    question_variance: float | None
    questions: int


def seed_summary(numerators: ArrayLike, denominators: ArrayLike) -> SeedSummary:
    """Summarise a ratio over seeds.

    Args:
        numerators: x of each question and seed, shape (questions, seeds); NaN where unscored.
        denominators: y likewise, ≥ 0; NaN where unscored.
    """
    x, y = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    counted = ~np.isnan(x) & ~np.isnan(y)
    x, y = np.where(counted, x, 0.0), np.where(counted, y, 0.0)
    values = tuple(float(a / b) if b > 0 else None for a, b in zip(x.sum(0), y.sum(0), strict=True))
    known = np.array([value for value in values if value is not None])
    variances = _question_variances(x, y)
    return SeedSummary(
        values=values,
        mean=float(known.mean()) if len(known) else None,
        sd=float(known.std(ddof=1)) if len(known) > 1 else None,
        question_variance=float(np.mean(variances)) if variances else None,
        questions=len(variances),
    )


def _question_variances(x: np.ndarray, y: np.ndarray) -> list[float]:
    return [
        float(np.var(row_x[row_y > 0] / row_y[row_y > 0], ddof=1))
        for row_x, row_y in zip(x, y, strict=True)
        if np.sum(row_y > 0) > 1
    ]
