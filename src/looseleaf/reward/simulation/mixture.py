"""`Mixture`: how often a policy ends in each outcome cell, for one prompt or for a pool of prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from looseleaf.errors import ConfigError
from looseleaf.reward.outcome import CELLS

__all__ = ["PAPER_MIXTURES", "Mixture", "parse_mixture"]

SUM_TOLERANCE = 1e-6
"""How far four probabilities may be from summing to 1: what is typed with few decimals."""

Probabilities = tuple[float, float, float, float]


class Mixture(msgspec.Struct, frozen=True, kw_only=True):
    """Cell probabilities in the order of `CELLS` (00, 01, 10, 11).

    Attributes:
        name: printable name.
        prompts: cell probabilities of each kind of prompt; one kind is the paper's setting.
        weights: how common each kind is; sums to 1.
    """

    name: str
    prompts: tuple[Probabilities, ...]
    weights: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if not self.prompts or len(self.prompts) != len(self.weights):
            raise ConfigError(
                f"The mixture {self.name!r} needs as many weights as prompts, and at least one."
            )
        for numbers in (*self.prompts, self.weights):
            if min(numbers) < 0 or not abs(sum(numbers) - 1) <= SUM_TOLERANCE:
                shown = ", ".join(f"{number:g}" for number in numbers)
                raise ConfigError(
                    f"The mixture {self.name!r} has ({shown}), which are not shares of 1; "
                    f"give four numbers of at least 0 that sum to 1, for the cells {', '.join(CELLS)}."
                )

    @classmethod
    def of(cls, p00: float, p01: float, p10: float, p11: float, *, name: str = "") -> Mixture:
        """One prompt.

        Args:
            p00: share of unresolved errors.
            p01: share of answering errors.
            p10: share of memory-missing correct answers.
            p11: share of memory-supported correct answers.
            name: printable name; `p11 = …` by default.

        Raises:
            ConfigError: the shares are negative or do not sum to 1.
        """
        return cls(name=name or f"p11 = {p11:g}", prompts=((p00, p01, p10, p11),))

    @classmethod
    def of_prompts(cls, name: str, prompts: Iterable[Probabilities]) -> Mixture:
        """A pool of equally weighted prompts; equal ones are counted together."""
        counts = Counter(prompts)
        total = counts.total()
        return cls(
            name=name, prompts=tuple(counts), weights=tuple(count / total for count in counts.values())
        )

    @property
    def table(self) -> NDArray[np.float64]:
        """Probabilities `[prompts, 4]`, each row summing to exactly 1."""
        table = np.array(self.prompts, dtype=np.float64)
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Probability of each cell over all prompts `[4]`."""
        weights = np.array(self.weights)
        return np.asarray(weights / weights.sum() @ self.table)


PAPER_MIXTURES = (
    Mixture.of(0.82, 0.05, 0.05, 0.08),
    Mixture.of(0.60, 0.05, 0.05, 0.30),
    Mixture.of(0.30, 0.05, 0.05, 0.60),
)
"""An early, a middle and a late policy (AWM, arXiv 2608.25618, Figure 3)."""


def parse_mixture(text: str) -> Mixture:
    """Read `p00,p01,p10,p11` or `name=p00,p01,p10,p11`.

    Raises:
        ConfigError: these are not four shares of 1.
    """
    name, _, numbers = text.rpartition("=")
    parts = _numbers(numbers)
    if len(parts) != len(CELLS):
        raise ConfigError(
            f"The mixture {text!r} is not four numbers; write p00,p01,p10,p11 such as 0.6,0.05,0.05,0.3."
        )
    p00, p01, p10, p11 = parts
    return Mixture.of(p00, p01, p10, p11, name=name.strip())


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return []
