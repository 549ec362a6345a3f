"""Writing findings: one short statement, with its page, from a candidate."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from looseleaf.memory import MAX_FINDING_WORDS
from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.engine import answer
from looseleaf.models.extractive.query import analyse

__all__ = ["NOTHING_FOUND", "NoteStyle", "write"]

NOTHING_FOUND = "Nothing found here that answers."
"""The finding for pages that hold no candidate; it shares no content word with questions."""


class NoteStyle(StrEnum):
    """How the embedded policy writes its findings."""

    SPECIFIC = "specific"
    """The evidence with its label, column and value: enough to answer from."""
    GENERIC = "generic"
    """What the page is about, without any value."""
    ECHO = "echo"
    """Nothing but the answer string."""


def wordings(question: str, candidate: Candidate) -> Iterator[str]:
    """Ways to write a specific finding, the plainest first."""
    yield clip(candidate.evidence)
    yield clip(f"{subject(question)}: {candidate.text}")


def subject(question: str) -> str:
    """The content of the question as a noun-like phrase, for a statement about it."""
    return analyse(question).text.strip().rstrip("?").strip()


def clip(text: str, limit: int = MAX_FINDING_WORDS) -> str:
    """The first words of a text, at most as many as a finding may have."""
    return " ".join(text.split()[:limit])


def specific(question: str, candidate: Candidate) -> str:
    """The plainest wording from which the reader gets the same answer; the last one where none does."""
    text = ""
    for text in wordings(question, candidate):
        read = answer(question, [Passage(candidate.page, text)])
        if read is not None and read.text == candidate.text:
            break
    return text


def write(question: str, candidate: Candidate | None, style: NoteStyle) -> str:
    """A finding in the given style; `NOTHING_FOUND` where there is no candidate."""
    if candidate is None:
        return NOTHING_FOUND
    if style is NoteStyle.SPECIFIC:
        return specific(question, candidate)
    if style is NoteStyle.ECHO:
        return clip(candidate.text)
    return generic(question)


def generic(question: str) -> str:
    """A finding that says what a page is about and nothing that answers."""
    topic = " ".join(word for word in subject(question).split()[:12] if not any(c.isdigit() for c in word))
    return clip(f"This page has information related to: {topic}")
