"""`PdfFile`: one PDF file, read through pdfium. Used by the worker only."""

from __future__ import annotations

from typing import Any, Self

import pypdfium2
import pypdfium2.raw as pdfium

from .facts import PageFacts, PageImage, RenderSettings
from .limits import MAX_PAGE_CHARACTERS, MAX_PAGES
from .raster import encode, fitting_scale
from .refusal import Refusal
from .text import tidy

__all__ = ["PdfFile"]

_HEADER = b"%PDF-"
_HEADER_WITHIN = 1024
"""The header may start anywhere in the first 1,024 bytes (ISO 32000-1, Annex H.3, note 13)."""


class PdfFile:
    """An open PDF file; pages are 0-based here."""

    def __init__(self, path: str) -> None:
        try:
            self._pdf = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError as error:
            raise Refusal(_why(error.err_code)) from error
        self.page_count = len(self._pdf)
        if self.page_count > MAX_PAGES:
            self._pdf.close()
            raise Refusal(f"claims {self.page_count:,} pages; split it into files of at most {MAX_PAGES:,}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pdf.close()

    def labels(self) -> tuple[str, ...]:
        """The printed page labels, empty where a page has none."""
        return tuple(self._pdf.get_page_label(index).strip() for index in range(self.page_count))

    def facts(self, index: int) -> PageFacts:
        """Text and size of a page."""
        width, height = self._size(index)
        try:
            page = self._page(index)
        except Refusal as refusal:
            return PageFacts("", width, height, str(refusal))
        with_text = page.get_textpage()
        try:
            return PageFacts(_text(with_text), width, height)
        except Refusal as refusal:
            return PageFacts("", width, height, str(refusal))
        finally:
            with_text.close()
            page.close()

    def render(self, index: int, settings: RenderSettings) -> PageImage:
        """Render a page, with annotations and filled-in form fields."""
        self._pdf.init_forms()  # before the page is loaded, or its fields are not drawn
        page = self._page(index)
        try:
            width, height = page.get_size()
            bitmap = page.render(scale=fitting_scale(width, height, settings), rev_byteorder=True)
            try:
                return encode(bitmap.to_pil())
            finally:
                bitmap.close()
        finally:
            page.close()

    def _page(self, index: int) -> Any:
        try:
            return self._pdf[index]
        except pypdfium2.PdfiumError as error:
            raise Refusal("is damaged and cannot be read; re-save the file with another program") from error

    def _size(self, index: int) -> tuple[float, float]:
        try:
            width, height = self._pdf.get_page_size(index)
        except pypdfium2.PdfiumError:
            return 0.0, 0.0
        return max(width, 0.0), max(height, 0.0)


def _why(code: int | None) -> str:
    """Why pdfium did not open a file, from its error code."""
    if code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
        return "is encrypted; remove the password (for example `qpdf --decrypt IN.pdf OUT.pdf`) and try again"
    if code == pdfium.FPDF_ERR_SUCCESS:
        return "has no pages; check that it is the right file"
    return "is damaged or cut short; download or export it again"


def _text(textpage: Any) -> str:
    if textpage.count_chars() > MAX_PAGE_CHARACTERS:
        raise Refusal(
            f"has more than {MAX_PAGE_CHARACTERS:,} characters of text; re-save the file without it"
        )
    return tidy(textpage.get_text_range())
