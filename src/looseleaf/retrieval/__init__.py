"""Retrievers: pages of one document, or of a folder of documents, for a query.

`RetrieverMaker` makes one from a spec. What works with vectors needs NumPy and is imported when it is used.
"""

from looseleaf.retrieval.bm25 import BM25Retriever
from looseleaf.retrieval.collection import AnyDocument, Collection
from looseleaf.retrieval.fusion import FusedRetriever
from looseleaf.retrieval.gold import GoldPagesRetriever
from looseleaf.retrieval.make import RetrieverMaker
from looseleaf.retrieval.random_pages import RandomRetriever
from looseleaf.retrieval.retriever import Retriever, RetrieverFamily, ScoredPage
from looseleaf.retrieval.spec import RetrieverSpec

__all__ = [
    "AnyDocument",
    "BM25Retriever",
    "Collection",
    "FusedRetriever",
    "GoldPagesRetriever",
    "RandomRetriever",
    "Retriever",
    "RetrieverFamily",
    "RetrieverMaker",
    "RetrieverSpec",
    "ScoredPage",
]
