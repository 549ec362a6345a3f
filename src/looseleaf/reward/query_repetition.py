"""ALDEN's penalty on search queries that repeat earlier ones, spread over the query's tokens.

Source: gipplab/ALDEN @ 8a0d3d4, `verl/utils/py_functional.py::compute_query_weights_and_distinct_reward` as
`verl/workers/reward/function.py` calls it (n = 3, weight 0.3, the worst earlier query). Written anew from its
behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["QUERY_NGRAM", "QUERY_WEIGHT", "query_penalties", "repeated_share"]

QUERY_WEIGHT = 0.3
"""η, times the overlap (ALDEN: `alpha=0.3`)."""
QUERY_NGRAM = 3
"""Longest n-gram; shorter ones are tried where it finds no repetition (ALDEN: `n=3`, fallback on)."""

Tokens = Sequence[str]


def query_penalties(
    queries: Sequence[Tokens], weight: float = QUERY_WEIGHT, n: int = QUERY_NGRAM
) -> list[list[float]]:
    """Penalty (≤ 0) at each token of each query, in order.

    A query's penalties sum to −weight · overlap, where overlap is the largest share of its distinct n-grams that one
    earlier query holds too. A token gets a share of that by the number of repeated n-grams that cover it.

    Args:
        queries: tokens of the queries of one trajectory, oldest first.
        weight: η.
        n: longest n-gram.
    """
    return [_penalties(query, queries[:position], weight, n) for position, query in enumerate(queries)]


def repeated_share(query: Tokens, earlier: Sequence[Tokens], n: int = QUERY_NGRAM) -> float:
    """The overlap, at the longest n-gram that repeats at all; 0 where nothing does.

    Args:
        query: tokens of the query.
        earlier: tokens of the queries before it.
        n: longest n-gram that is looked at; shorter ones follow where none repeats.
    """
    length = _repeated_length(query, earlier, n)
    return _overlap(query, earlier, length) if length else 0.0


def _penalties(query: Tokens, earlier: Sequence[Tokens], weight: float, n: int) -> list[float]:
    length = _repeated_length(query, earlier, n)
    if not length:
        return [0.0] * len(query)
    known = set().union(*(_ngrams(other, length) for other in earlier))
    covers = [0] * len(query)
    for start, gram in enumerate(_ngrams(query, length)):
        for position in range(start, start + length) if gram in known else ():
            covers[position] += 1
    total, overlap = sum(covers), _overlap(query, earlier, length)
    return [-weight * overlap * cover / total for cover in covers]


def _repeated_length(query: Tokens, earlier: Sequence[Tokens], n: int) -> int:
    """The longest n-gram length, at most n, at which the query repeats an earlier one; 0 for none."""
    for length in range(min(n, len(query)), 0, -1):
        grams = set(_ngrams(query, length))
        if any(not grams.isdisjoint(_ngrams(other, length)) for other in earlier):
            return length
    return 0


def _overlap(query: Tokens, earlier: Sequence[Tokens], length: int) -> float:
    grams = set(_ngrams(query, length))
    return max(len(grams.intersection(_ngrams(other, length))) for other in earlier) / len(grams)


def _ngrams(tokens: Tokens, length: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1)]
