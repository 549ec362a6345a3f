"""`PdfFile`: one PDF file, read through pdfium. Used by the worker only."""

from __future__ import annotations

from typing import Any, Self

import pypdfium2
import pypdfium2.raw as pdfium

from .facts import PageFacts, PageImage, RenderSettings
from .limits import MAX_PAGES
from .raster import encode, fitting_scale
from .refusal import Refusal
from .rows import lay_out
from .words import read_lines

__all__ = ["PdfFile"]


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
        textpage = page.get_textpage()
        try:
            text = lay_out(read_lines(textpage))
        except Refusal as refusal:
            return PageFacts("", width, height, str(refusal))
        finally:
            textpage.close()
            page.close()
        return PageFacts(_whole(text), width, height)

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


def _whole(text: str) -> str:
    """Text with surrogate pairs as the characters they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
