"""`VectorStore`: where the vectors of pages are kept and searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.vectors import Vectors

__all__ = ["EncodeFrom", "Hit", "StoreError", "VectorStore"]

EncodeFrom = Callable[[int], Iterator[Vectors]]
"""Vectors of the pages from this 0-based index on, in page order; a page without vectors is an array of no rows."""


class StoreError(Exception):
    """What a store holds is torn or foreign; it is written anew."""


class Hit(NamedTuple):
    """A page that a search found.

    Attributes:
        place: which of the searched documents, 0-based.
        page: its page, physical and 1-based.
        score: higher is better.
    """

    place: int
    page: int
    score: float


class VectorStore(Protocol):
    """Holds vectors by key. One writer a key at a time: the caller holds a lock."""

    def has(self, key: IndexKey) -> bool:
        """Whether all pages of the document are there."""

    def write(self, key: IndexKey, encode: EncodeFrom) -> None:
        """Encode and keep what is missing. Killed at any point, the next call goes on behind the last whole page."""

    def search(self, keys: Sequence[IndexKey], query: Vectors, k: int) -> list[Hit]:
        """The `k` best pages of the documents by exact MaxSim; ties go to the earlier document and page."""

    def read(self, key: IndexKey, start: int) -> Iterator[Vectors]:
        """The stored vectors of the pages from this 0-based index on."""

    def keys(self) -> list[IndexKey]:
        """All documents that are there as a whole."""
