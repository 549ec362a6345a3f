"""`Encoder`: turns pages and queries into vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from looseleaf.document import Document
from looseleaf.errors import DocumentError
from looseleaf.retrieval.index_key import digest
from looseleaf.retrieval.retriever import RetrieverFamily
from looseleaf.retrieval.vectors import Vectors

__all__ = ["Encoder", "PageContent", "encoder_id"]


class PageContent:
    """One page, read or rendered when the encoder asks for it.

    Attributes:
        document: whose page.
        number: its page number, physical and 1-based.
    """

    __slots__ = ("document", "number")

    def __init__(self, document: Document, number: int) -> None:
        self.document = document
        self.number = number

    def text(self) -> str:
        """The page's text; empty where it has none or it cannot be read."""
        try:
            return self.document.text(self.number)
        except DocumentError:
            return ""

    def jpeg(self, dpi: int, max_pixels: int) -> bytes:
        """The page's image.

        Raises:
            DocumentError: it cannot be rendered.
        """
        return self.document.image(self.number, dpi=dpi, max_pixels=max_pixels).jpeg


class Encoder(Protocol):
    """Encodes pages and queries into one space. Thread-safe."""

    @property
    def id(self) -> str:
        """Stands for the model and every setting that vectors depend on; usable as the name of a folder."""

    @property
    def family(self) -> RetrieverFamily:
        """`SINGLE_VECTOR` or `MULTI_VECTOR`."""

    def content(self, document: Document) -> str:
        """Digest of what the encoder will see of the pages."""

    def encode_pages(self, pages: Iterable[PageContent]) -> Iterator[Vectors]:
        """Vectors of each page, in order, as many as it takes; none for a page that holds nothing.

        Raises:
            ProviderError: the model did not answer.
        """

    def encode_query(self, query: str) -> Vectors:
        """Vectors of a query, one or several.

        Raises:
            ProviderError: the model did not answer.
        """


def encoder_id(name: str, **settings: object) -> str:
    """An id from a readable name and all that vectors depend on."""
    readable = "".join(letter if letter.isalnum() or letter in "._" else "-" for letter in name)
    hashed = digest([name, *(f"{key}={settings[key]}" for key in sorted(settings))])
    return f"{readable[:_READABLE]}-{hashed}"


_READABLE = 60
"""Most characters of the readable part, far below what file systems take."""
