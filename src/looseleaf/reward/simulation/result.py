"""`Simulation`: what a simulation found, as data that every output format prints."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Arm", "CellResult", "MarginResult", "SignChange", "Simulation", "sign_changes"]


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome cell under one reward.

    Attributes:
        cell: `00`, `01`, `10`, `11`; `0?` and `1?` where the memory is unscored.
        share: of the scored members.
        advantage: mean advantage of its members, pooled over groups; `None` where it has none.
        standard_error: of that mean, with the group as the sampling unit.
        exact: expectation of the mean, where the mixture is known.
        mass: share of Σ|A| that falls to it.
        exact_mass: expectation of that share as a ratio of expectations.
    """

    cell: str
    share: float
    advantage: float | None
    standard_error: float | None
    exact: float | None = None
    mass: float = 0.0
    exact_mass: float | None = None


class MarginResult(msgspec.Struct, frozen=True, kw_only=True):
    """Gap between the advantages of two cells, over the groups that hold both.

    Attributes:
        better: the cell that AWM prefers.
        worse: the other one.
        margin: mean gap, or `None` where no group holds both.
        exact: expectation of it, where the mixture is known.
        groups: how many groups hold both.
    """

    better: str
    worse: str
    margin: float | None
    exact: float | None
    groups: int


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One mixture (or run) under one reward.

    Attributes:
        mixture: its name.
        reward: the reward's label, with constants.
        n_groups: groups of at least two scored members.
        n_too_small: groups with fewer, which teach nothing.
        n_members: scored members.
        n_unscored: members that were left out.
        mean_reward: over scored members.
        exact_mean_reward: expectation of it.
        cells: by cell.
        margins: between neighbouring cells.
        zero_variance: share of groups whose rewards are all equal.
        exact_zero_variance: expectation of it.
        phantom: share of groups in which every scored answer is wrong and the rewards differ.
        exact_phantom: expectation of it.
        histogram: for each entry of `cells`, members by bin of the advantage, without those of zero-variance groups.
    """

    mixture: str
    reward: str
    n_groups: int
    n_too_small: int
    n_members: int
    n_unscored: int
    mean_reward: float
    exact_mean_reward: float | None
    cells: tuple[CellResult, ...]
    margins: tuple[MarginResult, ...]
    zero_variance: float
    exact_zero_variance: float | None
    phantom: float
    exact_phantom: float | None
    histogram: tuple[tuple[int, ...], ...]


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """All arms of one simulation.

    Attributes:
        source: `mixtures` for sampled groups, `run` for measured ones.
        title: what was simulated, in words.
        groups: groups sampled for each mixture, or questions of the run.
        group_size: members of each group; `None` where the groups of a run differ.
        eps: added to the standard deviation.
        ddof: of the standard deviation.
        scale: what advantages are divided by.
        seed: of the sampling.
        low: lower end of the histograms.
        high: upper end.
        arms: mixture by mixture, reward by reward.
        notes: what a reader of the numbers must know.
    """

    source: Literal["mixtures", "run"]
    title: str
    groups: int
    group_size: int | None
    eps: float
    ddof: int
    scale: str
    seed: int | None
    low: float
    high: float
    arms: tuple[Arm, ...]
    notes: tuple[str, ...] = ()


class SignChange(msgspec.Struct, frozen=True, kw_only=True):
    """The mean advantage of one cell from mixture to mixture.

    Attributes:
        reward: the reward's label.
        cell: the cell.
        advantages: one a mixture, exact where known; `None` where the cell is empty.
        changes: whether some are positive and some negative.
    """

    reward: str
    cell: str
    advantages: tuple[float | None, ...]
    changes: bool


def sign_changes(simulation: Simulation) -> list[SignChange]:
    """Whether a cell is pushed up under one mixture and down under another, for every reward and cell."""
    found: dict[tuple[str, str], list[float | None]] = {}
    for arm in simulation.arms:
        for cell in arm.cells:
            advantage = cell.advantage if cell.exact is None else cell.exact
            found.setdefault((arm.reward, cell.cell), []).append(advantage)
    return [
        SignChange(reward=reward, cell=cell, advantages=tuple(values), changes=_changes(values))
        for (reward, cell), values in found.items()
    ]


def _changes(values: list[float | None]) -> bool:
    known = [value for value in values if value is not None]
    return any(value > 0 for value in known) and any(value < 0 for value in known)
