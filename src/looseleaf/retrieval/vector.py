"""`VectorRetriever`: search by vectors, one a page (dense) or many (late interaction), from text or from images."""

from __future__ import annotations

from looseleaf.document import Document
from looseleaf.document.locks import Locks
from looseleaf.retrieval.collection import AnyDocument, Collection
from looseleaf.retrieval.encoder import Encoder, PageContent
from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.retriever import RetrieverFamily, ScoredPage
from looseleaf.retrieval.store import VectorStore

__all__ = ["VectorRetriever"]


class VectorRetriever:
    """Scores every page exactly by MaxSim; with one vector on either side that is the dot product.

    Args:
        encoder: makes the vectors.
        store: keeps them.
        locks: keeps processes from encoding the same document at once.
        name: printable name.
    """

    def __init__(self, encoder: Encoder, store: VectorStore, locks: Locks, name: str) -> None:
        self.name = name
        self._encoder = encoder
        self._store = store
        self._locks = locks
        self._keys: tuple[IndexKey, ...] = ()
        self._firsts: tuple[int, ...] = ()

    @property
    def family(self) -> RetrieverFamily:
        """The encoder's family."""
        return self._encoder.family

    def index(self, document: AnyDocument) -> None:
        """Encode what the store does not hold; of a collection, each document by itself.

        Raises:
            ProviderError: the encoder failed; what it had done is kept, and the next call goes on from there.
        """
        if isinstance(document, Collection):
            parts = document.documents
            self._firsts = tuple(document.first_page(place) for place in range(len(parts)))
        else:
            parts, self._firsts = (document,), (1,)
        self._keys = tuple(self._indexed(part) for part in parts)

    def search(self, query: str, k: int) -> list[ScoredPage]:
        """The `k` best pages that have a vector at all, best first; ties go to the earlier page.

        Raises:
            ProviderError: the encoder failed.
        """
        if k < 1 or not query.strip():
            return []
        vectors = self._encoder.encode_query(query)
        if not len(vectors):
            return []
        hits = self._store.search(self._keys, vectors, k)
        return [ScoredPage(self._firsts[hit.place] + hit.page - 1, hit.score) for hit in hits]

    def _indexed(self, document: Document) -> IndexKey:
        content = self._encoder.content(document)
        key = IndexKey(document.sha256, self._encoder.id, content, document.page_count)
        if self._store.has(key):
            return key
        with self._locks.hold(f"{key.encoder}/{key.name}", wait=True):
            if not self._store.has(key):  # another process may have been at it
                self._store.write(key, lambda done: self._encoder.encode_pages(_pages(document, done)))
        return key


def _pages(document: Document, done: int) -> list[PageContent]:
    return [PageContent(document, page) for page in range(done + 1, document.page_count + 1)]
