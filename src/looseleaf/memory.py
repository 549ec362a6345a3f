"""`Finding` and `WorkingMemory`: what the agent writes down, with the page it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

__all__ = ["MAX_FINDING_WORDS", "Finding", "WorkingMemory"]

MAX_FINDING_WORDS = 40
"""Longest finding, in whitespace-separated words (AWM, arXiv 2608.25618, working-memory definition)."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One short, source-linked statement.

    Attributes:
        text: the statement, at most `MAX_FINDING_WORDS` words where the protocol validates it.
        source_page: physical 1-based page it was read from.
        flags: what validation found wrong with it and kept (`over_length`, `page_not_shown`).
    """

    text: str
    source_page: int
    flags: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """Number of whitespace-separated words."""
        return len(self.text.split())


class WorkingMemory:
    """An append-only sequence of findings."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._findings = tuple(findings)

    def append(self, finding: Finding) -> None:
        """Add a finding at the end; nothing is ever changed or removed."""
        self._findings = (*self._findings, finding)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, oldest first."""
        return self._findings

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkingMemory) and self._findings == other._findings

    __hash__ = None  # type: ignore[assignment]  # mutable by append

    def __repr__(self) -> str:
        return f"WorkingMemory({list(self._findings)!r})"

    def as_text(self) -> str:
        """The memory as a reader sees it: one line a finding, with its page."""
        return "\n".join(f"[page {finding.source_page}] {finding.text}" for finding in self._findings)
