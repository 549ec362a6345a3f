"""`Library`: the documents of a run, opened and indexed once, the least recently used dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from looseleaf.benchmarks.question_set import QuestionSet
from looseleaf.document import Document, PageStore
from looseleaf.errors import ConfigError
from looseleaf.question import Question
from looseleaf.retrieval import BM25Retriever, GoldPagesRetriever, Retriever, RetrieverFamily

__all__ = ["RETRIEVERS", "Library", "OpenDocument"]

OPEN_DOCUMENTS = 16
"""Documents kept open: more than questions are usually in flight, since questions of one document follow each other."""

RETRIEVERS: dict[str, Callable[[], Retriever]] = {"bm25": BM25Retriever}
"""Retrievers by name; `gold-pages` is made for each question."""


class OpenDocument(NamedTuple):
    """A document and its indexed retriever."""

    document: Document
    retriever: Retriever


class Library:
    """Opens documents on demand, different ones at the same time; safe for several threads.

    Args:
        question_set: whose documents.
        retriever: name of the retriever.
        store: where pages are read and cached.
        ocr: read what has no text layer by OCR.
    """

    def __init__(
        self, question_set: QuestionSet, retriever: str, store: PageStore, *, ocr: bool = False
    ) -> None:
        if retriever not in RETRIEVERS and retriever != GoldPagesRetriever.name:
            names = ", ".join([*RETRIEVERS, GoldPagesRetriever.name])
            raise ConfigError(f"There is no retriever {retriever!r}; use one of {names}.")
        self._question_set = question_set
        self._retriever = retriever
        self._store = store
        self._ocr = ocr
        self._open: OrderedDict[str, OpenDocument] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}

    @property
    def family(self) -> RetrieverFamily:
        """Family of the retriever, for every result."""
        made = RETRIEVERS.get(self._retriever)
        return RetrieverFamily.ORACLE if made is None else made().family

    def open(self, question: Question) -> OpenDocument:
        """The question's own document with a retriever over it.

        Raises:
            DocumentError: it cannot be opened.
        """
        with self._lock:
            opening = self._opening.setdefault(question.doc_id, threading.Lock())
        with opening:
            found = self._held(question.doc_id)
            if found is None:
                found = self._open_new(question)
                self._hold(question.doc_id, found)
        return self._for_question(question, found)

    def _held(self, doc_id: str) -> OpenDocument | None:
        with self._lock:
            found = self._open.get(doc_id)
            if found is not None:
                self._open.move_to_end(doc_id)
            return found

    def _hold(self, doc_id: str, opened: OpenDocument) -> None:
        with self._lock:
            self._open[doc_id] = opened
            if len(self._open) > OPEN_DOCUMENTS:
                self._open.popitem(last=False)

    def _open_new(self, question: Question) -> OpenDocument:
        document = self._question_set.open(question, self._store, ocr=self._ocr)
        retriever = RETRIEVERS.get(self._retriever, BM25Retriever)()
        retriever.index(document)
        return OpenDocument(document, retriever)

    def _for_question(self, question: Question, found: OpenDocument) -> OpenDocument:
        if self._retriever != GoldPagesRetriever.name:
            return found
        gold = GoldPagesRetriever(question.evidence_pages or ())
        gold.index(found.document)
        return OpenDocument(found.document, gold)
