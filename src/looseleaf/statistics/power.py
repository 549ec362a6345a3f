"""How many questions it would take to see a difference."""

from __future__ import annotations

import math

import msgspec

from looseleaf.statistics.distributions import normal_quantile
from looseleaf.statistics.interval import LEVEL

__all__ = ["POINTS", "POWER", "SampleSize", "sample_size"]

POINTS = 0.02
"""Difference that the power line speaks of: two points, about what separates the paper's variants."""
POWER = 0.8
"""Chance of seeing it that the power line asks for."""


class SampleSize(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to see a difference.

    Attributes:
        difference: the true difference, as a share.
        power: chance of rejecting equality if it is true.
        questions: questions needed, at as many questions a document as now.
        documents: documents that they come in.
    """

    difference: float
    power: float
    questions: int
    documents: int

    def text(self) -> str:
        """The power line."""
        return (
            f"to see {100 * self.difference:g} points with {100 * self.power:g} % power you need "
            f"n ≈ {self.questions:,} questions ({self.documents:,} documents)"
        )


def sample_size(
    error: float,
    questions: int,
    documents: int,
    *,
    difference: float = POINTS,
    power: float = POWER,
    level: float = LEVEL,
) -> SampleSize | None:
    """Questions needed for a two-sided test of a difference whose standard error is known at the present size.

    n' = n · ((z_{1−α/2} + z_power) · se / δ)²: the clustered error shrinks with the root of the documents, so n' stands
    for more documents like these and not for more questions of the same ones.

    Args:
        error: standard error of the difference now, document-clustered.
        questions: paired questions now.
        documents: their documents.
        difference: the true difference to be seen.
        power: chance of seeing it.
        level: 1 − α.

    Returns:
        `None` where the error is 0, which says that there is nothing to extrapolate from.
    """
    if error <= 0:
        return None
    factor = ((normal_quantile(0.5 + level / 2) + normal_quantile(power)) * error / difference) ** 2
    return SampleSize(
        difference=difference,
        power=power,
        questions=_two_digits(questions * factor),
        documents=_two_digits(documents * factor),
    )


def _two_digits(number: float) -> int:
    """Rounded up to two significant digits: the error behind it is an estimate, and more digits would pretend."""
    scale: int = 10 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return math.ceil(number / scale) * scale
