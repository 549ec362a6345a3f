"""Exact expectations under a mixture, by enumerating how a group of G can split over the four cells.

With G = 8 there are 165 compositions. Each has a multinomial probability and fixed advantages, so that no sampling is
needed; the simulation is held against these numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from looseleaf.errors import ConfigError
from looseleaf.reward.advantages import ADVANTAGE_EPS, Scale, check_options
from looseleaf.reward.outcome import CELLS
from looseleaf.reward.simulation.mixture import Mixture

__all__ = ["MARGIN_PAIRS", "Expectation", "expected"]

MAX_GROUP = 128
"""Largest group that is enumerated: 366,145 compositions."""
IMPOSSIBLE = -1e300
"""Logarithm of a probability of 0 that stays 0 when it is multiplied by a count of 0."""
MARGIN_PAIRS = ((3, 2), (2, 1), (1, 0))
"""Neighbouring cells, better one first, as indices into `CELLS`."""

Floats = NDArray[np.float64]


class Expectation(NamedTuple):
    """Expectations over groups; arrays are in the order of `CELLS`, NaN for what never happens.

    Attributes:
        shares: probability of each cell `[4]`.
        mean_reward: mean reward of a member.
        advantages: mean advantage of the members of each cell, pooled over all groups `[4]`.
        mass: share of Σ|A| that falls to each cell `[4]`: where the gradient goes.
        zero_variance: share of groups whose rewards are all equal.
        phantom: share of groups in which every answer is wrong and the rewards differ.
        margins: mean advantage gap of `MARGIN_PAIRS` over the groups that hold both cells `[3]`.
    """

    shares: Floats
    mean_reward: float
    advantages: Floats
    mass: Floats
    zero_variance: float
    phantom: float
    margins: Floats


def expected(
    table: ArrayLike,
    mixture: Mixture,
    group_size: int = 8,
    *,
    eps: float = ADVANTAGE_EPS,
    ddof: Literal[0, 1] = 0,
    scale: Scale = "group",
) -> Expectation:
    """Exact expectations of a reward with one value a cell.

    Args:
        table: reward of each cell `[4]`, in the order of `CELLS`.
        mixture: cell probabilities.
        group_size: G, trajectories a prompt.
        eps: added to the standard deviation.
        ddof: as in `group_advantages`.
        scale: as in `group_advantages`; `batch` takes the deviation of an endless batch.

    Raises:
        ConfigError: the group is too small or too large, or an option cannot be used.
    """
    check_options(eps, ddof, scale)
    rewards = np.asarray(table, dtype=np.float64)
    counts = _compositions(group_size)
    probability = _probabilities(mixture, group_size)
    deltas = rewards - rewards[np.argmax(counts > 0, axis=1)][:, None]
    deviations = deltas - (counts * deltas).sum(axis=1, keepdims=True) / group_size
    stds = np.sqrt((counts * deviations**2).sum(axis=1) / (group_size - ddof))
    varied = ((counts > 0) & (deltas != 0.0)).any(axis=1)
    divisor = _divisor(scale, stds, eps, rewards, mixture.shares)
    advantages = deviations / divisor[:, None]
    weights = probability[:, None] * counts
    mass = (weights * np.abs(advantages)).sum(axis=0)
    wrong = counts[:, 2:].sum(axis=1) == 0
    with np.errstate(invalid="ignore"):
        return Expectation(
            shares=mixture.shares,
            mean_reward=float(mixture.shares @ rewards),
            advantages=(weights * advantages).sum(axis=0) / weights.sum(axis=0),
            mass=mass / mass.sum(),
            zero_variance=float(probability[~varied].sum()),
            phantom=float(probability[varied & wrong].sum()),
            margins=_margins(rewards, counts, probability, divisor),
        )


def _divisor(scale: Scale, stds: Floats, eps: float, rewards: Floats, shares: Floats) -> Floats:
    if scale == "none":
        return np.ones_like(stds)
    if scale == "batch":
        spread = np.sqrt(shares @ (rewards - shares @ rewards) ** 2)
        stds = np.full_like(stds, spread)
    return np.asarray(np.where(stds + eps > 0, stds + eps, 1.0))


def _margins(rewards: Floats, counts: Floats, probability: Floats, divisor: Floats) -> Floats:
    margins = []
    for better, worse in MARGIN_PAIRS:
        weight = probability * ((counts[:, better] > 0) & (counts[:, worse] > 0))
        margins.append((weight * (rewards[better] - rewards[worse]) / divisor).sum() / weight.sum())
    return np.array(margins)


@lru_cache(maxsize=8)
def _compositions(group_size: int) -> Floats:
    """All ways to split the group `[compositions, 4]`."""
    if not 2 <= group_size <= MAX_GROUP:
        raise ConfigError(f"The group size is {group_size}; use 2 to {MAX_GROUP} trajectories a prompt.")
    first = np.indices((group_size + 1,) * (len(CELLS) - 1)).reshape(len(CELLS) - 1, -1).T
    last = group_size - first.sum(axis=1)
    counts = np.column_stack([first, last])[last >= 0].astype(np.float64)
    counts.flags.writeable = False  # shared by every caller
    return np.asarray(counts)


@lru_cache(maxsize=8)
def _log_ways(group_size: int) -> Floats:
    """Logarithm of the multinomial coefficient of each composition."""
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, group_size + 1)))])
    return np.asarray(
        log_factorials[group_size] - log_factorials[_compositions(group_size).astype(np.intp)].sum(axis=1)
    )


def _probabilities(mixture: Mixture, group_size: int) -> Floats:
    """Probability of each composition, over the kinds of prompts."""
    counts, log_ways = _compositions(group_size), _log_ways(group_size)
    total = np.zeros(len(counts))
    for weight, row in zip(mixture.weights, mixture.table, strict=True):
        logs = np.log(row, where=row > 0, out=np.full(len(row), IMPOSSIBLE))
        total += weight * np.exp(log_ways + counts @ logs)
    return np.asarray(total / total.sum())
