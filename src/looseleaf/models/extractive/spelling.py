"""Words of a question that are spelt otherwise in the passages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

__all__ = ["SHORTEST_ABBREVIATION", "SHORTEST_MISSPELT", "misspellings"]

SHORTEST_MISSPELT: Final = 6
LONG_WORD: Final = 9
"""Letters from which on two wrong ones are forgiven, otherwise one."""
SHORTEST_ABBREVIATION: Final = 3


def misspellings(terms: Iterable[str], vocabulary: frozenset[str]) -> dict[str, str]:
    """Question terms that no passage holds, with the word of the passages that differs by a letter or two."""
    aliases = {}
    for term in terms:
        if term in vocabulary or len(term) < SHORTEST_ABBREVIATION or not term.isalpha():
            continue
        coded = next(
            (word for word in vocabulary if word.startswith(term) and word[len(term) :].isdigit()),
            None,
        )
        if coded is not None:
            aliases[term] = coded
            continue
        if len(term) < SHORTEST_MISSPELT:
            continue
        allowed = 1 if len(term) < LONG_WORD else 2
        near = process.extractOne(term, vocabulary, scorer=OSA.distance, score_cutoff=allowed)
        if near is not None and near[0].isalpha():
            aliases[term] = near[0]
    return aliases
