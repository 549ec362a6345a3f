"""What an abbreviation stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.words import STOPWORDS

__all__ = ["expansion_candidates"]

EXPANSION: Final = 0.9
MOST_SMALL_WORDS: Final = 3
"""Small words ("of", "the") that an abbreviation may leave out."""
_STANDS_FOR: Final = re.compile(
    r"\bstand(?:s|ing)? for\b|\babbreviation\b|\bacronym\b|\bfull (?:name|form)\b", re.IGNORECASE
)


def expansion_candidates(pool: Pool) -> Iterator[Candidate]:
    """The words that an abbreviation of the question stands for: "National Laboratory (NL)", "NL (National …)"."""
    if not _STANDS_FOR.search(pool.query.text):
        return
    for short in (name for name in pool.query.names if name.isupper() and len(name) > 1):
        for passage in pool.passages:
            for words in _expansions(" ".join(passage.text.split()), short):
                evidence = f"{short} stands for {words}"
                yield Candidate(words, passage.page, evidence, EXPANSION, "keyed:abbreviation", computed=True)


def _expansions(text: str, short: str) -> Iterator[str]:
    for match in re.finditer(rf"\b{re.escape(short)}\b", text):
        words = _initials_before(text[: match.start()], short) or _initials_after(text[match.end() :], short)
        if words:
            yield words


def _initials_before(text: str, short: str) -> str:
    """The words right before "(SHORT" whose initials it is."""
    if not text.rstrip().endswith("("):
        return ""
    return _with_initials(text.rstrip(" (").split(), short, from_end=True)


def _initials_after(text: str, short: str) -> str:
    match = re.match(r"\s*[(:–—=-]+\s*(?:stands for |is )?", text)
    return (
        _with_initials(re.split(r"[),.;]", text[match.end() :])[0].split(), short, from_end=False)
        if match
        else ""
    )


def _with_initials(words: list[str], short: str, *, from_end: bool) -> str:
    """The shortest run of words at one end whose initials spell the abbreviation, small linking words left out."""
    for size in range(1, len(short) + MOST_SMALL_WORDS + 1):
        part = words[-size:] if from_end else words[:size]
        pieces = [piece for word in part for piece in word.strip('“”"').split("-") if piece]
        for chosen in (pieces, [piece for piece in pieces if piece.lower() not in STOPWORDS]):
            if len(part) == size and "".join(piece[0] for piece in chosen).upper() == short.upper():
                return " ".join(part)
    return ""
