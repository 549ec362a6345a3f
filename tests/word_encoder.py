"""An encoder that needs no model: each word is a fixed direction, so that pages with a query's words come first."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator

import numpy as np

from looseleaf.document import Document
from looseleaf.retrieval import RetrieverFamily
from looseleaf.retrieval.encoder import PageContent, encoder_id
from looseleaf.retrieval.index_key import digest
from looseleaf.retrieval.vectors import Vectors


class WordEncoder:
    """One vector a word, or (`multi=False`) their mean.

    Attributes:
        encoded: pages that were encoded, in order.
    """

    def __init__(
        self, dimension: int = 32, *, multi: bool = True, seconds: float = 0.0, name: str = "words"
    ) -> None:
        self.id = encoder_id(name, dimension=dimension, multi=multi)
        self.family = RetrieverFamily.MULTI_VECTOR if multi else RetrieverFamily.SINGLE_VECTOR
        self.encoded: list[int] = []
        self._dimension = dimension
        self._multi = multi
        self._seconds = seconds

    def content(self, document: Document) -> str:
        return digest(document.texts())

    def encode_pages(self, pages: Iterable[PageContent]) -> Iterator[Vectors]:
        for page in pages:
            time.sleep(self._seconds)
            self.encoded.append(page.number)
            yield self._vectors(page.text())

    def encode_query(self, query: str) -> Vectors:
        return self._vectors(query)

    def _vectors(self, text: str) -> Vectors:
        words = text.lower().split()
        if not words:
            return np.zeros((0, 0), np.float32)
        rows = np.array([direction(word, self._dimension) for word in words], dtype=np.float32)
        return rows if self._multi else rows.mean(axis=0, keepdims=True)


def direction(word: str, dimension: int) -> Vectors:
    """A unit vector that depends on the word alone."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    drawn = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn), dtype=np.float32)
