"""`PdfFile`: one PDF file, read through pdfium. Used by the worker only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from .facts import PageImage, RenderSettings
from .limits import MAX_PAGES
from .messages import Scan
from .raster import OCR_SETTINGS, encode, fitting_scale, scan
from .refusal import Refusal
from .regions import image_regions
from .rows import lay_out
from .words import read_lines

__all__ = ["PdfFile"]


_ENCRYPTED = "is encrypted; remove the password (for example `qpdf --decrypt IN.pdf OUT.pdf`) and try again"
_DAMAGED = "is damaged or cut short; download or export it again"
_NO_PAGES = "has no pages; check that it is the right file"
_TOO_MANY = "claims {:,} pages; split it into files of at most {:,}"


class PdfFile:
    """An open PDF file; pages are 0-based here."""

    def __init__(self, path: str) -> None:
        self._pdf = pypdfium2.PdfDocument(_load(path))
        self.page_count = len(self._pdf)
        if not 1 <= self.page_count <= MAX_PAGES:
            self._pdf.close()
            raise Refusal(_NO_PAGES if self.page_count < 1 else _TOO_MANY.format(self.page_count, MAX_PAGES))

    def close(self) -> None:
        """Close the file."""
        self._pdf.close()

    def labels(self) -> tuple[str, ...]:
        """The printed page labels, empty where a page has none."""
        return tuple(self._pdf.get_page_label(index).strip() for index in range(self.page_count))

    def size(self, index: int) -> tuple[float, float]:
        """Width and height of a page in points; 0 where it has none."""
        try:
            width, height = self._pdf.get_page_size(index)
        except pypdfium2.PdfiumError:
            return 0.0, 0.0
        return max(width, 0.0), max(height, 0.0)

    def text(self, index: int) -> str:
        """Text layer of a page in lines and rows.

        Raises:
            Refusal: the page is damaged, or has too much text.
        """
        with self._page(index) as page, closing(page.get_textpage()) as textpage:
            return _whole(lay_out(read_lines(textpage)))

    def render(self, index: int, settings: RenderSettings) -> PageImage:
        """Render a page, with annotations and filled-in form fields.

        Raises:
            Refusal: the page is damaged, or has no area.
        """
        with self._drawn(index) as page, _rendered(page, settings) as bitmap:
            return encode(bitmap.to_pil())

    def scans(self, index: int, *, whole: bool) -> tuple[Scan, ...]:
        """What must be read by OCR: all of a page, or those of its images that have no text over them.

        Raises:
            Refusal: the page is damaged, or has no area.
        """
        with self._drawn(index) as page:
            width, height = page.get_size()
            regions = [(0.0, 0.0, width, height)] if whole else image_regions(page)
            if not regions:
                return ()
            with _rendered(page, OCR_SETTINGS) as bitmap:
                picture, scale = bitmap.to_pil().convert("RGB"), bitmap.width / width
            return tuple(filter(None, (scan(picture, scale, region) for region in regions)))

    @contextmanager
    def _drawn(self, index: int) -> Iterator[Any]:
        """A page that is to be drawn: forms come first, or its fields are missing."""
        if not self._pdf.formenv:
            self._pdf.init_forms()
        with self._page(index) as page:
            yield page

    @contextmanager
    def _page(self, index: int) -> Iterator[Any]:
        try:
            page = self._pdf[index]
        except pypdfium2.PdfiumError as error:
            raise Refusal("is damaged and cannot be read; re-save the file with another program") from error
        with closing(page):
            yield page


@contextmanager
def _rendered(page: Any, settings: RenderSettings) -> Iterator[Any]:
    width, height = page.get_size()
    with closing(page.render(scale=fitting_scale(width, height, settings), rev_byteorder=True)) as bitmap:
        yield bitmap


def _load(path: str) -> Any:
    """Open a file through pdfium itself: its error code says why it did not, and nothing else.

    (pypdfium2 reads the code for a file without pages too, when it is that of an earlier failure.)
    """
    document = pdfium.FPDF_LoadDocument(os.fsencode(path) + b"\0", None)
    if document:
        return document
    if pdfium.FPDF_GetLastError() in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
        raise Refusal(_ENCRYPTED)
    raise Refusal(_DAMAGED)


def _whole(text: str) -> str:
    """Text with surrogate pairs as the characters they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
