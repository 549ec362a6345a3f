"""The clustered percentile bootstrap: documents are drawn with replacement, ratios are computed again."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from looseleaf.statistics.clusters import Floats
from looseleaf.statistics.interval import LEVEL, MIN_CLUSTERS

__all__ = [
    "RESAMPLES",
    "BootstrapInterval",
    "bootstrap_ratios",
    "percentile_interval",
    "resample_blocks",
    "resample_weights",
]

RESAMPLES = 10_000
"""Resamples: the percentile ends of a rate then vary by about 0.1 point from seed to seed."""


BLOCK_CELLS = 2**20
"""Weights in memory at a time: 8 MB, and three times as much while they are drawn."""


class BootstrapInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A percentile interval.

    Attributes:
        low: lower end.
        high: upper end.
        resamples: resamples drawn.
        undefined: of those, how many had no denominator; they are left out and counted here.
    """

    low: float
    high: float
    resamples: int
    undefined: int


def resample_weights(clusters: int, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """How often each document is drawn: multinomial counts of `clusters` draws.

    Args:
        clusters: number of documents, at least 1.
        resamples: number of resamples.
        seed: of the draw; the same seed gives the same weights.

    Returns:
        Counts as floats, shape (resamples, clusters); each row sums to `clusters`.
    """
    return np.concatenate(
        list(resample_blocks(clusters, resamples=resamples, seed=seed, cells=resamples * clusters))
    )


def resample_blocks(
    clusters: int, *, resamples: int = RESAMPLES, seed: int = 0, cells: int = BLOCK_CELLS
) -> Iterator[Floats]:
    """The rows of `resample_weights` in blocks of at most `cells` weights (at least one row): the same draws."""
    generator = np.random.default_rng(seed)
    rows = max(1, cells // max(1, clusters))
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        draws = generator.integers(0, clusters, (count, clusters))
        draws += clusters * np.arange(count)[:, None]
        counts = np.bincount(draws.ravel(), minlength=count * clusters)
        yield counts.reshape(count, clusters).astype(np.float64)


def bootstrap_ratios(sums_x: Floats, sums_y: Floats, weights: Floats) -> Floats:
    """Σx/Σy of each resample.

    Args:
        sums_x: numerators by document, shape (…, documents).
        sums_y: denominators by document, same shape.
        weights: of `resample_weights`, shape (resamples, documents).

    Returns:
        Shape (…, resamples); NaN where a resample has no denominator.
    """
    x, y = sums_x @ weights.T, sums_y @ weights.T
    return np.asarray(np.divide(x, y, out=np.full(y.shape, np.nan), where=y > 0))


def percentile_interval(ratios: Floats, clusters: int, level: float = LEVEL) -> BootstrapInterval | None:
    """Percentiles of one metric's resamples.

    Args:
        ratios: shape (resamples,), NaN where undefined.
        clusters: documents with a positive denominator.
        level: two-sided confidence level.

    Returns:
        The interval, or `None` with fewer than `MIN_CLUSTERS` documents or where no resample is defined.
    """
    defined = ratios[~np.isnan(ratios)]
    if clusters < MIN_CLUSTERS or not len(defined):
        return None
    low, high = np.quantile(defined, [0.5 - level / 2, 0.5 + level / 2])
    return BootstrapInterval(
        low=float(low), high=float(high), resamples=len(ratios), undefined=len(ratios) - len(defined)
    )
