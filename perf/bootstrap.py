"""Cost of the clustered bootstrap and of comparing two runs. CPU time of this process.

Run: `OMP_NUM_THREADS=1 python perf/bootstrap.py`. Exits with 1 if a bound is missed.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from looseleaf.statistics import (
    RESAMPLES,
    Clusters,
    bootstrap_ratios,
    percentile_interval,
    resample_weights,
    sign_flip_test,
)

ROWS, DOCUMENTS, METRICS = 1_082, 135, 12
"""Questions and documents of MMLongBench-Doc, and metrics of a headline table."""
SECONDS = 0.6
"""Bound on 10,000 resamples of all of it, from rows to intervals."""
REPEATS = 9


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    """Measure and compare with the bound."""
    generator = np.random.default_rng(0)
    documents = np.sort(generator.integers(0, DOCUMENTS, ROWS)).tolist()
    y = (generator.random((METRICS, ROWS)) < 0.7).astype(float)
    x = y * (generator.random((METRICS, ROWS)) < 0.4)

    def bootstrap() -> None:
        clusters = Clusters(documents)
        weights = resample_weights(len(clusters), resamples=RESAMPLES)
        ratios = bootstrap_ratios(clusters.sums(x), clusters.sums(y), weights)
        assert all(percentile_interval(row, len(clusters)) for row in ratios)

    first = cpu(bootstrap)
    again = statistics.median(cpu(bootstrap) for _ in range(REPEATS))
    size = f"{ROWS:,} rows × {METRICS} metrics"
    print(f"{RESAMPLES:,} resamples of {size}: {first:.3f} s CPU the first time, {again:.3f} s after")
    whole, graded = np.rint(generator.normal(0, 2, DOCUMENTS)), generator.normal(0, 1, DOCUMENTS)
    print(
        f"sign-flip test of {DOCUMENTS} documents, whole numbers: {1e3 * cpu(lambda: sign_flip_test(whole)):.1f} ms"
    )
    print(
        f"sign-flip test of {DOCUMENTS} documents, graded: {1e3 * cpu(lambda: sign_flip_test(graded)):.1f} ms"
    )
    return int(first > SECONDS)


if __name__ == "__main__":
    sys.exit(main())
