"""`Document`: one PDF file, image file or folder of page images."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConfigError, DocumentError
from .facts import DEFAULT_DPI, DocumentFacts, PageFacts, PageImage, RenderSettings
from .limits import MAX_PIXELS
from .names import printable
from .ocr import has_text_layer, ocr_engine
from .source import FirstIndex, Source, find_source
from .store import PageStore, Progress, default_store

__all__ = ["MAX_DPI", "Document"]

MAX_DPI = 1200
"""Highest render resolution; `MAX_PIXELS` and `MAX_SIDE` bind earlier on all but the smallest pages."""


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Document:
    """Facts about one document, and its pages. Pages are physical and 1-based.

    Made by `Document.open`; nothing changes after that.

    Attributes:
        doc_id: the caller's name of the document.
        path: where it is.
        sha256: hash of the file's bytes; for a folder of page images, the hash of the lines
            `"<page>:<sha256 of the image file>"` in page order.
        page_count: number of pages.
        labels: printed page labels; `labels[i]` is page `i + 1`, whose number stands in for a missing label.
        ocr: name and version of the OCR engine that read what has no text layer; `None` without OCR.
    """

    doc_id: str
    path: Path
    sha256: str
    page_count: int
    labels: tuple[str, ...]
    ocr: str | None
    _source: Source
    _facts: DocumentFacts
    _store: PageStore

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        store: PageStore | None = None,
        doc_id: str | None = None,
        first_index: FirstIndex = "auto",
        ocr: bool | None = None,
        progress: Progress | None = None,
    ) -> Document:
        """Open a document and read the text, labels and sizes of its pages, or take them from the cache.

        Args:
            path: a PDF, a PNG, JPEG, WebP or TIFF image, a folder of page images whose names end in the
                page number, or an office file where LibreOffice is installed.
            store: where pages are cached and read; default `default_store()`.
            doc_id: name of the document; default the name of the file or folder.
            first_index: number of the first page in the names of a folder's images; `"auto"` takes 1 if the
                smallest is 1, and 0 otherwise.
            ocr: read pages without a text layer, and pictures without text, by OCR; one to nine
                seconds of processor time a page, once. Default: what the store says, which is no.
            progress: called with (finished, all) after each page that OCR has looked at.

        Raises:
            DocumentError: there is no usable document there.
            ConfigError: OCR was asked for and is not installed.
        """
        path = Path(path)
        store = store or default_store()
        source = store.prepared(find_source(path, first_index), printable(path))
        ocr = store.ocr if ocr is None else ocr
        facts = store.facts(source, printable(path), ocr=ocr, progress=progress)
        labels = tuple(label or str(page) for page, label in enumerate(facts.labels, start=1))
        name = doc_id or printable(path.name)
        engine = ocr_engine() if ocr else None
        return cls(name, path, source.sha256, len(facts.pages), labels, engine, source, facts, store)

    def __repr__(self) -> str:
        return f"Document({self.doc_id!r}, {self.page_count} pages, sha256 {self.sha256[:8]}…)"

    def text(self, page: int) -> str:
        """Text of a page, one line a line or table row; empty where it has none.

        It is the text layer, and with OCR also what OCR has read (see `ocr_pages`).

        Raises:
            DocumentError: there is no such page, or its text cannot be read.
        """
        facts = self._page(page)
        if facts.problem:
            raise DocumentError(f"Page {page} of {printable(self.path)} {facts.problem}.")
        return facts.text

    def texts(self) -> tuple[str, ...]:
        """Texts of all pages; empty for a page whose text cannot be read (see `unreadable`)."""
        return tuple(page.text for page in self._facts.pages)

    @property
    def unreadable(self) -> dict[int, str]:
        """Pages whose text could not be read, with the reason."""
        return {
            number: page.problem for number, page in enumerate(self._facts.pages, start=1) if page.problem
        }

    @property
    def has_text(self) -> bool:
        """Whether any page has at least `MIN_TEXT_CHARACTERS` characters of text."""
        return any(map(has_text_layer, self._facts.pages))

    @property
    def ocr_pages(self) -> tuple[int, ...]:
        """Pages whose text, or a part of it, was read by OCR."""
        return tuple(number for number, page in enumerate(self._facts.pages, start=1) if page.ocr)

    def label(self, page: int) -> str:
        """Printed label of a page, or its number where it has none.

        Raises:
            DocumentError: there is no such page.
        """
        self._page(page)
        return self.labels[page - 1]

    def page_size(self, page: int) -> tuple[float, float]:
        """Width and height of a page in points (1/72 inch); 0 where the file gives it no size.

        Raises:
            DocumentError: there is no such page.
        """
        facts = self._page(page)
        return facts.width, facts.height

    def image(self, page: int, *, dpi: int = DEFAULT_DPI, max_pixels: int | None = None) -> PageImage:
        """A page as an RGB JPEG.

        Args:
            page: physical page, 1-based.
            dpi: resolution. A page image counts as scanned at `DEFAULT_DPI` and is never enlarged.
            max_pixels: lower the resolution until width × height is at most this (ALDEN: 862,400).

        Raises:
            ConfigError: `dpi` or `max_pixels` cannot be used.
            DocumentError: there is no such page, or it cannot be rendered.
        """
        self._page(page)
        return self._store.image(self._source, printable(self.path), page - 1, _settings(dpi, max_pixels))

    def _page(self, page: int) -> PageFacts:
        if not 1 <= page <= self.page_count:
            raise DocumentError(
                f"{printable(self.path)} has no page {page}; its pages are 1 to {self.page_count}."
            )
        return self._facts.pages[page - 1]


def _settings(dpi: int, max_pixels: int | None) -> RenderSettings:
    if not 1 <= dpi <= MAX_DPI:
        raise ConfigError(f"dpi is {dpi}; give a whole number from 1 to {MAX_DPI}.")
    if max_pixels is not None and max_pixels < 1:
        raise ConfigError(f"max_pixels is {max_pixels}; give a positive number, or leave it out.")
    return RenderSettings(dpi, min(max_pixels or MAX_PIXELS, MAX_PIXELS))
