"""`simulate`: groups sampled from mixtures, through the same advantages as training.

Source: AWM, arXiv 2608.25618, Figure 3: 15,000 groups of 8 for each of three mixtures. All rewards of a mixture see the
same sampled groups; the answer-only arm then sees the marginal of the answers, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from looseleaf.errors import ConfigError
from looseleaf.reward.advantages import ADVANTAGE_EPS, Scale, group_advantages
from looseleaf.reward.cells import AnswerOnlyReward, AWMReward
from looseleaf.reward.simulation.exact import expected
from looseleaf.reward.simulation.measure import Measured, measured_arm
from looseleaf.reward.simulation.mixture import PAPER_MIXTURES, Mixture
from looseleaf.reward.simulation.result import Simulation

__all__ = ["PAPER_GROUPS", "PAPER_GROUP_SIZE", "TableReward", "simulate", "summed_up"]

PAPER_GROUPS = 15_000
"""Groups of each mixture (AWM, Figure 3)."""
PAPER_GROUP_SIZE = 8
"""G, trajectories of each group (AWM, Figure 3)."""
MAX_MEMBERS = 50_000_000
"""Most members of one mixture: what fits in 2 GB."""
HISTOGRAM_STEP = 0.5
"""Histograms reach to the next multiple of this beyond the largest advantage."""


class TableReward(Protocol):
    """A reward that has one value for each cell: `AWMReward`, `CellReward`, `AnswerOnlyReward`."""

    @property
    def table(self) -> NDArray[np.float64]:
        """Values `[4]`, in the order of `CELLS`."""

    @property
    def label(self) -> str:
        """Printable name."""

    @property
    def problems(self) -> list[str]:
        """What is unusual about it."""


def simulate(
    rewards: Sequence[TableReward] = (),
    mixtures: Sequence[Mixture] = PAPER_MIXTURES,
    *,
    groups: int = PAPER_GROUPS,
    group_size: int = PAPER_GROUP_SIZE,
    eps: float = ADVANTAGE_EPS,
    ddof: Literal[0, 1] = 0,
    scale: Scale = "group",
    seed: int = 0,
) -> Simulation:
    """Sample groups from mixtures and measure what each reward's advantages do, beside the exact expectations.

    Args:
        rewards: AWM's and the answer-only reward by default.
        mixtures: cell probabilities; the paper's three by default.
        groups: groups sampled for each mixture.
        group_size: members of each.
        eps: as in `group_advantages`.
        ddof: as in `group_advantages`.
        scale: as in `group_advantages`.
        seed: of the sampling; the same seed gives the same numbers.

    Raises:
        ConfigError: nothing is to be simulated, or the sizes are out of range.
    """
    rewards = rewards or (AWMReward(), AnswerOnlyReward())
    if not mixtures or min(groups, group_size) < 1 or groups * group_size > MAX_MEMBERS:
        raise ConfigError(
            f"{groups} groups of {group_size} from {len(mixtures)} mixtures cannot be simulated; "
            f"use at least one of each and at most {MAX_MEMBERS:,} members a mixture."
        )
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), group_size)
    found = []
    for mixture in mixtures:
        expectations = [
            expected(reward.table, mixture, group_size, eps=eps, ddof=ddof, scale=scale) for reward in rewards
        ]
        cells = _sampled_cells(generator, mixture, groups, group_size)
        for reward, exact in zip(rewards, expectations, strict=True):
            values = reward.table[cells]
            advantages = group_advantages(values, labels, eps, ddof, scale)
            found.append(Measured(mixture.name, reward.label, values, cells, advantages, exact))
    return summed_up(
        found,
        source="mixtures",
        title=f"{groups:,} groups of {group_size} from each mixture",
        groups=groups,
        group_size=group_size,
        eps=eps,
        ddof=ddof,
        scale=scale,
        seed=seed,
        notes=tuple(f"{reward.label}: {problem}" for reward in rewards for problem in reward.problems),
    )


def _sampled_cells(
    generator: np.random.Generator, mixture: Mixture, groups: int, group_size: int
) -> NDArray[np.intp]:
    """Cell of each member `[groups · group_size]`, group by group."""
    edges = np.cumsum(mixture.table, axis=1)
    edges /= edges[:, -1:]
    kinds = len(mixture.prompts)
    prompt = generator.choice(kinds, size=groups, p=mixture.weights) if kinds > 1 else np.zeros(1, np.intp)
    draws = generator.random((groups, group_size))
    cells = np.zeros((groups, group_size), dtype=np.intp)
    for edge in range(edges.shape[1] - 1):
        cells += draws >= edges[prompt, edge][:, None]
    return cells.ravel()


def summed_up(
    found: Sequence[Measured],
    *,
    source: Literal["mixtures", "run"],
    title: str,
    groups: int,
    group_size: int | None,
    eps: float,
    ddof: int,
    scale: str,
    seed: int | None,
    notes: tuple[str, ...],
) -> Simulation:
    """All arms under one histogram range."""
    reach = np.ceil(max(measured.largest for measured in found) / HISTOGRAM_STEP + 1e-9) * HISTOGRAM_STEP
    return Simulation(
        source=source,
        title=title,
        groups=groups,
        group_size=group_size,
        eps=eps,
        ddof=ddof,
        scale=scale,
        seed=seed,
        low=-float(reach),
        high=float(reach),
        arms=tuple(measured_arm(measured, -float(reach), float(reach)) for measured in found),
        notes=notes,
    )
