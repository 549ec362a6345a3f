"""Measuring groups: what a reward's advantages do to each outcome cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from looseleaf.reward.advantages import GroupAdvantages
from looseleaf.reward.outcome import CELLS
from looseleaf.reward.simulation.exact import MARGIN_PAIRS, Expectation
from looseleaf.reward.simulation.result import Arm, CellResult, MarginResult

__all__ = ["BINS", "CELL_LABELS", "Measured", "measured_arm", "phantom_groups"]

BINS = 120
"""Bins of every histogram."""
CELL_LABELS = (*CELLS, "0?", "1?", "??")
"""The four cells, then wrong and right answers whose memory is unscored, then unscored answers."""
WRONG = ("00", "01", "0?")
"""Labels of wrong answers; an unscored answer is not one."""

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]


class Measured(NamedTuple):
    """Groups under one reward, before they are summed up.

    Attributes:
        mixture: name of the mixture or run.
        reward: label of the reward.
        rewards: one a member `[n]`, NaN where unscored.
        cells: index into `CELL_LABELS` of each member `[n]`.
        advantages: from `group_advantages`.
        exact: expectations, where the mixture is known.
    """

    mixture: str
    reward: str
    rewards: Floats
    cells: Integers
    advantages: GroupAdvantages
    exact: Expectation | None

    @property
    def largest(self) -> float:
        """Largest absolute advantage."""
        return float(np.abs(self.advantages.values).max(initial=0.0))


def phantom_groups(advantages: GroupAdvantages, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Groups in which every scored member's answer is wrong and the rewards differ all the same `[g]`.

    Args:
        advantages: from `group_advantages`.
        wrong: whether each member's answer is known to be wrong `[n]`.
    """
    others = np.bincount(
        advantages.group, weights=~wrong & advantages.scored, minlength=len(advantages.sizes)
    )
    return np.asarray(advantages.varied & (others == 0))


def measured_arm(measured: Measured, low: float, high: float) -> Arm:
    """Sum up; histograms run from `low` to `high`."""
    table = _CellTable(measured)
    found = measured.advantages
    n_groups = max(found.n_groups, 1)
    wrong = np.isin(measured.cells, [CELL_LABELS.index(label) for label in WRONG])
    exact = measured.exact
    kept = [cell for cell in range(len(CELL_LABELS)) if cell < len(CELLS) or table.members[cell]]
    return Arm(
        mixture=measured.mixture,
        reward=measured.reward,
        n_groups=found.n_groups,
        n_too_small=found.n_too_small,
        n_members=len(found.scored) - found.n_unscored,
        n_unscored=found.n_unscored,
        mean_reward=float(measured.rewards[found.scored].mean()),
        exact_mean_reward=None if exact is None else exact.mean_reward,
        cells=tuple(table.result(cell) for cell in kept),
        margins=tuple(table.margin(position) for position in range(len(MARGIN_PAIRS))),
        zero_variance=found.n_zero_variance / n_groups,
        exact_zero_variance=None if exact is None else exact.zero_variance,
        phantom=int(np.count_nonzero(phantom_groups(found, wrong))) / n_groups,
        exact_phantom=None if exact is None else exact.phantom,
        histogram=tuple(tuple(row) for row in _histogram(measured, low, high)[kept].tolist()),
    )


class _CellTable:
    """Sums of advantages by group and cell."""

    def __init__(self, measured: Measured) -> None:
        self._exact = measured.exact
        found = measured.advantages
        groups, kinds = len(found.sizes), len(CELL_LABELS)
        key = found.group * kinds + measured.cells
        scored = found.scored
        self._counts = np.bincount(key, weights=scored, minlength=groups * kinds).reshape(groups, kinds)
        self._sums = np.bincount(key, weights=found.values, minlength=groups * kinds).reshape(groups, kinds)
        self.members = self._counts.sum(axis=0)
        masses = np.bincount(measured.cells, weights=np.abs(found.values), minlength=kinds)
        self._masses = masses / masses.sum() if masses.sum() else masses

    def result(self, cell: int) -> CellResult:
        """One cell."""
        members = float(self.members[cell])
        advantage, error = self._mean(cell) if members else (None, None)
        exact = self._exact if cell < len(CELLS) else None
        return CellResult(
            cell=CELL_LABELS[cell],
            share=members / float(self.members.sum()) if members else 0.0,
            advantage=advantage,
            standard_error=error,
            exact=None if exact is None else _known(exact.advantages[cell]),
            mass=float(self._masses[cell]),
            exact_mass=None if exact is None else _known(exact.mass[cell]),
        )

    def _mean(self, cell: int) -> tuple[float, float]:
        """Mean over members and its linearised standard error over groups (a ratio of sums)."""
        sums, counts = self._sums[:, cell], self._counts[:, cell]
        mean = sums.sum() / counts.sum()
        error = np.sqrt(np.sum((sums - mean * counts) ** 2)) / counts.sum()
        return float(mean), float(error)

    def margin(self, position: int) -> MarginResult:
        """One pair of neighbouring cells."""
        better, worse = MARGIN_PAIRS[position]
        both = (self._counts[:, better] > 0) & (self._counts[:, worse] > 0)
        gaps = (
            self._sums[both, better] / self._counts[both, better]
            - self._sums[both, worse] / self._counts[both, worse]
        )
        return MarginResult(
            better=CELLS[better],
            worse=CELLS[worse],
            margin=float(gaps.mean()) if len(gaps) else None,
            exact=None if self._exact is None else _known(self._exact.margins[position]),
            groups=len(gaps),
        )


def _known(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _histogram(measured: Measured, low: float, high: float) -> NDArray[np.int_]:
    """Members by cell and bin `[cells, BINS]`, without those of zero-variance groups."""
    found = measured.advantages
    used = found.varied[found.group] & found.scored
    scaled = (found.values[used] - low) * (BINS / (high - low))
    bins = np.clip(scaled.astype(np.intp), 0, BINS - 1)
    key = measured.cells[used] * BINS + bins
    return np.bincount(key, minlength=len(CELL_LABELS) * BINS).reshape(len(CELL_LABELS), BINS)
