"""`PageSource`: page images and texts of a run's documents, rendered on demand, never stored in the run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from looseleaf.benchmarks import QuestionSet
from looseleaf.document import Document, PageImage, PageStore
from looseleaf.errors import DataError, DocumentError, UserError
from looseleaf.question import Question
from looseleaf.runner.config import DataConfig
from looseleaf.runner.selection import load_data
from looseleaf.viewer.words import page_words

__all__ = ["SIZES", "PageSource"]

SIZES = {"thumb": 40, "full": 144}
"""Resolution in dots an inch by size: a letter page is 340 pixels wide as a thumbnail."""
OPEN_DOCUMENTS = 16


class PageSource:
    """The documents that a run read.

    Args:
        config: the run's configuration; its data table says where the documents are.
        store: where pages are rendered and cached.
        data: another folder to look in, for data that has moved.
    """

    def __init__(self, config: dict[str, Any], store: PageStore, data: Path | None = None) -> None:
        self._config = config.get("data", {})
        self._store = store
        self._data = data
        self._lock = threading.Lock()
        self._set: QuestionSet | None = None
        self._problem = ""
        self._open: OrderedDict[str, Document] = OrderedDict()

    @property
    def problem(self) -> str:
        """Why there are no pages, as one sentence; empty where the documents can be looked for."""
        with self._lock:
            self._load()
            return self._problem

    def image(self, question: Question, sha256: str, page: int, size: str) -> PageImage:
        """A page of the document that was read.

        Raises:
            UserError: the document is missing, is another one now, or has no such page.
        """
        return self._document(question, sha256).image(page, dpi=SIZES[size])

    def text(self, question: Question, sha256: str, page: int) -> str:
        """Text layer of a page; errors as for `image`."""
        return self._document(question, sha256).text(page)

    def words(self, question: Question, sha256: str, page: int) -> list[list[Any]]:
        """Words of a page with their places; errors as for `image`."""
        document = self._document(question, sha256)
        document.page_size(page)  # refuses a page that is not there
        return page_words(document.path, document.sha256, page)

    def _document(self, question: Question, sha256: str) -> Document:
        with self._lock:
            self._load()
            if self._set is None:
                raise DataError(self._problem)
            document = self._open.get(question.doc_id)
            if document is None:
                if question.doc_id not in self._set.documents:
                    raise DocumentError("This document is not in the data folder.")
                document = self._set.open(question, self._store)
                self._open[question.doc_id] = document
                if len(self._open) > OPEN_DOCUMENTS:
                    self._open.popitem(last=False)
            self._open.move_to_end(question.doc_id)
        if not sha256:
            return document
        if document.sha256 != sha256:
            raise DocumentError("The document here is not the one that was read: its sha256 differs.")
        return document

    def _load(self) -> None:
        if self._set is not None or self._problem:
            return
        if not self._config.get("benchmark") or not (self._data or self._config.get("path")):
            self._problem = "This run does not say where its documents are; give their folder with --data."
            return
        try:
            self._set = load_data(
                DataConfig(
                    benchmark=self._config["benchmark"],
                    path=str(self._data or self._config["path"]),
                    options=self._config.get("options", {}),
                )
            )
        except UserError as problem:
            self._problem = str(problem)
