"""Random pages: what a retriever that knows nothing would do, the floor of every comparison."""

from __future__ import annotations

import hashlib

from looseleaf.retrieval.collection import AnyDocument
from looseleaf.retrieval.retriever import RetrieverFamily, ScoredPage

__all__ = ["RandomRetriever"]


class RandomRetriever:
    """Returns pages in an order that is drawn from seed, document and query, and from nothing else.

    So a run can be repeated in any order of its questions, and other words bring other pages.

    Args:
        seed: another seed is another draw.
        name: printable name.
    """

    family = RetrieverFamily.RANDOM

    def __init__(self, seed: int = 0, name: str = "random") -> None:
        self.name = name
        self._seed = seed
        self._document = ""
        self._page_count = 0

    def index(self, document: AnyDocument) -> None:
        """Remember which pages exist."""
        self._document = document.sha256
        self._page_count = document.page_count

    def search(self, query: str, k: int) -> list[ScoredPage]:
        """`k` different pages with falling scores, the reciprocals of their ranks."""
        asked = hashlib.sha256(f"{self._seed}|{self._document}|{query}".encode("utf-8", "surrogatepass"))
        order = sorted(range(1, self._page_count + 1), key=lambda page: _drawn(asked.digest(), page))
        return [ScoredPage(page, 1 / rank) for rank, page in enumerate(order[: max(k, 0)], start=1)]


def _drawn(asked: bytes, page: int) -> bytes:
    return hashlib.sha256(asked + page.to_bytes(8, "big")).digest()
