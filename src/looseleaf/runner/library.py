"""`Library`: the documents of a run, opened and indexed once, the least recently used dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

from looseleaf.benchmarks.question_set import QuestionSet
from looseleaf.document import Document, PageStore
from looseleaf.models.retrievers import retriever_maker
from looseleaf.question import Question
from looseleaf.retrieval import GoldPagesRetriever, Retriever, RetrieverFamily

__all__ = ["Library", "OpenDocument"]

OPEN_DOCUMENTS = 16
"""Documents kept open: more than questions are usually in flight, since questions of one document follow each other."""


class OpenDocument(NamedTuple):
    """A document and its indexed retriever."""

    document: Document
    retriever: Retriever


class Library:
    """Opens documents on demand, different ones at the same time; safe for several threads.

    Args:
        question_set: whose documents.
        retriever: spec of the retriever, or `gold-pages`.
        store: where pages are read and cached.
        ocr: read what has no text layer by OCR.

    Raises:
        ConfigError: there is no such retriever, or it cannot be set up.
    """

    def __init__(
        self, question_set: QuestionSet, retriever: str, store: PageStore, *, ocr: bool = False
    ) -> None:
        self._question_set = question_set
        self._maker = None if retriever == GoldPagesRetriever.name else retriever_maker(retriever)
        self._store = store
        self._ocr = ocr
        self._open: OrderedDict[str, OpenDocument] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}

    @property
    def family(self) -> RetrieverFamily:
        """Family of the retriever, for every result."""
        return RetrieverFamily.ORACLE if self._maker is None else self._maker.family

    @property
    def encoders(self) -> tuple[str, ...]:
        """Ids of the retriever's encoders, for every result; none for retrievers without vectors."""
        return () if self._maker is None else self._maker.encoders

    def open(self, question: Question) -> OpenDocument:
        """The question's own document with a retriever over it.

        Raises:
            DocumentError: it cannot be opened.
            ProviderError: the retriever's encoder failed.
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
        retriever = GoldPagesRetriever(()) if self._maker is None else self._maker()
        retriever.index(document)
        return OpenDocument(document, retriever)

    def _for_question(self, question: Question, found: OpenDocument) -> OpenDocument:
        if self._maker is not None:
            return found
        gold = GoldPagesRetriever(question.evidence_pages or ())
        gold.index(found.document)
        return OpenDocument(found.document, gold)
