"""`Shelf`: the documents of a folder by name. Names come from outside: they are looked up, never joined to a path."""

from __future__ import annotations

from pathlib import Path

from looseleaf.benchmarks.rows import readable
from looseleaf.document import Document, PageStore
from looseleaf.errors import DataError, DocumentError
from looseleaf.retrieval import Collection
from looseleaf.retrieval.collection import DOCUMENT_SUFFIXES, AnyDocument

__all__ = ["Shelf"]


class Shelf:
    """The documents in a folder and the folders in it; what lies elsewhere, behind links too, is not on it.

    Args:
        folder: the folder.
        store: where pages are read and cached.
        ocr: read what has no text layer by OCR.

    Raises:
        DataError: there is no folder, or no document in it.
    """

    def __init__(self, folder: Path, store: PageStore, *, ocr: bool = False) -> None:
        self.folder = folder
        self._store = store
        self._ocr = ocr
        self._files = _files(folder)
        self._open: dict[str, AnyDocument] = {}
        if not self._files:
            raise DataError(f"The folder {folder} holds no PDF or office document; give another folder.")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the documents: their paths below the folder."""
        return tuple(self._files)

    def open(self, name: str = "") -> AnyDocument:
        """The document of that name, or all of them as one where no name is given.

        Raises:
            DocumentError: there is none of that name, or it cannot be opened.
        """
        if not name and len(self._files) == 1:
            name = next(iter(self._files))
        if name and name not in self._files:
            raise DocumentError(f"There is no document {name!r}; the names are those of list_documents.")
        if name not in self._open:
            self._open[name] = self._opened(name) if name else self._all()
        return self._open[name]

    def _opened(self, name: str) -> Document:
        return Document.open(self._files[name], store=self._store, doc_id=name, ocr=self._ocr)

    def _all(self) -> Collection:
        documents, problems = [], []
        for name in self._files:
            try:
                documents.append(self._opened(name))
            except DocumentError as problem:
                problems.append(str(problem))
        if not documents:
            raise DocumentError(problems[0])
        return Collection(self.folder, documents, problems)


def _name(below: str) -> str:
    """The name that an assistant uses: one line, and encodable, whatever bytes the file system holds."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in readable(below))


def _files(folder: Path) -> dict[str, Path]:
    """Document files by name, in order; hidden files and those that lie outside are left out."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; give the folder that holds the documents.")
    root = folder.resolve()
    found = {}
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in below.parts)
        inside = path.resolve().is_relative_to(root)
        if path.suffix.lower() in DOCUMENT_SUFFIXES and inside and not hidden and path.is_file():
            found[_name(str(below))] = path
    return found
