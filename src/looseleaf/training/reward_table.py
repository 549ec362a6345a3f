"""`[reward]` of a training configuration: what a rollout is worth, and how rewards become advantages."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from looseleaf.reward import ADVANTAGE_EPS, Reward, reward_from_config

__all__ = ["RewardTable"]


class RewardTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[reward]`: what a rollout is worth, and how rewards become advantages.

    Attributes:
        name: `answer-only`, `awm`, `cells` (any four values), `alden`, or `placebo`: AWM's reward with the memory
            scores of a group handed to its members at random.
        r11: value of memory-supported correct; AWM's by default, as are the next three.
        r10: value of memory-missing correct.
        r01: value of an answering error.
        r00: value of an unresolved error.
        memory: whether each reading counts as right or wrong, or with its graded score.
        readers: K, readings of one memory whose mean counts.
        unanswerable: reward of questions that the document does not answer (`looseleaf.reward.CellReward`).
        grounding_penalty: subtracted times the share of findings that their page does not support.
        echo_penalty: subtracted times the share of findings that say nothing but the answer.
        threshold: when a graded score counts as correct.
        scorer: scorer of training; empty for the official one of the training questions.
        ddof: 0 divides squared deviations by n, 1 by n − 1.
        eps: added to the standard deviation.
        scale: what centred rewards are divided by.
        options: constants of `alden`.
    """

    name: Literal["answer-only", "awm", "cells", "alden", "placebo"] = "awm"
    r11: float | None = None
    r10: float | None = None
    r01: float | None = None
    r00: float | None = None
    memory: Literal["binary", "graded"] = "binary"
    readers: int = 1
    unanswerable: Literal["answer", "cells"] = "answer"
    grounding_penalty: float = 0.0
    echo_penalty: float = 0.0
    threshold: str = ">0"
    scorer: str = ""
    ddof: Literal[0, 1] = 0
    eps: float = ADVANTAGE_EPS
    scale: Literal["group", "batch", "none"] = "group"
    options: dict[str, Any] = {}

    @property
    def is_placebo(self) -> bool:
        """Whether memory scores are permuted within each group before the reward is computed."""
        return self.name == "placebo"

    @property
    def reads_memory(self) -> bool:
        """Whether the reward needs a reader."""
        return self.name in ("awm", "cells", "placebo")

    def make(self) -> Reward:
        """The reward itself; for `placebo` it is AWM's.

        Raises:
            ConfigError: its values do not go together.
        """
        if self.name == "alden":
            return reward_from_config({"name": "alden", **self.options})
        if self.name == "answer-only":
            return reward_from_config({"name": "answer-only", "threshold": self.threshold})
        name = "awm" if self.is_placebo else self.name
        given = {cell: getattr(self, cell) for cell in ("r11", "r10", "r01", "r00")}
        shared = ("memory", "readers", "unanswerable", "grounding_penalty", "echo_penalty", "threshold")
        values = {cell: value for cell, value in given.items() if value is not None}
        return reward_from_config({"name": name, **values, **{key: getattr(self, key) for key in shared}})
