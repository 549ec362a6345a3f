"""What is known about a page or a document, and travels between worker, cache and caller."""

from __future__ import annotations

import msgspec

from .limits import MAX_PIXELS

__all__ = ["DEFAULT_DPI", "JPEG_QUALITY", "DocumentFacts", "PageFacts", "PageImage", "RenderSettings"]

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
    """

    text: str
    width: float
    height: float
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
