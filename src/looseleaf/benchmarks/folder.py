"""Finding the documents of a data folder without ever leaving it.

A document's name from a data file is only a key into the listing of the folder; it is never joined to a path.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import unquote

from looseleaf.benchmarks.rows import readable
from looseleaf.errors import DataError

__all__ = ["IMAGE_SUFFIXES", "DocumentFolder", "normalised_name"]

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff"})
"""Files that make a folder a document of page images."""

_BLANK = re.compile(r"[\s_/\\:?*\"<>|]+")
"""What file systems and download tools replace in names: blanks, and the characters that Windows forbids."""


def normalised_name(name: str) -> str:
    """The form in which a document's name is compared when no file has exactly that name.

    Percent-encoding is undone, Unicode composed (NFC), case folded, `.pdf` dropped, and runs of blanks,
    underscores and characters that file systems forbid become one blank.
    """
    text = unicodedata.normalize("NFC", unquote(name)).casefold().removesuffix(".pdf")
    return unicodedata.normalize("NFC", _BLANK.sub(" ", text).strip())


@dataclass(frozen=True)
class _Entry:
    path: Path
    relative: str
    is_pdf: bool


class DocumentFolder:
    """The documents below one or more folders of a data folder.

    A document is a PDF, or a folder that directly holds page images. PDFs come before page folders.

    Args:
        root: the data folder; no path outside it is ever returned.
        folders: the folders to list, with everything below them; those that do not exist are skipped.

    Raises:
        DataError: a folder is a link that leaves `root`.
    """

    def __init__(self, root: Path, folders: Iterable[Path]) -> None:
        self.root = root.resolve()
        self._entries = [entry for folder in folders for entry in self._listed(folder)]
        self._exact: dict[str, list[_Entry]] = defaultdict(list)
        self._normal: dict[str, list[_Entry]] = defaultdict(list)
        for entry in self._entries:
            for key in dict.fromkeys((entry.relative, entry.path.name)):
                self._exact[key].append(entry)
                self._normal[normalised_name(key)].append(entry)

    def find(self, doc_id: str, where: str) -> Path | None:
        """The document named `doc_id`, or `None` where the folder has none.

        A file of exactly that name is taken first, then one whose `normalised_name` is equal.

        Args:
            doc_id: name from a data file.
            where: row for messages.

        Raises:
            DataError: the name could leave the folder, several files fit it equally well, or the file is a
                link that leaves the folder.
        """
        _refuse_escape(doc_id, where)
        exact = self._exact.get(doc_id, [])
        for found in (
            [entry for entry in exact if entry.is_pdf],
            self._exact.get(f"{doc_id}.pdf", []),
            exact,
            _preferred(self._normal.get(normalised_name(doc_id), [])),
        ):
            if found:
                return self._single(found, doc_id, where)
        return None

    def names(self) -> dict[str, Path]:
        """Every document below the folders: printable relative name to path."""
        return {readable(entry.relative): entry.path for entry in self._entries}

    def _single(self, found: list[_Entry], doc_id: str, where: str) -> Path:
        if len({entry.path for entry in found}) > 1:
            names = ", ".join(sorted(readable(entry.relative) for entry in found))
            raise DataError(f'{where}: "{doc_id}" fits several documents ({names}); keep one of them.')
        path = found[0].path
        for inner in (path, *_links_within(path)):
            if not inner.resolve().is_relative_to(self.root):
                raise DataError(
                    f'{where}: "{doc_id}" is {readable(inner.name)}, a link that leaves the data folder; '
                    "copy the file into the folder."
                )
        return path

    def _listed(self, folder: Path) -> Iterator[_Entry]:
        if not folder.is_dir():
            return
        if not folder.resolve().is_relative_to(self.root):
            raise DataError(
                f"{readable(str(folder))} is a link that leaves the data folder; give the real folder."
            )
        # Links to folders are listed but not followed, so the walk ends and stays inside.
        for place, folders, files in os.walk(folder):
            folders.sort()
            here = Path(place)
            if here != folder and any(Path(name).suffix.lower() in IMAGE_SUFFIXES for name in files):
                yield _Entry(here, here.relative_to(folder).as_posix(), is_pdf=False)
            for name in sorted(files):
                if name.lower().endswith(".pdf"):
                    path = here / name
                    yield _Entry(path, path.relative_to(folder).as_posix(), is_pdf=True)


def _preferred(entries: list[_Entry]) -> list[_Entry]:
    return [entry for entry in entries if entry.is_pdf] or entries


def _links_within(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    with os.scandir(path) as entries:
        return [path / entry.name for entry in entries if entry.is_symlink()]


def _refuse_escape(doc_id: str, where: str) -> None:
    parts = (*PurePosixPath(doc_id).parts, *PureWindowsPath(doc_id).parts)
    absolute = PurePosixPath(doc_id).is_absolute() or PureWindowsPath(doc_id).anchor
    if ".." in parts or absolute or "\0" in doc_id or ".." in PurePosixPath(unquote(doc_id)).parts:
        raise DataError(
            f"{where}: the document name {doc_id!a} could leave the data folder; use a plain file name."
        )
