"""Reciprocal-rank fusion of several retrievers."""

from __future__ import annotations

from collections.abc import Sequence

from looseleaf.retrieval.collection import AnyDocument
from looseleaf.retrieval.retriever import Retriever, RetrieverFamily, ScoredPage

__all__ = ["FusedRetriever"]

K = 60
"""Damping of the first ranks (Cormack, Clarke and Büttcher, SIGIR 2009, section 2)."""
DEPTH = 100
"""Ranks that are asked of each retriever, at least."""


class FusedRetriever:
    """Scores a page by the sum of 1/(60 + rank) over the retrievers that return it.

    Args:
        members: the retrievers.
        name: printable name.
        damping: the 60 of the formula.
    """

    family = RetrieverFamily.FUSED

    def __init__(self, members: Sequence[Retriever], name: str, damping: int = K) -> None:
        self.name = name
        self._members = tuple(members)
        self._damping = damping

    def index(self, document: AnyDocument) -> None:
        """Index with each retriever."""
        for member in self._members:
            member.index(document)

    def search(self, query: str, k: int) -> list[ScoredPage]:
        """The `k` best pages that any retriever returns; ties go to the earlier page."""
        if k < 1:
            return []
        scores: dict[int, float] = {}
        for member in self._members:
            for rank, found in enumerate(member.search(query, max(k, DEPTH)), start=1):
                scores[found.page] = scores.get(found.page, 0.0) + 1 / (self._damping + rank)
        best = sorted(scores, key=lambda page: (-scores[page], page))[:k]
        return [ScoredPage(page, scores[page]) for page in best]
