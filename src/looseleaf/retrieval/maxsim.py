"""Exact late interaction: MaxSim in blocks, without padding.

The score of a page is the sum, over the query's vectors, of the largest dot product with any vector of the page
(ColBERT, arXiv 2004.12832, equation 3). Pages have as many vectors as they have: nothing is padded, so nothing
needs a mask, and a page whose largest product is negative keeps its negative score. (colpali-engine pads pages with
zeros and scores them, which lifts negative maxima to 0.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from looseleaf.retrieval.blas import one_blas_thread
from looseleaf.retrieval.vectors import Halves, Vectors, widened

__all__ = ["NO_SCORE", "best_first", "maxsim", "unpadded"]

NO_SCORE = -np.inf
"""Score of a page without vectors: it can never be returned."""

BLOCK_VECTORS = 1024
"""Vectors of a block: with 128 dimensions 0.5 MB as float32, which stays in the second-level cache."""

Counts = NDArray[np.intp]


def maxsim(query: Vectors, stored: Halves | Vectors, counts: Counts) -> NDArray[np.float32]:
    """Scores of pages.

    Args:
        query: (query vectors, dimension).
        stored: vectors of all pages in page order, (sum of counts, dimension), as float16 or float32.
        counts: number of vectors of each page.

    Returns:
        One score a page; `NO_SCORE` where the page or the query has no vector.
    """
    scores = np.full(len(counts), NO_SCORE, dtype=np.float32)
    filled = np.flatnonzero(counts)
    if not len(query) or not len(filled):
        return scores
    ends = np.cumsum(counts[filled])
    starts = ends - counts[filled]
    columns = np.ascontiguousarray(query.T, dtype=np.float32)
    room = np.empty((max(BLOCK_VECTORS, int(counts.max())), stored.shape[1]), dtype=np.float32)
    with one_blas_thread():
        for first, last in _blocks(ends):
            block = widened(stored[starts[first] : ends[last - 1]], room)
            products = block @ columns
            best = np.maximum.reduceat(products, starts[first:last] - starts[first], axis=0)
            scores[filled[first:last]] = best.sum(axis=1)
    return scores


def _blocks(ends: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Runs of whole pages with at most `BLOCK_VECTORS` vectors together, or one page that has more."""
    first, before = 0, 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, before + BLOCK_VECTORS, side="right")))
        yield first, last
        first, before = last, int(ends[last - 1])


def best_first(scores: NDArray[np.float32], k: int) -> list[int]:
    """Indices of the `k` highest scores, best first; ties go to the earlier page, `NO_SCORE` is left out."""
    order = np.lexsort((np.arange(len(scores)), -scores))[: max(k, 0)]
    return [int(index) for index in order if scores[index] > NO_SCORE]


def unpadded(batch: Vectors, mask: NDArray[np.bool_]) -> list[Vectors]:
    """The real vectors of each item of a padded batch.

    Args:
        batch: (items, longest, dimension).
        mask: (items, longest), true where a vector is real.
    """
    return [np.ascontiguousarray(item[real]) for item, real in zip(batch, mask, strict=True)]
