"""Rewards over the four outcome cells: AWM's, any other four values, and the answer-only baseline.

Source: AWM, arXiv 2608.25618, reward and advantage: r11 = β, r10 = 0, r01 = γ, r00 = ω with β > 0 > γ > ω and defaults
(2, 0, −0.1, −1); the answer-only baseline is R = s_ans. The graded memory, the mean over K readings, the check of each
finding and the echo penalty are variants that the paper names and rejects; here they are options, off by default.
"""

from __future__ import annotations

import math
import warnings
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from looseleaf.errors import ConfigError
from looseleaf.reward.outcome import Outcome
from looseleaf.scoring.thresholds import threshold_named

__all__ = [
    "AWM_BETA",
    "AWM_GAMMA",
    "AWM_OMEGA",
    "AWM_R10",
    "AWMReward",
    "AnswerOnlyReward",
    "CellReward",
    "RewardWarning",
]

AWM_BETA = 2.0
"""β = r11, memory-supported correct (AWM, arXiv 2608.25618)."""
AWM_R10 = 0.0
"""r10, memory-missing correct (AWM): the origin of the scale."""
AWM_GAMMA = -0.1
"""γ = r01, answering error (AWM)."""
AWM_OMEGA = -1.0
"""ω = r00, unresolved error (AWM)."""

PREFERENCES = (("r11", "r10"), ("r10", "r01"), ("r01", "r00"))
"""The three preferences between neighbouring cells, best first (AWM, reward and advantage)."""

NUMBERS = ("r11", "r10", "r01", "r00", "grounding_penalty", "echo_penalty")


class RewardWarning(UserWarning):
    """A reward that works, but not in the order that AWM's argument rests on."""


class CellReward(msgspec.Struct, frozen=True, tag_field="name", tag="cells", forbid_unknown_fields=True):
    """A reward with one value for each cell; broken preferences are warned about, not refused.

    With binary a = s_ans and m in [0, 1]:
    r = a·m·r11 + a·(1 − m)·r10 + (1 − a)·m·r01 + (1 − a)·(1 − m)·r00. At m = 0 and m = 1 these are the four cells.

    Attributes:
        r11: value of memory-supported correct.
        r10: value of memory-missing correct.
        r01: value of an answering error.
        r00: value of an unresolved error.
        memory: `binary` takes each reading as right or wrong, `graded` takes its score as m.
        readers: K, readings of one memory that m is the mean of; with fewer scored readings there is no reward.
        threshold: name of the binarisation.
        unanswerable: reward of questions whose gold answer is that the document does not say: `answer` gives s_ans
            (a refusal with an empty memory would otherwise earn r11), `cells` treats them like the others.
        grounding_penalty: subtracted times the share of findings that their cited page does not support.
        echo_penalty: subtracted times the share of findings that say nothing but the answer.
    """

    r11: float
    r10: float
    r01: float
    r00: float
    memory: Literal["binary", "graded"] = "binary"
    readers: int = 1
    threshold: str = ">0"
    unanswerable: Literal["answer", "cells"] = "answer"
    grounding_penalty: float = 0.0
    echo_penalty: float = 0.0

    def __post_init__(self) -> None:
        for name in NUMBERS:  # 2 and 2.0 are one configuration and must have one hash
            msgspec.structs.force_setattr(self, name, float(getattr(self, name)))
        self._check()
        for problem in self.problems:
            warnings.warn(problem, RewardWarning, stacklevel=2)

    def _check(self) -> None:
        threshold_named(self.threshold)
        numbers = (*self.values, self.grounding_penalty, self.echo_penalty)
        if not all(math.isfinite(number) for number in numbers):
            raise ConfigError("A reward has a value that is not finite; give four numbers.")
        if self.readers < 1:
            raise ConfigError(f"readers is {self.readers}; use at least 1 reading of each memory.")
        if self.grounding_penalty < 0 or self.echo_penalty < 0:
            raise ConfigError("A penalty is negative, which would be a reward; give 0 or more.")

    @property
    def values(self) -> tuple[float, float, float, float]:
        """The four values in the order of `CELLS`: r00, r01, r10, r11."""
        return self.r00, self.r01, self.r10, self.r11

    @property
    def table(self) -> NDArray[np.float64]:
        """`values` as an array `[4]`, to be indexed by cell."""
        return np.array(self.values, dtype=np.float64)

    @property
    def label(self) -> str:
        """Printable name: the constants, and every option that is not at its default."""
        return _label("cells", (self.r11, self.r10, self.r01, self.r00), self, CellReward)

    @property
    def problems(self) -> list[str]:
        """What is unusual about the order of the values, as sentences; empty for AWM's order."""
        return [*self._broken_preferences(), *self._reversible_preferences()]

    def _broken_preferences(self) -> list[str]:
        sentences = []
        for better, worse in PREFERENCES:
            high, low = getattr(self, better), getattr(self, worse)
            if not high > low:
                relation = "equals" if high == low else "is below"
                sentences.append(
                    f"The preference {better} > {worse} does not hold: "
                    f"{better} = {high:g} {relation} {worse} = {low:g}."
                )
        return sentences

    def _reversible_preferences(self) -> list[str]:
        penalty = self.grounding_penalty + self.echo_penalty
        return [
            f"Penalties of up to {penalty:g} can reverse the preference {better} > {worse}, whose margin is {margin:g}."
            for better, worse in PREFERENCES
            if 0 < (margin := getattr(self, better) - getattr(self, worse)) <= penalty
        ]

    def value(self, outcome: Outcome) -> float | None:
        """The reward of one trajectory, or `None` where a score that it needs is missing."""
        if outcome.answer is None:
            return None
        correct = threshold_named(self.threshold)
        right = correct(outcome.answer)
        if outcome.unanswerable and self.unanswerable == "answer":
            return float(right)
        memory = self._memory(outcome)
        penalty = self._penalty(outcome)
        if memory is None or penalty is None:
            return None
        with_memory, without = (self.r11, self.r10) if right else (self.r01, self.r00)
        return memory * with_memory + (1 - memory) * without - penalty

    def _memory(self, outcome: Outcome) -> float | None:
        readings = outcome.memory[: self.readers]
        if len(readings) < self.readers or any(score is None for score in readings):
            return None
        correct = threshold_named(self.threshold)
        scores = [score for score in readings if score is not None]
        kept = scores if self.memory == "graded" else [float(correct(score)) for score in scores]
        return math.fsum(kept) / len(kept)

    def _penalty(self, outcome: Outcome) -> float | None:
        total = 0.0
        if self.grounding_penalty:
            if outcome.grounded is None or None in outcome.grounded:
                return None
            total += self.grounding_penalty * _share([not held for held in outcome.grounded])
        if self.echo_penalty:
            if outcome.echoed is None:
                return None
            total += self.echo_penalty * _share(outcome.echoed)
        return total


class AWMReward(CellReward, frozen=True, tag="awm", forbid_unknown_fields=True):
    """AWM's reward: refuses anything but r11 > r10 > r01 > r00. Attributes are those of `CellReward`.

    Raises:
        ConfigError: the order does not hold.
    """

    r11: float = AWM_BETA
    r10: float = AWM_R10
    r01: float = AWM_GAMMA
    r00: float = AWM_OMEGA

    def _check(self) -> None:
        super()._check()
        broken = self._broken_preferences()
        if broken:
            raise ConfigError(f"{broken[0]} Use CellReward for a reward without AWM's order.")

    @classmethod
    def of_symbols(
        cls, beta: float = AWM_BETA, gamma: float = AWM_GAMMA, omega: float = AWM_OMEGA
    ) -> AWMReward:
        """The reward by the paper's symbols β > 0 > γ > ω.

        Args:
            beta: r11, memory-supported correct.
            gamma: r01, an answering error.
            omega: r00, an unresolved error.

        Raises:
            ConfigError: the order does not hold.
        """
        return cls(beta, AWM_R10, gamma, omega)

    @property
    def label(self) -> str:
        """Printable name: the constants, and every option that is not at its default."""
        return _label("awm", (self.r11, self.r10, self.r01, self.r00), self, CellReward)


class AnswerOnlyReward(
    msgspec.Struct, frozen=True, tag_field="name", tag="answer-only", forbid_unknown_fields=True
):
    """The baseline R = s_ans, which does not look at the memory.

    Attributes:
        answer: `binary` gives 0 or 1, `graded` the score itself.
        threshold: name of the binarisation.
    """

    answer: Literal["binary", "graded"] = "binary"
    threshold: str = ">0"

    def __post_init__(self) -> None:
        threshold_named(self.threshold)

    @property
    def values(self) -> tuple[float, float, float, float]:
        """Values of the four cells in the order of `CELLS`."""
        return 0.0, 0.0, 1.0, 1.0

    @property
    def table(self) -> NDArray[np.float64]:
        """`values` as an array `[4]`, to be indexed by cell."""
        return np.array(self.values, dtype=np.float64)

    @property
    def label(self) -> str:
        """Printable name: every option that is not at its default."""
        return _label("answer-only", (), self, AnswerOnlyReward)

    @property
    def problems(self) -> list[str]:
        """Nothing: the baseline promises no order between cells of the same answer."""
        return []

    def value(self, outcome: Outcome) -> float | None:
        """The reward of one trajectory, or `None` where its answer is unscored."""
        if outcome.answer is None:
            return None
        return (
            outcome.answer
            if self.answer == "graded"
            else float(threshold_named(self.threshold)(outcome.answer))
        )


def _share(flags: tuple[bool, ...] | list[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0


def _label(
    name: str, constants: tuple[float, ...], reward: msgspec.Struct, base: type[msgspec.Struct]
) -> str:
    parts = [f"{constant:g}" for constant in constants]
    for field in msgspec.structs.fields(base):
        value = getattr(reward, field.name)
        if field.default is not msgspec.NODEFAULT and value != field.default:
            parts.append(f"{field.name}={value}")
    return f"{name}({', '.join(parts)})" if parts else name
