"""Retrievers: pages of one document, or of a folder of documents, for a query."""

from looseleaf.retrieval.bm25 import BM25Retriever
from looseleaf.retrieval.collection import AnyDocument, Collection
from looseleaf.retrieval.fusion import FusedRetriever
from looseleaf.retrieval.gold import GoldPagesRetriever
from looseleaf.retrieval.make import RetrieverMaker
from looseleaf.retrieval.random_pages import RandomRetriever
from looseleaf.retrieval.retriever import Retriever, RetrieverFamily, ScoredPage
from looseleaf.retrieval.spec import RetrieverSpec
from looseleaf.retrieval.vector import VectorRetriever

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
    "VectorRetriever",
]
