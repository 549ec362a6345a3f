"""Documents: PDF files and page images, with their text layer, labels, sizes and rendered pages.

`Document.open(path)` is the way in. All work on foreign bytes happens in worker processes that can
be killed (`looseleaf.document.worker`), and everything they yield is kept on disk by content hash
(`PageStore`), so that a second run extracts and renders nothing.
"""

from __future__ import annotations

from .document import Document
from .facts import PageImage, RenderSettings
from .limits import Limits
from .ocr import MIN_TEXT_CHARACTERS, ocr_engine, require_ocr
from .source import FirstIndex
from .store import PageStore, default_store

__all__ = [
    "MIN_TEXT_CHARACTERS",
    "Document",
    "FirstIndex",
    "Limits",
    "PageImage",
    "PageStore",
    "RenderSettings",
    "default_store",
    "ocr_engine",
    "require_ocr",
]
