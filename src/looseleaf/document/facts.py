"""What is known about a page or a document, and travels between worker, cache and caller."""

from __future__ import annotations

import msgspec

from .limits import MAX_PIXELS

__all__ = [
    "DEFAULT_DPI",
    "JPEG_QUALITY",
    "DocumentFacts",
    "OcrLine",
    "OcrPage",
    "OcrWord",
    "PageFacts",
    "PageImage",
    "RenderSettings",
]

DEFAULT_DPI = 144
"""Render resolution of the field's agents (MDocAgent, m3docrag): twice the PDF unit of 72 a inch."""

JPEG_QUALITY = 85
"""JPEG quality of rendered pages: 209 kB and 7 ms for a mean real page, where PNG costs 100 ms."""


class PageImage(msgspec.Struct, frozen=True):
    """One page as an RGB JPEG; `width` and `height` in pixels."""

    jpeg: bytes
    width: int
    height: int


class PageFacts(msgspec.Struct, frozen=True, array_like=True):
    """What reading one page yields.

    Attributes:
        text: text layer in lines, or empty.
        width: page width in points (1/72 inch) after rotation; 0 where the page has no size.
        height: page height in points.
        problem: why the text could not be read, as the end of a sentence; empty when it could.
        passing: whether the problem may go away by itself (a limit was exceeded), so that it is not
            remembered on disk.
        ocr: whether the text, or a part of it, was read by OCR.
    """

    text: str
    width: float
    height: float
    problem: str = ""
    passing: bool = False
    ocr: bool = False


class OcrWord(msgspec.Struct, frozen=True, array_like=True):
    """A word that OCR has read, and where it starts and ends along its line, in points.

    They count from the left edge of the page, or in a turned line from its upper edge.
    """

    text: str
    start: float
    end: float


class OcrLine(msgspec.Struct, frozen=True, array_like=True):
    """A line that OCR has read.

    Attributes:
        words: its words in the order of reading.
        left: left edge in points from the page's.
        top: upper edge in points from the page's.
        right: right edge.
        bottom: lower edge.
        score: the engine's mean confidence, 0 to 1.
        turn: 0 for upright text, 1 for text that runs up the page, -1 for down.
    """

    words: tuple[OcrWord, ...]
    left: float
    top: float
    right: float
    bottom: float
    score: float
    turn: int = 0


class OcrPage(msgspec.Struct, frozen=True, array_like=True):
    """What OCR has read on a page: in a page without text layer all of it, else what its images say.

    Attributes:
        lines: lines in the order in which the engine found them.
        problem: why the page could not be read, as the end of a sentence; empty when it could.
        passing: whether the problem may go away by itself, so that it is not remembered on disk.
    """

    lines: tuple[OcrLine, ...]
    problem: str = ""
    passing: bool = False


class DocumentFacts(msgspec.Struct, frozen=True, array_like=True):
    """Labels and pages of a document, in page order; `labels[i]` and `pages[i]` are page `i + 1`."""

    labels: tuple[str, ...]
    pages: tuple[PageFacts, ...]

    @property
    def lasting(self) -> bool:
        """Whether reading again would yield the same facts."""
        return not any(page.passing for page in self.pages)


class RenderSettings(msgspec.Struct, frozen=True):
    """How a page becomes an image: dots an inch, and the most pixels the image may have."""

    dpi: int = DEFAULT_DPI
    max_pixels: int = MAX_PIXELS
