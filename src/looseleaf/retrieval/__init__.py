"""Retrievers: pages of one document for a query."""

from looseleaf.retrieval.bm25 import BM25Retriever
from looseleaf.retrieval.gold import GoldPagesRetriever
from looseleaf.retrieval.retriever import Retriever, RetrieverFamily, ScoredPage

__all__ = ["BM25Retriever", "GoldPagesRetriever", "Retriever", "RetrieverFamily", "ScoredPage"]
