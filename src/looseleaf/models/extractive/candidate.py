"""`Passage` and `Candidate`: what the extractor reads and what it finds."""

from __future__ import annotations

import msgspec

__all__ = ["Candidate", "Passage"]


class Passage(msgspec.Struct, frozen=True):
    """A text to read, with the physical 1-based page that it came from."""

    page: int
    text: str


class Candidate(msgspec.Struct, frozen=True):
    """A possible answer.

    Attributes:
        text: the answer as it would be given.
        page: physical 1-based page of the evidence.
        evidence: the row or sentence that the answer came from.
        score: support between 0 and about 1.5; comparable between kinds.
        kind: the mechanism that found it.
        scale: factor that the page states for the number ("in millions"), 1 without one.
        computed: whether `text` is already written in the form that the question asks for.
        parts: evidence on further pages, as passages, for answers computed from several places.
    """

    text: str
    page: int
    evidence: str
    score: float
    kind: str
    scale: float = 1.0
    computed: bool = False
    parts: tuple[Passage, ...] = ()
