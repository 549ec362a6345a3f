"""Rows of the ledgers: readings, extractions and scores."""

from __future__ import annotations

from typing import Any

import msgspec

from looseleaf.roles import Usage
from looseleaf.score import Score, Unscored

__all__ = ["ExtractionRow", "ReadingRow", "ScoreRow"]


class ReadingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a reader from one memory.

    Attributes:
        trajectory_id: whose memory.
        variant: which memory, e.g. `own`.
        sample_index: 0-based sample of a stochastic reader.
        text: the answer, or `None` where the reader failed.
        unscored: why there is no text.
        error: the sentence of the fault.
        usage: what it took.
    """

    trajectory_id: str
    variant: str = "own"
    sample_index: int = 0
    text: str | None = None
    unscored: Unscored | None = None
    error: str | None = None
    usage: Usage = Usage()

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return f"{self.trajectory_id}|{self.variant}|{self.sample_index}"


class ExtractionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One raw output of an extractor, for a final answer or for a reading.

    Attributes:
        trajectory_id: the trajectory.
        target: `answer` or `memory`.
        reading_id: ledger id of the reading for `memory`, else `None`.
        variant: memory variant of the reading.
        sample_index: sample of the reading.
        text: raw output, or `None` where the extractor failed.
        unscored: why there is no text.
        error: the sentence of the fault.
        usage: what it took.
    """

    trajectory_id: str
    target: str
    reading_id: str | None = None
    variant: str = "own"
    sample_index: int = 0
    text: str | None = None
    unscored: Unscored | None = None
    error: str | None = None
    usage: Usage = Usage()

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return f"{self.trajectory_id}|{self.target}|{self.reading_id}|{self.variant}|{self.sample_index}"


class ScoreRow(msgspec.Struct, frozen=True, kw_only=True):
    """One score of one target of one trajectory; see `ExtractionRow` for the identifying fields.

    Attributes:
        prediction: the parsed short answer that was scored.
        value: the score, if there is one.
        unscored: why there is none.
        upstream_raises: exception that escapes the official function on this input.
        upstream_value: what a run of the upstream code would have recorded (failure = 0), its own column.
        error: the sentence of the fault.
        usage: what a judge took.
    """

    trajectory_id: str
    target: str
    reading_id: str | None = None
    extraction_id: str | None = None
    variant: str = "own"
    sample_index: int = 0
    prediction: Any = None
    value: float | None = None
    unscored: Unscored | None = None
    upstream_raises: str | None = None
    upstream_value: float | None = None
    error: str | None = None
    usage: Usage = Usage()

    def __post_init__(self) -> None:
        _ = (
            self.score
        )  # a row that is neither scored nor unscored is refused when it is made and when it is read

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return f"{self.trajectory_id}|{self.target}|{self.reading_id}|{self.variant}|{self.sample_index}"

    @property
    def score(self) -> Score:
        """The score as the object that metrics take."""
        return Score(value=self.value, unscored=self.unscored, upstream_raises=self.upstream_raises)
