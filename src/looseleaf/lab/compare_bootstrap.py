"""The bootstrap of a comparison: documents are resampled once for all metrics, in blocks that fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from looseleaf.lab.compare_pairs import PairedQuestion, PairedSums
from looseleaf.statistics import bootstrap_ratios, resample_blocks
from looseleaf.statistics.clusters import Floats

__all__ = ["Resample", "resampled_ratios"]

Resample = Callable[[Floats, Floats], Floats]
"""Numerators and denominators, each of shape (rows, documents), to Σx/Σy of each resample, shape (rows, resamples)."""


def resampled_ratios(
    pairs: Sequence[PairedQuestion], sums: Sequence[PairedSums], resample: Resample | None = None
) -> list[Floats]:
    """Each metric in each resample of the documents, of both runs.

    Documents of which no question counts for a metric keep their weight and add nothing.

    Args:
        pairs: the questions that both runs have.
        sums: what they add to each metric.
        resample: where it is computed; here, block by block, by default.

    Returns:
        For each metric, shape (2, resamples); NaN where a resample has no denominator.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(pair.question.doc_id for pair in pairs))}
    x, y = np.zeros((2, len(sums), 2, len(places)))
    for number, each in enumerate(sums):
        used = [places[name] for name in each.documents]
        for run, (sums_x, sums_y) in enumerate((each.first, each.second)):
            x[number, run, used], y[number, run, used] = sums_x, sums_y
    rows = (resample or _in_blocks)(x.reshape(-1, len(places)), y.reshape(-1, len(places)))
    return list(rows.reshape(len(sums), 2, -1))


def _in_blocks(x: Floats, y: Floats) -> Floats:
    blocks = [bootstrap_ratios(x, y, weights) for weights in resample_blocks(x.shape[1])]
    return np.concatenate(blocks, axis=-1)
