"""`sweep`: exact expectations of AWM's reward over a grid of (β, γ, ω, G)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.reward.advantages import ADVANTAGE_EPS, Scale
from looseleaf.reward.cells import AWMReward
from looseleaf.reward.outcome import CELLS
from looseleaf.reward.simulation.exact import MARGIN_PAIRS, Expectation, expected
from looseleaf.reward.simulation.mixture import Mixture

__all__ = ["QUANTITIES", "SWEEP_GRID", "Sweep", "SweepPoint", "parse_sweep", "sweep"]

SWEEP_GRID: dict[str, tuple[float, ...]] = {
    "beta": (0.5, 1.0, 2.0, 4.0),
    "gamma": (-0.05, -0.1, -0.2, -0.4, -0.8),
    "omega": (-0.25, -0.5, -1.0, -2.0),
    "G": (4.0, 8.0, 16.0),
}
"""Grid by default: the paper's (2, −0.1, −1) and G = 8 with values around them."""
MAX_POINTS = 20_000
"""Most combinations of a sweep: about ten seconds."""


class SweepPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Expectations at one combination; lists are in the order of `CELLS` and of `MARGIN_PAIRS`.

    Attributes:
        beta: r11.
        gamma: r01.
        omega: r00.
        group_size: G.
        advantages: mean advantage of each cell; `None` for a cell that never happens.
        mass: share of Σ|A| of each cell.
        margins: mean gap between neighbouring cells.
        zero_variance: share of groups whose rewards are all equal.
        phantom: share of groups in which every answer is wrong and the rewards differ.
        mean_reward: mean reward of a member.
    """

    beta: float
    gamma: float
    omega: float
    group_size: int
    advantages: tuple[float | None, ...]
    mass: tuple[float | None, ...]
    margins: tuple[float | None, ...]
    zero_variance: float
    phantom: float
    mean_reward: float

    def quantity(self, name: str) -> float | None:
        """One number by its name, a key of `QUANTITIES`."""
        kind, _, which = name.partition(":")
        if kind == "advantage":
            return self.advantages[CELLS.index(which)]
        if kind == "mass":
            return self.mass[CELLS.index(which)]
        if kind == "margin":
            return self.margins[MARGIN_NAMES.index(which)]
        return {"zero-variance": self.zero_variance, "phantom": self.phantom}.get(kind, self.mean_reward)


MARGIN_NAMES = tuple(f"{CELLS[better]}-{CELLS[worse]}" for better, worse in MARGIN_PAIRS)
QUANTITIES = {
    **{f"advantage:{cell}": f"mean advantage of cell {cell}" for cell in CELLS},
    **{f"mass:{cell}": f"share of the gradient mass in cell {cell}" for cell in CELLS},
    **{f"margin:{name}": f"mean advantage gap {name}" for name in MARGIN_NAMES},
    "zero-variance": "share of groups without any gradient",
    "phantom": "share of groups with gradient though every answer is wrong",
    "mean-reward": "mean reward",
}
"""What a sweep can show, by name."""


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """All valid combinations of a grid.

    Attributes:
        mixture: name of the mixture.
        eps: added to the standard deviation.
        ddof: of the standard deviation.
        scale: what advantages are divided by.
        grid: the values of beta, gamma, omega and G.
        points: one a combination with β > 0 > γ > ω.
        n_invalid: combinations that do not have this order and were left out.
    """

    mixture: str
    eps: float
    ddof: int
    scale: str
    grid: dict[str, tuple[float, ...]]
    points: tuple[SweepPoint, ...]
    n_invalid: int


def sweep(
    mixture: Mixture,
    grid: Mapping[str, Sequence[float]] = SWEEP_GRID,
    *,
    eps: float = ADVANTAGE_EPS,
    ddof: Literal[0, 1] = 0,
    scale: Scale = "group",
) -> Sweep:
    """Exact expectations over a grid.

    Args:
        mixture: cell probabilities, the user's own for instance (`mixture_of_run`).
        grid: values of any of beta, gamma, omega and G; the others keep those of `SWEEP_GRID`.
        eps: as in `group_advantages`.
        ddof: as in `group_advantages`.
        scale: as in `group_advantages`.

    Raises:
        ConfigError: the grid has other names, no valid combination, or too many.
    """
    full = _full_grid(grid)
    combinations = [
        (beta, gamma, omega, int(size))
        for size in full["G"]
        for beta in full["beta"]
        for gamma in full["gamma"]
        for omega in full["omega"]
    ]
    valid = [one for one in combinations if one[0] > 0 > one[1] > one[2]]
    if not valid or len(valid) > MAX_POINTS:
        raise ConfigError(
            f"The grid has {len(valid)} combinations with beta > 0 > gamma > omega; "
            f"use at least 1 and at most {MAX_POINTS:,}."
        )
    points = []
    for beta, gamma, omega, size in valid:
        table = AWMReward.of_symbols(beta, gamma, omega).table
        result = expected(table, mixture, size, eps=eps, ddof=ddof, scale=scale)
        points.append(_point(beta, gamma, omega, size, result))
    return Sweep(
        mixture=mixture.name,
        eps=eps,
        ddof=ddof,
        scale=scale,
        grid=full,
        points=tuple(points),
        n_invalid=len(combinations) - len(valid),
    )


def parse_sweep(parts: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Read `beta=1,2 gamma=-0.1,-0.5 omega=-1 G=4,8`, each part by itself.

    Raises:
        ConfigError: a part is not a name with numbers.
    """
    grid: dict[str, tuple[float, ...]] = {}
    for part in parts:
        name, _, numbers = part.partition("=")
        try:
            grid[name] = tuple(float(number) for number in numbers.split(","))
        except ValueError:
            raise ConfigError(
                f"The sweep {part!r} cannot be read; write a name and numbers, such as beta=1,2,4."
            ) from None
    return grid


def _full_grid(grid: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    unknown = sorted(set(grid) - set(SWEEP_GRID))
    if unknown:
        raise ConfigError(f"A sweep has no {unknown[0]!r}; it has {', '.join(SWEEP_GRID)}.")
    full = {name: tuple(sorted(set(grid.get(name, values)))) for name, values in SWEEP_GRID.items()}
    if any(size != int(size) for size in full["G"]):
        raise ConfigError(f"A group size is not a whole number: {full['G']}; give whole numbers for G.")
    return full


def _point(beta: float, gamma: float, omega: float, size: int, result: Expectation) -> SweepPoint:
    return SweepPoint(
        beta=beta,
        gamma=gamma,
        omega=omega,
        group_size=size,
        advantages=_known(result.advantages),
        mass=_known(result.mass),
        margins=_known(result.margins),
        zero_variance=result.zero_variance,
        phantom=result.phantom,
        mean_reward=result.mean_reward,
    )


def _known(numbers: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(None if number != number else float(number) for number in numbers)
