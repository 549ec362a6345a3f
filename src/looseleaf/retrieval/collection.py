"""`Collection`: the documents of a folder, read as one. Its pages are numbered through; each knows its document."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Self

from looseleaf.document import Document, PageImage, PageStore
from looseleaf.document.office import OFFICE_SUFFIXES
from looseleaf.errors import DocumentError

__all__ = ["AnyDocument", "Collection", "Place", "document_files"]

DOCUMENT_SUFFIXES = OFFICE_SUFFIXES | {".pdf"}
"""A folder that holds such a file, at any depth, is a folder of documents; any other is one of page images."""

DPI = 144
"""Default resolution of `Document.image`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A page of a collection.

    Attributes:
        document: the document that it belongs to.
        page: its number there, physical and 1-based.
    """

    document: Document
    page: int


class Collection:
    """Several documents with the methods of one.

    The pages of the first document come first, in order, then those of the next: page numbers of a collection mean
    its own running count, and `place` gives document and page. Labels name both, so that a policy reads them too.

    Attributes:
        doc_id: name of the folder.
        path: the folder.
        sha256: hash of the documents' names and hashes, in order.
        documents: what could be opened, in the order of names.
        problems: a sentence for each file that could not.
        page_count: pages of all documents together.
    """

    def __init__(self, path: Path, documents: Sequence[Document], problems: Sequence[str] = ()) -> None:
        self.doc_id = path.name or str(path)
        self.path = path
        self.documents = tuple(documents)
        self.problems = tuple(problems)
        lines = (f"{document.doc_id}:{document.sha256}\n" for document in self.documents)
        self.sha256 = hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
        self._firsts = tuple(accumulate((document.page_count for document in self.documents), initial=1))
        self.page_count = self._firsts[-1] - 1

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether there is a folder of documents, and not a file or a folder of page images."""
        return path.is_dir() and any(_documents(path))

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        store: PageStore | None = None,
        ocr: bool | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Open all documents of a folder and the folders in it.

        A file that cannot be opened is left out and named in `problems`.

        Args:
            path: the folder.
            store: where pages are cached and read.
            ocr: as for `Document.open`.
            progress: likewise; it begins anew with each document.

        Raises:
            DocumentError: there is no document, or none can be opened.
        """
        documents, problems = [], []
        for file in _in_order(path):
            try:
                name = str(file.relative_to(path))
                documents.append(Document.open(file, store=store, doc_id=name, ocr=ocr, progress=progress))
            except DocumentError as problem:
                problems.append(str(problem))
        if not documents:
            raise DocumentError(
                problems[0] if problems else f"The folder {path} holds no PDF; check the path."
            )
        return cls(path, documents, problems)

    def __repr__(self) -> str:
        return f"Collection({self.doc_id!r}, {len(self.documents)} documents, {self.page_count} pages)"

    def place(self, page: int) -> Place:
        """Document and page behind a running number.

        Raises:
            DocumentError: there is no such page.
        """
        if not 1 <= page <= self.page_count:
            raise DocumentError(f"{self.path} has no page {page}; its pages are 1 to {self.page_count}.")
        at = next(place for place, first in enumerate(self._firsts[1:]) if page < first)
        return Place(self.documents[at], page - self._firsts[at] + 1)

    def first_page(self, place: int) -> int:
        """Running number of the first page of the document at this 0-based place."""
        return self._firsts[place]

    @property
    def labels(self) -> tuple[str, ...]:
        """Document and page of each page."""
        return tuple(self.label(page) for page in range(1, self.page_count + 1))

    def label(self, page: int) -> str:
        """Document and page, with the printed label where there is one.

        Raises:
            DocumentError: there is no such page.
        """
        place = self.place(page)
        printed = place.document.label(place.page)
        suffix = "" if printed == str(place.page) else f" (printed {printed})"
        return f"{place.document.doc_id}, page {place.page}{suffix}"

    def text(self, page: int) -> str:
        """Text of a page.

        Raises:
            DocumentError: there is no such page, or its text cannot be read.
        """
        place = self.place(page)
        return place.document.text(place.page)

    def texts(self) -> tuple[str, ...]:
        """Texts of all pages."""
        return tuple(text for document in self.documents for text in document.texts())

    @property
    def ocr(self) -> str | None:
        """The OCR engine that read what has no text layer, or `None`."""
        return self.documents[0].ocr

    @property
    def has_text(self) -> bool:
        """Whether any document has text."""
        return any(document.has_text for document in self.documents)

    def image(self, page: int, *, dpi: int = DPI, max_pixels: int | None = None) -> PageImage:
        """A page as an RGB JPEG.

        Raises:
            DocumentError: there is no such page, or it cannot be rendered.
        """
        place = self.place(page)
        return place.document.image(place.page, dpi=dpi, max_pixels=max_pixels)


AnyDocument = Document | Collection
"""What can be searched and read."""


def document_files(path: Path) -> list[Path]:
    """The documents of a folder and the folders in it, in natural order of their names.

    Raises:
        DocumentError: there is none.
    """
    if not path.is_dir():
        raise DocumentError(f"There is no folder {path}; check the path.")
    files = _in_order(path)
    if not files:
        raise DocumentError(f"The folder {path} holds no PDF; check the path.")
    return files


def _in_order(path: Path) -> list[Path]:
    return sorted(_documents(path), key=lambda file: _natural(str(file.relative_to(path))))


def _documents(path: Path) -> list[Path]:
    """Document files under a folder; hidden files and folders are nobody's documents."""
    return [
        file
        for file in path.rglob("*")
        if file.suffix.lower() in DOCUMENT_SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and file.is_file()
    ]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key that puts report 10 behind report 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name.lower())]
