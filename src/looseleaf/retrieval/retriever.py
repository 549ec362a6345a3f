"""The protocol that every retriever follows."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from looseleaf.retrieval.collection import AnyDocument

__all__ = ["Retriever", "RetrieverFamily", "ScoredPage"]


class RetrieverFamily(StrEnum):
    """What kind of index answers; ALDEN's comparisons are fair only inside one family."""

    LEXICAL = "lexical"
    SINGLE_VECTOR = "single-vector"
    MULTI_VECTOR = "multi-vector"
    FUSED = "fused"
    ORACLE = "oracle"
    """Gold pages: not a retriever but a named oracle setting."""
    RANDOM = "random"


class ScoredPage(NamedTuple):
    """A page (physical, 1-based) and its score; higher is better, scales differ between retrievers."""

    page: int
    score: float


class Retriever(Protocol):
    """Searches inside one document, after `index`."""

    @property
    def name(self) -> str:
        """Printable name that goes into every result."""

    @property
    def family(self) -> RetrieverFamily:
        """The family that goes into every result."""

    def index(self, document: AnyDocument) -> None:
        """Make the document searchable; a document with no text is no error."""

    def search(self, query: str, k: int) -> list[ScoredPage]:
        """At most `k` pages, best first; pages that do not match at all are left out."""
