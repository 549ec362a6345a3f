"""Filling the page cache ahead of a run: text, OCR and images of many documents, in batches of pages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import msgspec

from looseleaf.document import Document, PageStore
from looseleaf.document.facts import DEFAULT_DPI
from looseleaf.errors import DocumentError

__all__ = ["PAGES_A_BATCH", "PageBatch", "PagePreparer", "PagesHow", "Prepared", "prepare_here"]

PAGES_A_BATCH = 16
"""Pages that are rendered together: half a second of work, against some 20 ms for opening a large file again."""
OPEN_DOCUMENTS = 8
"""Documents that a preparer keeps open: batches of one document follow each other."""

Progress = Callable[[int, int], None]


class PagesHow(msgspec.Struct, frozen=True, kw_only=True):
    """What is done with pages.

    Attributes:
        ocr: read what has no text layer by OCR.
        images: render the pages.
        dpi: resolution of the images.
        max_pixels: cap of an image, as the protocol of the coming run has it.
    """

    ocr: bool = False
    images: bool = True
    dpi: int = DEFAULT_DPI
    max_pixels: int | None = None


class PageBatch(msgspec.Struct, frozen=True):
    """Pages of one document: `first` to `last`, physical, 1-based and inclusive."""

    path: str
    first: int
    last: int


class Prepared(msgspec.Struct, frozen=True):
    """What was done with a document, or with a batch of its pages.

    Attributes:
        path: the document.
        read: pages whose text is in the cache now.
        rendered: pages whose image is.
        errors: a sentence for each page or document that could not be used.
    """

    path: str
    read: int = 0
    rendered: int = 0
    errors: list[str] = []


class PagePreparer:
    """The work itself; safe for several threads.

    Args:
        store: reads, renders and caches.
        how: what is done.
    """

    def __init__(self, store: PageStore, how: PagesHow) -> None:
        self._store = store
        self._how = how
        self._open: OrderedDict[str, Document] = OrderedDict()

    def read(self, path: str) -> tuple[Prepared, list[PageBatch]]:
        """Text of a document, and the batches of pages that are to be rendered."""
        try:
            document = self._document(path)
        except DocumentError as problem:
            return Prepared(path, errors=[str(problem)]), []
        count = document.page_count
        starts = range(1, count + 1, PAGES_A_BATCH) if self._how.images else ()
        batches = [PageBatch(path, first, min(first + PAGES_A_BATCH - 1, count)) for first in starts]
        return Prepared(path, read=count), batches

    def render(self, batch: PageBatch) -> Prepared:
        """Images of a batch; a page that cannot be rendered costs no other one."""
        rendered, errors = 0, []
        for page in range(batch.first, batch.last + 1):
            try:
                document = self._document(batch.path)
                document.image(page, dpi=self._how.dpi, max_pixels=self._how.max_pixels)
                rendered += 1
            except DocumentError as problem:
                errors.append(str(problem))
        return Prepared(batch.path, rendered=rendered, errors=errors)

    def _document(self, path: str) -> Document:
        document = self._open.get(path)
        if document is None:
            document = Document.open(path, store=self._store, ocr=self._how.ocr)
            self._open[path] = document
            while len(self._open) > OPEN_DOCUMENTS:
                self._open.popitem(last=False)
        return document


def prepare_here(
    files: Iterable[Path], store: PageStore, how: PagesHow, *, threads: int
) -> Iterator[Prepared]:
    """Prepare documents with the store's workers, a row for each document and each batch as it is done.

    Args:
        files: the documents.
        store: reads, renders and caches.
        how: what is done.
        threads: batches in flight; the store's number of workers uses all of them.
    """
    preparer = PagePreparer(store, how)
    with ThreadPoolExecutor(threads, "looseleaf-pages") as pool:
        for read in as_completed([pool.submit(preparer.read, str(file)) for file in files]):
            prepared, batches = read.result()
            yield prepared
            yield from pool.map(preparer.render, batches)
