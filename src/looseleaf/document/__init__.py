"""Documents: PDF files and page images, with their text layer, labels, sizes and rendered pages.

`Document.open(path)` is the way in. All work on foreign bytes happens in a worker process that can be
killed (`looseleaf.document.worker`), and everything it yields is kept on disk by content hash
(`PageStore`), so that a second run extracts and renders nothing.
"""

from __future__ import annotations

from .document import MIN_TEXT_CHARACTERS, Document
from .facts import PageImage, RenderSettings
from .limits import Limits
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
]
