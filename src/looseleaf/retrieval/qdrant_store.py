"""`QdrantStore`: vectors in Qdrant, in memory, in a folder or on a server, by the same code.

One collection an encoder, one point a page: its vectors as a multi-vector (comparator MAX_SIM, distance DOT), their
mean, and its document as payload. A search is restricted to its documents by a filter. Up to `EXACT_PAGES` pages every
one is scored exactly, as in the local store and with its results up to rounding; above that, the pages with the best
means are, found through a graph. Points have ids made from document and page: writing twice changes nothing.

A filter that lists the documents of a whole corpus would take megabytes with every query. So the pages of a corpus are
marked once (`CorpusMarks`) and the filter asks for the mark.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import threading
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from looseleaf.errors import ConfigError, ProviderError, boundary
from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.local_store import CANDIDATES, EXACT_PAGES
from looseleaf.retrieval.maxsim import NO_SCORE
from looseleaf.retrieval.qdrant_marks import LISTED_DOCUMENTS, CorpusMarks
from looseleaf.retrieval.store import EncodeFrom, Hit
from looseleaf.retrieval.vectors import Vectors, as_vectors

__all__ = ["QdrantStore"]

MEMORY = "memory"
PREFIX = "looseleaf2-"
"""Of the names of collections; the number is the layout's."""
PAGES, MEAN = "pages", "mean"
"""Names of a point's vectors."""
BATCH = 16
"""Pages sent or fetched at once: 16 MB of JSON at 747 vectors of 128 dimensions (Qdrant takes 32 MB a request)."""
IDS = 1_000
"""Pages whose presence is asked for at once."""
DECIMALS = 6
"""Decimals that are sent: what is stored is half precision, and Python would write a float32 with twice as many."""
GRAPH_SEARCH = 256
"""Pages that a walk through the graph of means looks at (Qdrant's `hnsw_ef`; its default is 128): more than twice the
candidates, as a page that is missed here cannot be found again."""
NAMESPACE = uuid.UUID("6f5fd07e-1a0c-4f2c-9f0b-0d8a6b1f6a31")
"""Namespace of point ids; any fixed UUID does."""
KEY_VARIABLE = "QDRANT_API_KEY"
"""Environment variable with the server's key."""


class QdrantStore:
    """Pages as points of Qdrant.

    Args:
        where: `memory`, the URL of a server, or a folder (which one process at a time can open).

    Raises:
        ConfigError: qdrant-client is not installed.
    """

    def __init__(self, where: str) -> None:
        if not where:
            raise ConfigError("Say where Qdrant is: qdrant:memory, qdrant:FOLDER or qdrant:http://HOST:6333.")
        if importlib.util.find_spec("qdrant_client") is None:
            raise ConfigError("The store qdrant needs its client; run: pip install 'looseleaf[qdrant]'")
        self._where = where
        self._whole: set[IndexKey] = set()
        self._alone = threading.RLock()
        self._making = threading.Lock()

    def has(self, key: IndexKey) -> bool:
        """Whether all pages of the document are there. Nothing is ever removed, so it is asked until they are."""
        if key not in self._whole and self._stored(key) == key.pages:
            self._whole.add(key)
        return key in self._whole

    def write(self, key: IndexKey, encode: EncodeFrom) -> None:
        """Encode and send the pages behind those that are there, in order."""
        done = self._first_missing(key)
        pages = enumerate(encode(done), start=done + 1)
        early: list[Any] = []  # pages before the first vector, which tells the number of dimensions
        while group := list(islice(pages, BATCH)):
            early += [
                self._point(key, number, as_vectors(page) if len(page) else page) for number, page in group
            ]
            dimension = next((page.shape[1] for _, page in group if len(page)), None)
            if dimension or self._exists(key):
                self._make(key, dimension)
                self._upsert(key, early)
                early = []
        if early:
            self._make(key, 1)  # a document without any vector: its points only say that it was encoded
            self._upsert(key, early)

    def search(self, keys: Sequence[IndexKey], query: Vectors, k: int) -> list[Hit]:
        """The best pages; above `EXACT_PAGES` pages exact among the `CANDIDATES` best by mean."""
        places = {key.name: place for place, key in enumerate(keys)}
        hits: list[Hit] = []
        for encoder in dict.fromkeys(key.encoder for key in keys):
            own = [key for key in keys if key.encoder == encoder]
            hits += [
                Hit(places[point.payload["document"]], point.payload["page"], float(point.score))
                for point in self._query(encoder, own, query, k)
            ]
        return sorted(
            (hit for hit in hits if hit.score > NO_SCORE), key=lambda hit: (-hit.score, hit.place, hit.page)
        )[:k]

    def read(self, key: IndexKey, start: int) -> Iterator[Vectors]:
        """The stored vectors, page by page."""
        for first in range(start + 1, key.pages + 1, BATCH):
            wanted = [_point_id(key, page) for page in range(first, min(first + BATCH, key.pages + 1))]
            with self._asking():
                found = self._client.retrieve(_collection(key.encoder), wanted, with_vectors=True)
            by_id = {str(point.id): point.vector for point in found}
            for point_id in wanted:
                vector = (by_id.get(point_id) or {}).get(PAGES)
                yield as_vectors(vector) if vector else np.zeros((0, 0), np.float32)

    def keys(self) -> list[IndexKey]:
        """Keys of all documents whose pages are all there, told by the payloads of their first pages."""
        found = []
        with self._asking():
            names = [item.name for item in self._client.get_collections().collections]
        for name in sorted(name for name in names if name.startswith(PREFIX)):
            found += [key for key in self._first_pages(name) if self.has(key)]
        return found

    def close(self) -> None:
        """Let go of the folder or the connection."""
        if "_client" in self.__dict__:
            self._client.close()

    def _first_pages(self, collection: str) -> Iterator[IndexKey]:
        models = self._models
        first = models.Filter(must=[models.FieldCondition(key="page", match=models.MatchValue(value=1))])
        offset = None
        while True:
            with self._asking():
                points, offset = self._client.scroll(
                    collection, scroll_filter=first, limit=BATCH, offset=offset
                )
            for point in points:
                sha256, content = point.payload["document"].rsplit("-", 1)
                yield IndexKey(sha256, collection.removeprefix(PREFIX), content, point.payload["pages"])
            if offset is None:
                return

    def _first_missing(self, key: IndexKey) -> int:
        """0-based index of the first page that is not there; a batch that was cut off may have left holes."""
        if not self._stored(key):
            return 0
        ids = [_point_id(key, page) for page in range(1, key.pages + 1)]
        for start in range(0, key.pages, IDS):
            asked = ids[start : start + IDS]
            with self._asking():
                found = self._client.retrieve(_collection(key.encoder), asked, with_payload=False)
            there = {str(point.id) for point in found}
            missing = next((place for place, name in enumerate(asked) if name not in there), None)
            if missing is not None:
                return start + missing
        return key.pages

    def _stored(self, key: IndexKey) -> int:
        if not self._exists(key):
            return 0
        with self._asking():
            count = self._client.count(
                _collection(key.encoder), count_filter=self._of([key.name]), exact=True
            )
        return int(count.count)

    def _exists(self, key: IndexKey) -> bool:
        with self._asking():
            return bool(self._client.collection_exists(_collection(key.encoder)))

    def _make(self, key: IndexKey, dimension: int | None) -> None:
        """Make the encoder's collection where there is none. Multi-vectors need no graph: they are scored exactly."""
        with self._making:
            if dimension is None or self._exists(key):
                return
            try:
                self._create(_collection(key.encoder), dimension)
            except ProviderError:
                if not self._exists(key):  # else another process was faster
                    raise

    def _create(self, name: str, dimension: int) -> None:
        models = self._models
        common = {"size": dimension, "distance": models.Distance.DOT, "datatype": models.Datatype.FLOAT16}
        parameters = {
            PAGES: models.VectorParams(
                **common,
                on_disk=True,
                hnsw_config=models.HnswConfigDiff(m=0),
                multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
            ),
            MEAN: models.VectorParams(**common),
        }
        with self._asking():
            self._client.create_collection(name, vectors_config=parameters)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a local Qdrant says that it has no payload indexes
                for field, kind in (("document", "keyword"), ("page", "integer")):
                    self._client.create_payload_index(name, field, field_schema=kind)

    def _upsert(self, key: IndexKey, points: list[Any]) -> None:
        with self._asking():
            self._client.upsert(_collection(key.encoder), points=points, wait=True)

    def _point(self, key: IndexKey, page: int, vectors: Vectors) -> Any:
        payload = {"document": key.name, "page": page, "pages": key.pages}
        return self._models.PointStruct(
            id=_point_id(key, page), vector=_as_stored(vectors) if len(vectors) else {}, payload=payload
        )

    def _query(self, encoder: str, keys: list[IndexKey], query: Vectors, k: int) -> list[Any]:
        if not self._exists(IndexKey("", encoder, "", 0)):
            return []
        wanted = self._filter(encoder, keys)
        rough = sum(key.pages for key in keys) > EXACT_PAGES
        with self._asking():
            found = self._client.query_points(
                _collection(encoder),
                query=query.tolist(),
                using=PAGES,
                prefetch=self._candidates(query, wanted, max(CANDIDATES, k)) if rough else None,
                query_filter=wanted,
                search_params=self._models.SearchParams(exact=True)
                if self._remote
                else None,  # local: always
                limit=k,
                with_payload=True,
            )
        return list(found.points)

    def _candidates(self, query: Vectors, wanted: Any, count: int) -> Any:
        """The pages whose mean fits best: the sum over the query's vectors is one product with their sum."""
        models = self._models
        return models.Prefetch(
            query=query.sum(axis=0).tolist(),
            using=MEAN,
            filter=wanted,
            limit=count,
            params=models.SearchParams(hnsw_ef=max(GRAPH_SEARCH, 2 * count)) if self._remote else None,
        )

    def _filter(self, encoder: str, keys: list[IndexKey]) -> Any:
        """Pages of these documents, by name or by the mark of their corpus."""
        if len(keys) <= LISTED_DOCUMENTS:
            return self._of([key.name for key in keys])
        with self._asking():
            return self._marks.filter_for(_collection(encoder), keys)

    def _of(self, names: list[str]) -> Any:
        models = self._models
        return models.Filter(must=[models.FieldCondition(key="document", match=models.MatchAny(any=names))])

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """A request; a Qdrant in this process takes one at a time."""
        with (
            nullcontext() if self._remote else self._alone,
            boundary(ProviderError, f"Qdrant ({self._where}) did not do what it was asked"),
        ):
            yield

    @cached_property
    def _marks(self) -> CorpusMarks:
        return CorpusMarks(self._client)

    @property
    def _models(self) -> Any:
        from qdrant_client import models

        return models

    @property
    def _remote(self) -> bool:
        return self._where.startswith(("http://", "https://"))

    @cached_property
    def _client(self) -> Any:
        from qdrant_client import QdrantClient

        atexit.register(self.close)  # a local client that is collected at the very end complains
        try:
            if self._where == MEMORY:
                return QdrantClient(":memory:")
            if self._remote:
                key = os.environ.get(KEY_VARIABLE)
                return QdrantClient(url=self._where, api_key=key, check_compatibility=False)
            return QdrantClient(path=self._where)
        except Exception as problem:
            raise ConfigError(
                f"Qdrant cannot be opened at {self._where} ({problem}); several processes need a server."
            ) from problem


def _as_stored(vectors: Vectors) -> dict[str, Any]:
    """A page's vectors as they are sent, in the precision in which they are kept."""
    halves = vectors.astype(np.float16)
    mean = halves.mean(axis=0, dtype=np.float32)
    return {
        PAGES: np.round(halves.astype(np.float64), DECIMALS).tolist(),
        MEAN: np.round(mean.astype(np.float64), DECIMALS).tolist(),
    }


def _collection(encoder: str) -> str:
    return PREFIX + encoder


def _point_id(key: IndexKey, page: int) -> str:
    return str(uuid.uuid5(NAMESPACE, f"{key.encoder}/{key.name}/{page}"))
