"""Group-relative advantages, vectorised over ragged groups with unscored members.

Source: A_i = (r_i − μ_g)/(σ_g + ε) inside the trajectories of one prompt, ε = 1e-6 (AWM, arXiv 2608.25618, reward and
advantage; ddof is not stated there: 0 reproduces its simulation). `scale="batch"` divides by the standard deviation of
all scored rewards, as TRL's `scale_rewards="batch"` does; `scale="none"` only centres (Dr. GRPO, arXiv 2503.20783).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from looseleaf.errors import ConfigError

__all__ = ["ADVANTAGE_EPS", "GroupAdvantages", "Scale", "check_options", "group_advantages"]

ADVANTAGE_EPS = 1e-6
"""ε beside the standard deviation (AWM, reward and advantage)."""
DENSE_LABELS = 4
"""Whole-number labels are used as indices if they are less than this times the number of rewards."""

Scale = Literal["group", "batch", "none"]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class GroupAdvantages(NamedTuple):
    """Advantages and what the groups looked like.

    Attributes:
        values: advantage of each reward `[n]`, in the order given; exactly 0 for unscored members, which must also
            be left out of the loss by `scored`.
        scored: which rewards had a value `[n]`.
        group: index of each reward's group `[n]`.
        sizes: scored members of each group `[g]`.
        means: mean of each group's scored rewards `[g]`, NaN where there are none.
        stds: standard deviation of each group `[g]`, 0 where fewer than two members are scored.
        varied: whether the scored members of each group differ at all `[g]`.
    """

    values: Floats
    scored: NDArray[np.bool_]
    group: Indices
    sizes: Indices
    means: Floats
    stds: Floats
    varied: NDArray[np.bool_]

    @property
    def n_unscored(self) -> int:
        """Members that were left out."""
        return int(len(self.scored) - np.count_nonzero(self.scored))

    @property
    def n_groups(self) -> int:
        """Groups with at least two scored members, the only ones that can teach anything."""
        return int(np.count_nonzero(self.sizes > 1))

    @property
    def n_too_small(self) -> int:
        """Groups with fewer than two scored members; their advantages are 0."""
        return len(self.sizes) - self.n_groups

    @property
    def n_zero_variance(self) -> int:
        """Groups of two or more whose rewards are all equal; their advantages are exactly 0."""
        return int(np.count_nonzero((self.sizes > 1) & ~self.varied))


def group_advantages(
    rewards: ArrayLike | Sequence[float | None],
    groups: ArrayLike | Sequence[Hashable],
    eps: float = ADVANTAGE_EPS,
    ddof: Literal[0, 1] = 0,
    scale: Scale = "group",
) -> GroupAdvantages:
    """Advantage of every reward inside its group.

    Args:
        rewards: one a trajectory `[n]`; `None` or NaN is unscored: left out of its group and counted, never 0.
        groups: label of each trajectory's prompt `[n]`, in any order, groups of any size.
        eps: added to the standard deviation.
        ddof: 0 divides the squares by n (the paper's simulation), 1 by n − 1 (`torch.std`).
        scale: divide by the group's own deviation, by that of the whole batch, or not at all.

    Raises:
        ConfigError: the lengths differ, a reward is infinite, or an option is not one of the above.
    """
    values = np.asarray(rewards, dtype=np.float64)
    check_options(eps, ddof, scale)
    _check(values, groups)
    group, n_groups = _indices(groups)
    scored = ~np.isnan(values)
    if scored.all():
        inner = _centred(values, group, n_groups, ddof)
        return _scaled(inner, values, scored, group, eps, ddof, scale)
    inner = _centred(values[scored], group[scored], n_groups, ddof)
    return _scaled(inner, values, scored, group, eps, ddof, scale)


class _Centred(NamedTuple):
    """Scored rewards minus their group's mean, and the statistics of the groups."""

    values: Floats
    group: Indices
    sizes: Indices
    means: Floats
    stds: Floats
    varied: NDArray[np.bool_]


def _centred(rewards: Floats, group: Indices, n_groups: int, ddof: int) -> _Centred:
    sizes = np.bincount(group, minlength=n_groups)
    # Differences to one member of the group: equal rewards give exactly 0 whatever they are, which a mean of
    # rounded sums does not.
    anchor = np.full(n_groups, np.nan)
    anchor[group] = rewards
    deltas = rewards - anchor[group]
    members = np.maximum(sizes, 1)
    offset = np.bincount(group, weights=deltas, minlength=n_groups) / members
    centred = deltas - offset[group]
    squares = np.bincount(group, weights=centred * centred, minlength=n_groups)
    stds = np.sqrt(squares / np.maximum(sizes - ddof, 1))
    varied = np.bincount(group, weights=deltas != 0.0, minlength=n_groups) > 0
    return _Centred(centred, group, sizes, anchor + offset, stds, varied)


def _scaled(
    inner: _Centred,
    rewards: Floats,
    scored: NDArray[np.bool_],
    group: Indices,
    eps: float,
    ddof: int,
    scale: Scale,
) -> GroupAdvantages:
    if scale == "group":
        advantages = inner.values / _divisor(inner.stds + eps)[inner.group]
    elif scale == "batch":
        known = rewards[scored]
        deviation = known.std(ddof=ddof, keepdims=True) if len(known) > ddof else np.zeros(1)
        advantages = inner.values / _divisor(deviation + eps)
    else:
        advantages = inner.values
    if len(advantages) != len(rewards):
        spread = np.zeros(len(rewards))
        spread[scored] = advantages
        advantages = spread
    return GroupAdvantages(advantages, scored, group, inner.sizes, inner.means, inner.stds, inner.varied)


def _divisor(deviations: Floats) -> Floats:
    """With eps = 0 a group of equal rewards has nothing to divide by; its deviations from the mean are 0 anyway."""
    return np.where(deviations > 0.0, deviations, 1.0)


def _indices(groups: ArrayLike | Sequence[Hashable]) -> tuple[Indices, int]:
    """Group labels as indices from 0, in order of the labels or of first appearance."""
    if isinstance(groups, np.ndarray) and groups.ndim == 1 and groups.dtype.kind in "iu" and len(groups):
        low, high = int(groups.min()), int(groups.max())
        if high - low < DENSE_LABELS * len(groups):
            return _without_gaps((groups - low).astype(np.intp, copy=False), high - low + 1)
    order: dict[Hashable, int] = {}
    labels: Iterable[Hashable] = groups.tolist() if isinstance(groups, np.ndarray) else groups  # type: ignore[assignment]
    found = [order.setdefault(label, len(order)) for label in labels]
    return np.array(found, dtype=np.intp), len(order)


def _without_gaps(indices: Indices, n_labels: int) -> tuple[Indices, int]:
    present = np.zeros(n_labels, dtype=bool)
    present[indices] = True
    n_groups = int(np.count_nonzero(present))
    if n_groups == n_labels:
        return indices, n_groups
    return (np.cumsum(present) - 1)[indices], n_groups


def _check(rewards: Floats, groups: Any) -> None:
    if rewards.ndim != 1 or len(rewards) != len(groups):
        raise ConfigError(
            f"There are {rewards.size} rewards and {len(groups)} group labels; give one label for each reward."
        )
    if np.isinf(rewards).any():
        raise ConfigError("A reward is infinite; use None or NaN for a trajectory that is not scored.")


def check_options(eps: float, ddof: int, scale: str) -> None:
    """Refuse options that no advantage is defined for.

    Args:
        eps: added to the standard deviation, at least 0.
        ddof: 0 or 1.
        scale: what a centred reward is divided by: `group`, `batch` or `none`.

    Raises:
        ConfigError: they cannot be used.
    """
    if ddof not in (0, 1) or scale not in ("group", "batch", "none") or not eps >= 0:
        raise ConfigError(
            f"ddof = {ddof}, scale = {scale!r} and eps = {eps} do not go together; "
            "use ddof 0 or 1, scale group, batch or none, and eps of at least 0."
        )
