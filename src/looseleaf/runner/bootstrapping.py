"""`BootstrapStage`: the resamples of one metric after the other; the same documents are drawn in every process."""

from __future__ import annotations

import asyncio
import functools
from typing import NamedTuple

import msgspec
import numpy as np

from looseleaf.errors import ProviderError
from looseleaf.runner.executor import Executor
from looseleaf.runner.executor.stage import Counts
from looseleaf.statistics import RESAMPLES, bootstrap_ratios, resample_weights
from looseleaf.statistics.clusters import Floats

__all__ = ["BootstrapStage", "Ratios", "Sums", "fanned_ratios"]


class Sums(NamedTuple):
    """Numerators and denominators of one metric by document, as the bytes of float64."""

    x: bytes
    y: bytes


class Ratios(NamedTuple):
    """Σx/Σy of each resample, as the bytes of float64; NaN where there is no denominator."""

    values: bytes


class BootstrapStage(msgspec.Struct, frozen=True):
    """Resamples documents.

    Attributes:
        clusters: documents.
        resamples: how often they are drawn.
        seed: of the draws, which are those of `looseleaf.statistics.resample_weights`.
    """

    clusters: int
    resamples: int = RESAMPLES
    seed: int = 0

    @property
    def kind(self) -> str:
        """Its name among the stages."""
        return "bootstrap"

    @classmethod
    def of(cls, context: bytes) -> BootstrapStage:
        """The same stage in another process."""
        return msgspec.json.decode(context, type=cls)

    def context(self) -> bytes:
        """All that another process makes the same stage from."""
        return msgspec.json.encode(self)

    async def one(self, item: Sums) -> Ratios:
        """The resamples of one metric."""
        weights = _weights(self.clusters, self.resamples, self.seed)
        x, y = (np.frombuffer(part, dtype=np.float64) for part in item)
        return Ratios(bootstrap_ratios(x, y, weights).tobytes())

    def failed(self, item: Sums, why: str) -> Ratios:
        """There is no row that could say so.

        Raises:
            ProviderError: always.
        """
        raise ProviderError(f"{why}; run the same command again.")

    def counts(self) -> Counts:
        """Nothing."""
        return {}


@functools.lru_cache(maxsize=1)
def _weights(clusters: int, resamples: int, seed: int) -> Floats:
    """Drawn once a process: 80 kB a document at 10,000 resamples."""
    return resample_weights(clusters, resamples=resamples, seed=seed)


def fanned_ratios(
    executor: Executor,
    sums_x: Floats,
    sums_y: Floats,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    concurrency: int = 8,
) -> Floats:
    """`bootstrap_ratios` of many metrics, each a unit of work.

    Args:
        executor: where they are computed.
        sums_x: numerators, shape (metrics, documents).
        sums_y: denominators, same shape.
        resamples: how often documents are drawn.
        seed: of the draws.
        concurrency: metrics in flight.

    Returns:
        Shape (metrics, resamples), the same to the bit wherever it was computed.

    Raises:
        ProviderError: the work was lost too often.
    """
    stage = BootstrapStage(sums_x.shape[1], resamples, seed)
    items = [Sums(x.tobytes(), y.tobytes()) for x, y in zip(sums_x, sums_y, strict=True)]
    rows = asyncio.run(_all(executor, stage, items, concurrency))
    return np.array([np.frombuffer(row.values, dtype=np.float64) for row in rows])


async def _all(
    executor: Executor, stage: BootstrapStage, items: list[Sums], concurrency: int
) -> list[Ratios]:
    shape = executor.shape(concurrency)
    groups = [items[at : at + shape.group] for at in range(0, len(items), shape.group)]
    done = await asyncio.gather(*(executor.run(stage, group) for group in groups))
    return [row for rows in done for row in rows]
