"""Writing findings: short statements, each with its page, from a candidate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from looseleaf.memory import MAX_FINDING_WORDS, Finding
from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.engine import answer
from looseleaf.models.extractive.query import analyse

__all__ = ["NOTHING_FOUND", "NoteStyle", "findings", "subject"]

NOTHING_FOUND: Final = "Nothing found here that answers."
"""The finding about pages that hold no candidate."""
TOPIC_WORDS: Final = 12
_OPENING: Final = re.compile(
    r"^(?:how (?:many|much)|(?:what|which|who|how)(?:'s| is| are| was| were| does| do| did)?(?: the)?"
    r"|list(?: all)?(?: the)?|when|where)\s+",
    re.IGNORECASE,
)


class NoteStyle(StrEnum):
    """How the embedded policy writes its findings."""

    SPECIFIC = "specific"
    """The evidence with its label, column and value: enough to answer from."""
    GENERIC = "generic"
    """What the page is about, without any value."""
    ECHO = "echo"
    """Nothing but the answer string."""


def findings(
    question: str, candidate: Candidate, memory: Sequence[Finding], style: NoteStyle
) -> list[Finding]:
    """The findings that a candidate still needs, in order; empty when the memory has them.

    In the specific style the evidence comes first, piece by piece from its own pages. Only where the extractor would
    not read the same answer from the memory is the answer stated outright.
    """
    if style is NoteStyle.GENERIC:
        wanted = [Finding(_generic(question), candidate.page)]
    elif style is NoteStyle.ECHO:
        wanted = [Finding(clip(candidate.text), candidate.page)]
    else:
        wanted = _evidence(candidate)
    missing = [finding for finding in wanted if finding not in memory]
    if missing or style is not NoteStyle.SPECIFIC or _reads(question, memory, candidate.text):
        return missing
    stated = Finding(_statement(question, candidate), candidate.page)
    return [] if stated in memory else [stated]


def _evidence(candidate: Candidate) -> list[Finding]:
    """One finding for each page that the evidence comes from."""
    if not candidate.parts:
        return [Finding(clip(candidate.evidence, candidate.text), candidate.page)]
    by_page: dict[int, list[str]] = {}
    for part in candidate.parts:
        by_page.setdefault(part.page, []).append(part.text)
    return [
        Finding(clip("; ".join(dict.fromkeys(texts)), candidate.text), page)
        for page, texts in by_page.items()
    ]


def _reads(question: str, memory: Sequence[Finding], text: str) -> bool:
    """Whether the extractor reads the answer from the findings alone."""
    read = answer(question, [Passage(finding.source_page, finding.text) for finding in memory], findings=True)
    return read is not None and read.text == text


def _statement(question: str, candidate: Candidate) -> str:
    """The answer as a statement about the question's subject."""
    items = (
        re.findall(r"'((?:[^'\\]|\\.)*)'|\"([^\"]*)\"", candidate.text)
        if candidate.text.startswith("[")
        else []
    )
    value = "; ".join(single or double for single, double in items) or candidate.text
    words = subject(question).split()
    room = max(MAX_FINDING_WORDS - len(value.split()), 1)
    return clip(f"{' '.join(words[:room])}: {value}")


def subject(question: str) -> str:
    """What a question is about, as a phrase: without its question word and instructions."""
    return _OPENING.sub("", analyse(question).text.strip()).rstrip("?. ").replace(":", "")


def clip(text: str, keep: str = "", limit: int = MAX_FINDING_WORDS) -> str:
    """At most `limit` words of a text: the first ones, or those around `keep` where it stands later."""
    words = " ".join(text.split()).split(" ")
    if len(words) <= limit:
        return " ".join(words)
    before = " ".join(words).partition(keep)[0] if keep else ""
    start = len(before.split()) - limit // 2 if keep and keep in text else 0
    start = min(max(start, 0), len(words) - limit)
    return " ".join(words[start : start + limit])


def _generic(question: str) -> str:
    """A finding that says what a page is about and nothing that answers."""
    topic = " ".join(word for word in subject(question).split() if not any(c.isdigit() for c in word))
    return clip(f"The page has information about {' '.join(topic.split()[:TOPIC_WORDS])}.")
