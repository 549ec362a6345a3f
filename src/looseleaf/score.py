"""`Score`: a number, or the reason why there is none."""

from __future__ import annotations

from enum import StrEnum

import msgspec

__all__ = ["Score", "Unscored"]


class Unscored(StrEnum):
    """Why a row carries no value. An unscored row is never a wrong one."""

    AGENT_FAULT = "agent_fault"
    """The trajectory stopped on a provider, document or cancellation fault."""
    READER_FAULT = "reader_fault"
    """The reader did not give an answer to the question from the memory."""
    EXTRACTOR_FAULT = "extractor_fault"
    """The extractor did not give a short answer."""
    JUDGE_FAULT = "judge_fault"
    """The judge did not give a verdict that parses."""
    NO_GOLD = "no_gold"
    """The question carries no reference answer."""
    MISSING_DOCUMENT = "missing_document"
    """The question's document is not present (only under `--strict`)."""


LARGEST = 1e9
"""Largest score of any scorer: beyond it no scale is meant, and sums of squares over many rows stay finite below it."""


class Score(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of one scorer on one prediction: exactly one of `value` and `unscored` is set.

    Attributes:
        value: the score, in the scorer's own range (usually 0 to 1).
        unscored: why there is no value.
        upstream_raises: name of the exception that escapes the official function on this input;
            the value is then 0, which is what a run of the official code would have recorded at best.
    """

    value: float | None = None
    unscored: Unscored | None = None
    upstream_raises: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.unscored is None):
            raise ValueError("a Score has exactly one of value and unscored")
        if self.value is not None and not abs(self.value) <= LARGEST:
            raise ValueError(f"a Score is a number of at most {LARGEST:g}, not {self.value}")

    @property
    def scored(self) -> bool:
        """Whether there is a value."""
        return self.value is not None
