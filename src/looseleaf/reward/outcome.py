"""`Outcome`: what an answer-and-memory reward looks at, and the four cells it falls into."""

from __future__ import annotations

import math

import msgspec

from looseleaf.errors import DataError
from looseleaf.scoring.thresholds import threshold_named

__all__ = ["CELLS", "Outcome"]

CELLS = ("00", "01", "10", "11")
"""Outcome cells (s_ans, s_mem) in the order of every array here: 2 · s_ans + s_mem (AWM, arXiv 2608.25618)."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The scores of one trajectory, as its scorer gave them. `None` always means unscored, never wrong.

    Attributes:
        answer: graded score of the final answer, 0 to 1.
        memory: graded scores of the reader's answers from the terminal memory alone, one a reader sample.
        unanswerable: whether the gold answer is that the document does not say.
        grounded: for each finding, whether its cited page supports it; `None` as a whole where nobody checked, and
            for a single finding where the check failed.
        echoed: for each finding, whether it says nothing but the answer; `None` where nobody checked.
    """

    answer: float | None
    memory: tuple[float | None, ...] = ()
    unanswerable: bool = False
    grounded: tuple[bool | None, ...] | None = None
    echoed: tuple[bool, ...] | None = None

    def __post_init__(self) -> None:
        for score in (self.answer, *self.memory):
            if score is not None and not (math.isfinite(score) and 0.0 <= score <= 1.0):
                raise DataError(f"A score of {score} cannot be rewarded; scores go from 0 to 1.")

    def cell(self, threshold: str = ">0") -> int | None:
        """Index into `CELLS` under the first reader sample, or `None` where either score is missing."""
        memory = self.memory[0] if self.memory else None
        if self.answer is None or memory is None:
            return None
        correct = threshold_named(threshold)
        return 2 * correct(self.answer) + correct(memory)
