"""`CorpusMarks`: pages of a corpus by one payload field, so that a query need not list its documents."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice
from typing import Any

from looseleaf.retrieval.index_key import IndexKey, digest

__all__ = ["LISTED_DOCUMENTS", "CorpusMarks"]

LISTED_DOCUMENTS = 1_000
"""Documents that a filter lists by name: 80 kB of names in the request."""
MARKED_AT_ONCE = 500
"""Documents that one request marks."""


class CorpusMarks:
    """Marks the points of a set of documents, once for as long as the collection is there.

    A mark is a payload field of its own, named by the digest of the documents' names: sets may overlap, marking twice
    changes nothing, and whoever was interrupted goes on by marking again. A set that gains a document is another set.

    Args:
        client: of Qdrant.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._complete: set[tuple[str, str]] = set()

    def filter_for(self, collection: str, keys: Sequence[IndexKey]) -> Any:
        """What restricts a query to the pages of these documents; they are marked first if they are not."""
        field = f"in-{digest(sorted(key.name for key in keys))}"
        wanted = _marked(field)
        if (collection, field) not in self._complete:
            if self._count(collection, wanted) != sum(key.pages for key in keys):
                self._mark(collection, field, keys)
            self._complete.add((collection, field))
        return wanted

    def _mark(self, collection: str, field: str, keys: Sequence[IndexKey]) -> None:
        from qdrant_client import models

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a local Qdrant says that it has no payload indexes
            self._client.create_payload_index(collection, field, field_schema="bool")
        names = iter(key.name for key in keys)
        while some := list(islice(names, MARKED_AT_ONCE)):
            condition = models.FieldCondition(key="document", match=models.MatchAny(any=some))
            points = models.Filter(must=[condition])
            self._client.set_payload(collection, payload={field: True}, points=points, wait=True)

    def _count(self, collection: str, wanted: Any) -> int:
        return int(self._client.count(collection, count_filter=wanted, exact=True).count)


def _marked(field: str) -> Any:
    from qdrant_client import models

    return models.Filter(must=[models.FieldCondition(key=field, match=models.MatchValue(value=True))])
