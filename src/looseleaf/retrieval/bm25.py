"""BM25 over the text of the pages, with stemming (bm25s and PyStemmer)."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from looseleaf.retrieval.collection import AnyDocument
from looseleaf.retrieval.retriever import RetrieverFamily, ScoredPage

__all__ = ["BM25Retriever"]

K1 = 1.2
B = 0.75
"""Lucene's defaults (`BM25Similarity`), with bm25s' `lucene` variant of the formula."""
STOP_WORDS = "en_plus"
"""bm25s' longer English list: it holds the question words, which say nothing about a page."""


class BM25Retriever:
    """Lexical search inside one document.

    Scoring is Lucene's BM25 over lower-cased, Snowball-stemmed words without English stop words.
    """

    name = "bm25"
    family = RetrieverFamily.LEXICAL

    def __init__(self) -> None:
        self._index: Any = None
        self._page_count = 0

    def index(self, document: AnyDocument) -> None:
        """Index all pages. A document without any word leaves the index empty: bm25s itself would raise."""
        self._page_count = document.page_count
        tokens = _tokenize(list(document.texts()))
        if not tokens.vocab or not any(len(ids) for ids in tokens.ids):
            self._index = None
            return
        self._index = _bm25s().BM25(k1=K1, b=B, method="lucene")
        self._index.index(tokens, show_progress=False)

    def search(self, query: str, k: int) -> list[ScoredPage]:
        """At most `k` pages with a positive score, best first; ties go to the earlier page."""
        words = _tokenize([query], return_ids=False)[0] if self._index is not None else []
        if not words or k < 1:
            return []
        scores = self._index.get_scores(words)
        best = sorted(range(self._page_count), key=lambda index: (-scores[index], index))[:k]
        return [ScoredPage(index + 1, float(scores[index])) for index in best if scores[index] > 0]


_own = threading.local()


def _stemmer() -> Any:
    """A stemmer of this thread's own: PyStemmer's may not be shared, and searches run in threads."""
    if not hasattr(_own, "stemmer"):
        import Stemmer

        _own.stemmer = Stemmer.Stemmer("english")
    return _own.stemmer


@cache
def _bm25s() -> Any:
    import bm25s

    return bm25s


def _tokenize(texts: list[str], *, return_ids: bool = True) -> Any:
    return _bm25s().tokenize(
        texts, stopwords=STOP_WORDS, stemmer=_stemmer(), return_ids=return_ids, show_progress=False
    )
