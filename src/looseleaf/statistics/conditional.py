"""A conditional rate of two runs, split into what changed on the same rows and what changed because the rows did.

P_mmc is conditional on a correct final answer, and two policies answer different questions correctly. So a better
P_mmc can come from better memories, or from having become right on questions whose memories are easier.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from looseleaf.statistics.clusters import Clusters, Floats
from looseleaf.statistics.difference import (
    Difference,
    difference_of_influences,
    influences,
    paired_difference,
)
from looseleaf.statistics.interval import LEVEL

__all__ = ["ConditionalSplit", "split_conditional_rate"]


class ConditionalSplit(msgspec.Struct, frozen=True, kw_only=True):
    """P_A − P_B = within + composition, exactly.

    Attributes:
        first: P_A over A's own conditioning rows.
        second: P_B over B's own.
        n_first: A's conditioning rows.
        n_second: B's conditioning rows.
        first_common: P_A over the rows in both.
        second_common: P_B over the rows in both.
        n_common: rows in both.
        total: P_A − P_B.
        within: difference on the rows in both: the same questions, so it compares memories.
        composition: the rest: (P_A − P_A on common rows) − (P_B − P_B on common rows).
    """

    first: float | None
    second: float | None
    n_first: int
    n_second: int
    first_common: float | None
    second_common: float | None
    n_common: int
    total: Difference
    within: Difference
    composition: Difference


def split_conditional_rate(
    events: tuple[ArrayLike, ArrayLike],
    conditions: tuple[ArrayLike, ArrayLike],
    clusters: Clusters,
    level: float = LEVEL,
) -> ConditionalSplit:
    """Split the difference of P = (rows with event) / (rows with condition) between two runs on the same rows.

    Args:
        events: of run A and run B, 0 or 1 a row (for P_mmc: the memory does not answer).
        conditions: of run A and run B, 0 or 1 a row (for P_mmc: the final answer is correct).
        clusters: document of each row.
        level: two-sided confidence level.
    """
    y_a, y_b = (np.asarray(condition, dtype=np.float64) for condition in conditions)
    e_a, e_b = (np.asarray(event, dtype=np.float64) for event in events)
    both = y_a * y_b
    own = [(clusters.sums(e_a * y_a), clusters.sums(y_a)), (clusters.sums(e_b * y_b), clusters.sums(y_b))]
    common = [
        (clusters.sums(e_a * both), clusters.sums(both)),
        (clusters.sums(e_b * both), clusters.sums(both)),
    ]
    total, within = paired_difference(own[0], own[1], level), paired_difference(common[0], common[1], level)
    return ConditionalSplit(
        first=_rate(*own[0]),
        second=_rate(*own[1]),
        n_first=int(y_a.sum()),
        n_second=int(y_b.sum()),
        first_common=_rate(*common[0]),
        second_common=_rate(*common[1]),
        n_common=int(both.sum()),
        total=total,
        within=within,
        composition=_composition(own, common, total, within, level),
    )


def _composition(
    own: list[tuple[Floats, Floats]],
    common: list[tuple[Floats, Floats]],
    total: Difference,
    within: Difference,
    level: float,
) -> Difference:
    if total.value is None or within.value is None:
        return Difference(value=None)
    z = (influences(*own[0]) - influences(*own[1])) - (influences(*common[0]) - influences(*common[1]))
    used = (own[0][1] > 0) | (own[1][1] > 0)
    fewest = min(int(np.sum(sums_y > 0)) for _, sums_y in (*own, *common))
    return difference_of_influences(total.value - within.value, z, used, fewest, level)


def _rate(sums_x: Floats, sums_y: Floats) -> float | None:
    total = float(sums_y.sum())
    return float(sums_x.sum()) / total if total > 0 else None
