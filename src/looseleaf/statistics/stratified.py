"""Rates of a whole run from a stratified sample that people labelled, with the judge's verdicts on every row.

Every row has the judge's verdict f, a sample has the human's y. The stratified difference estimator takes the judge on
all rows and corrects it by what people found on the sample, so it is unbiased whatever the judge does and as narrow as
the judge is good. What varies is which rows were drawn; the rows of the run are taken as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from looseleaf.statistics.clusters import Floats
from looseleaf.statistics.distributions import normal_quantile
from looseleaf.statistics.interval import LEVEL, Interval, wilson_interval

__all__ = ["Estimate", "Stratum", "stratified_ratio"]

FEWEST_LABELS = 2
"""Labels without which a stratum has no variance; a stratum that is labelled completely needs none."""


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """One stratum, as (numerator, denominator) pairs of the ratio that is estimated.

    Attributes:
        predicted: the judge's pairs of all N_s rows, shape (N_s, 2).
        predicted_labelled: the judge's pairs of the n_s labelled rows, shape (n_s, 2).
        human: the human's pairs of the same rows, shape (n_s, 2).
    """

    predicted: Floats
    predicted_labelled: Floats
    human: Floats

    @property
    def size(self) -> int:
        """N_s."""
        return len(self.predicted)

    @property
    def labelled(self) -> int:
        """n_s."""
        return len(self.human)

    @property
    def enough(self) -> bool:
        """Whether there are labels enough for a variance."""
        return self.labelled >= min(FEWEST_LABELS, self.size)

    @property
    def estimate(self) -> Floats:
        """mean_all f + mean_lab(y − f), shape (2,)."""
        return np.asarray(self.predicted.mean(axis=0) + (self.human - self.predicted_labelled).mean(axis=0))

    def residuals(self, theta: float) -> Floats:
        """(y − f) of the linearised ratio, numerator − θ · denominator; shape (n_s,)."""
        errors = self.human - self.predicted_labelled
        return np.asarray(errors[:, 0] - theta * errors[:, 1])


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate of the whole run as people would label it.

    Attributes:
        value: θ̂, or `None` where the denominator's estimate is not positive.
        error: its standard error over the draw of the sample.
        interval: two-sided interval over the draw of the sample; its `clusters` are the labelled rows.
        judged: the rate by the judge's verdicts alone.
        base: estimated mean of the denominator: the share of rows that the rate is of.
        rows: rows of the run that it speaks of.
        labelled: rows that people labelled.
        silent_strata: strata without any variation, whose Wilson-type bound is in the interval.
    """

    value: float | None = None
    error: float | None = None
    interval: Interval | None = None
    judged: float | None
    base: float
    rows: int
    labelled: int
    silent_strata: int = 0


def stratified_ratio(
    strata: Mapping[str, Stratum], outcomes: Sequence[tuple[float, float]], level: float = LEVEL
) -> Estimate:
    """Estimate Σ numerator / Σ denominator over all rows.

    With W_s = N_s / N and the difference estimator Σ_s W_s [mean_all f + mean_lab(y − f)] of numerator and denominator,
    Var = Σ_s W_s² (1 − n_s/N_s) s_s² / n_s with s_s² of the linearised residuals, over the squared denominator; for a
    plain rate the denominator is 1 on every row and nothing needs linearising.

    A stratum whose residuals do not vary has s² = 0, which does not say that none of its other rows differs. All such
    strata together get the Wilson bound of 0 in n, where n is the effective size of their labels under the weights
    W_s times the furthest that an undrawn row could lie from the drawn ones (Kish 1965, Survey Sampling, §11.7), each
    n_s enlarged for the finite stratum. The bound is added in quadrature on the side where rows could lie (Zou and
    Donner 2008, Stat. Med. 27, 1693–1702, combine limits of independent parts in this way).

    Args:
        strata: by name; every one must be labelled.
        outcomes: every (numerator, denominator) that a human label can give a row.
        level: two-sided confidence level.

    Raises:
        ValueError: a stratum has too few labels.
    """
    for name, stratum in strata.items():
        if not stratum.enough:
            raise ValueError(f"the stratum {name!r} has {stratum.labelled} labels of {stratum.size} rows")
    parts = list(strata.values())
    rows = sum(part.size for part in parts)
    total = np.sum([part.size / rows * part.estimate for part in parts], axis=0)
    judged = np.sum([part.predicted.sum(axis=0) for part in parts], axis=0)
    estimate = Estimate(
        judged=float(judged[0] / judged[1]) if judged[1] > 0 else None,
        base=float(total[1]),
        rows=rows,
        labelled=sum(part.labelled for part in parts),
    )
    return _with_value(estimate, parts, total, outcomes, level) if total[1] > 0 else estimate


def _with_value(
    estimate: Estimate,
    strata: Sequence[Stratum],
    total: Floats,
    outcomes: Sequence[tuple[float, float]],
    level: float,
) -> Estimate:
    theta = float(total[0] / total[1])
    parts = [_Part(stratum, theta, stratum.size / estimate.rows / float(total[1])) for stratum in strata]
    z = normal_quantile(0.5 + level / 2)
    variance = sum(part.variance for part in parts)
    reaches = [part.reach(outcomes) for part in parts if part.silent]
    sizes = [part.effective_labels for part in parts if part.silent]
    down, up = (
        math.hypot(z * math.sqrt(variance), _silent_bound([reach[side] for reach in reaches], sizes, level))
        for side in (0, 1)
    )
    ends = Interval(max(0.0, theta - down), min(1.0, theta + up), "stratified difference", estimate.labelled)
    return msgspec.structs.replace(
        estimate,
        value=theta,
        error=math.sqrt(variance),
        interval=ends,
        silent_strata=sum(part.silent for part in parts),
    )


def _silent_bound(reaches: Sequence[float], labels: Sequence[float], level: float) -> float:
    """How far rows that were not drawn could take θ̂, where every label of these strata says the same."""
    total = sum(reaches)
    if total <= 0:
        return 0.0
    effective = total**2 / sum(reach**2 / n for reach, n in zip(reaches, labels, strict=True))
    return total * wilson_interval(0, effective, level)[1]


class _Part:
    """What one stratum adds to the uncertainty of θ̂."""

    def __init__(self, stratum: Stratum, theta: float, weight: float) -> None:
        self._stratum = stratum
        self._theta = theta
        self._weight = weight
        self._residuals = stratum.residuals(theta)
        self._undrawn = 1 - stratum.labelled / stratum.size
        self._spread = float(np.var(self._residuals, ddof=1)) if stratum.labelled > 1 else 0.0

    @property
    def silent(self) -> bool:
        """Whether the sample shows no variation although rows are left that were not drawn."""
        return self._undrawn > 0 and self._spread <= SILENCE

    @property
    def variance(self) -> float:
        """W_s² (1 − n_s/N_s) s_s² / n_s, over the squared denominator."""
        return self._weight**2 * self._undrawn * self._spread / self._stratum.labelled

    @property
    def effective_labels(self) -> float:
        """n_s, enlarged because the stratum is finite."""
        return self._stratum.labelled / self._undrawn

    def reach(self, outcomes: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """How far θ̂ would go down and up if every row lay as far from the drawn ones as a label can put it."""
        possible = [x - self._theta * y for x, y in outcomes]
        seen = self._stratum.human[:, 0] - self._theta * self._stratum.human[:, 1]
        return self._weight * (float(seen.max()) - min(possible)), self._weight * (
            max(possible) - float(seen.min())
        )


SILENCE = 1e-18
"""Variance up to which residuals count as all the same: rounding of numbers around 1, squared."""
