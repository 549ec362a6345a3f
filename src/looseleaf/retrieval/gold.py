"""Gold pages in place of retrieval: the EP-given oracle setting."""

from __future__ import annotations

from collections.abc import Iterable

from looseleaf.retrieval.collection import AnyDocument
from looseleaf.retrieval.retriever import RetrieverFamily, ScoredPage

__all__ = ["GoldPagesRetriever"]


class GoldPagesRetriever:
    """Returns the annotated evidence pages for any query (AWM, arXiv 2608.25618, EP-given).

    Gold pages that the document does not have are left out; `k` does not cut them, because the setting hands over
    all of the evidence.
    """

    name = "gold-pages"
    family = RetrieverFamily.ORACLE

    def __init__(self, pages: Iterable[int]) -> None:
        self._gold = tuple(dict.fromkeys(pages))
        self._page_count = 0

    def index(self, document: AnyDocument) -> None:
        """Remember which pages exist."""
        self._page_count = document.page_count

    def search(self, query: str, k: int) -> list[ScoredPage]:
        """All gold pages that exist, in the order of the annotation."""
        return [ScoredPage(page, 1.0) for page in self._gold if 1 <= page <= self._page_count]
