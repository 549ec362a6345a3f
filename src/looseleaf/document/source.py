"""`Source`: the files that one document is made of."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Literal

import msgspec

from ..errors import DocumentError
from .messages import FileKind
from .names import printable
from .office import OFFICE_SUFFIXES

__all__ = ["FirstIndex", "Source", "SourceKind", "find_source", "single_file"]

SourceKind = Literal["pdf", "image", "office"]
"""What a document's files are."""

FirstIndex = Literal["auto", 0, 1]
"""Number of the first page in the names of page images; `auto`: 1 where the smallest is 1, else 0."""

_PAGE_NAME = re.compile(r".*?(\d+)\.(?:png|jpe?g|webp|tiff?)$", re.IGNORECASE)

_SNIFFED_BYTES = 1024
"""A PDF header may start anywhere in the first 1,024 bytes (ISO 32000-1, Annex H.3, note 13)."""

_IMAGE_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
_OFFICE_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\\rtf")
"""Zip archive (Office Open XML, OpenDocument), compound file (Office 97), and RTF."""

_PAGE_START = re.compile(rb"\s*<(?:!doctype|html|\?xml)", re.IGNORECASE)

_NAMED_NUMBERS = 10
"""How many missing page numbers an error message names."""


class Source(msgspec.Struct, frozen=True):
    """Files of a document: one file with all pages, or (`folder`) one image file a page.

    Attributes:
        kind: what the files are; an office file becomes a PDF before anything else (`PageStore.prepared`).
        files: their absolute paths.
        folder: whether each page is a file of its own.
        sha256: hash of the document as it was given.
        stamps: size and modification time of each file from before it was hashed.
        converter: what has made the files out of the document, as a part of cache keys; empty if nothing has.
    """

    kind: SourceKind
    files: tuple[str, ...]
    folder: bool
    sha256: str
    stamps: tuple[tuple[int, int], ...]
    converter: str = ""

    @property
    def key(self) -> str:
        """What its pages are cached under."""
        return f"{self.sha256}-{self.converter}" if self.converter else self.sha256

    @property
    def file_kind(self) -> FileKind:
        """What the workers are told."""
        return "image" if self.kind == "image" else "pdf"

    def locate(self, index: int) -> tuple[bytes, int]:
        """File of the page with this 0-based index (its name need not be text), and the page's index in it."""
        file, index = (self.files[index], 0) if self.folder else (self.files[0], index)
        return os.fsencode(file), index

    def check_unchanged(self, path: bytes) -> None:
        """Make sure that a file is still the one whose hash its pages are cached under.

        Raises:
            DocumentError: it is gone or has changed.
        """
        file = os.fsdecode(path)
        try:
            same = _stamp(Path(file)) == self.stamps[self.files.index(file)]
        except OSError:
            same = False
        if not same:
            raise DocumentError(
                f"{printable(file)} has changed or gone since it was opened; open the document again."
            )


def find_source(path: Path, first_index: FirstIndex) -> Source:
    """Find out what kind of document is at `path`.

    Raises:
        DocumentError: there is nothing that can be a document.
    """
    try:
        if path.is_dir():
            return _folder(path, first_index)
        if not path.is_file():
            raise DocumentError(f"There is no document at {printable(path)}; check the path.")
        stamp = _stamp(path)
        return Source(_kind(path), (str(path.absolute()),), False, _sha256(path), (stamp,))
    except OSError as error:
        raise DocumentError(
            f"{printable(path)} cannot be read ({error.strerror}); check its permissions."
        ) from error


def single_file(path: Path, sha256: str, converter: str) -> Source:
    """The PDF that a converter has made of the document with this hash."""
    return Source("pdf", (str(path.absolute()),), False, sha256, (_stamp(path),), converter)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _kind(path: Path) -> SourceKind:
    """What the first bytes say the file is; its name may say anything, except that of an office file."""
    with path.open("rb") as file:
        start = file.read(_SNIFFED_BYTES)
    if b"%PDF-" in start:
        return "pdf"
    if start.startswith(_IMAGE_STARTS) or (start[:4] == b"RIFF" and start[8:12] == b"WEBP"):
        return "image"
    if start.startswith(_OFFICE_STARTS) and path.suffix.lower() in OFFICE_SUFFIXES:
        return "office"
    if not start:
        raise DocumentError(f"{printable(path)} is empty; download or export it again.")
    if _PAGE_START.match(start):
        raise DocumentError(f"{printable(path)} is a web page, not a PDF; download the document itself.")
    raise DocumentError(
        f"{printable(path)} is not a PDF or a PNG, JPEG, WebP or TIFF image; convert it to PDF first."
    )


def _folder(path: Path, first_index: FirstIndex) -> Source:
    numbered = _numbered(path)
    if not numbered:
        raise DocumentError(
            f"The folder {printable(path)} has no page images; give a PDF, or images whose names end in the page "
            f"number (like {printable(path.name)}_0.png)."
        )
    first = (1 if min(numbered) == 1 else 0) if first_index == "auto" else first_index
    _check_complete(path, numbered, first)
    files = tuple(str(numbered[number].absolute()) for number in sorted(numbered))
    stamps = tuple(_stamp(Path(name)) for name in files)
    digest = hashlib.sha256()
    for page, name in enumerate(files, start=1):
        digest.update(f"{page}:{_sha256(Path(name))}\n".encode())
    return Source("image", files, True, digest.hexdigest(), stamps)


def _numbered(path: Path) -> dict[int, Path]:
    """Page images of a folder by the number at the end of their names."""
    numbered: dict[int, Path] = {}
    for file in sorted(path.iterdir()):
        match = _PAGE_NAME.fullmatch(file.name)
        if not match or file.name.startswith("."):
            continue
        number = int(match[1])
        if number in numbered:
            first, second = printable(numbered[number].name), printable(file.name)
            raise DocumentError(
                f"{printable(path)} has two images of page number {number}, {first} and {second}; "
                "keep one document in a folder."
            )
        numbered[number] = file
    return numbered


def _check_complete(path: Path, numbered: dict[int, Path], first: int) -> None:
    if min(numbered) < first:
        raise DocumentError(
            f"{printable(path)} has a page image numbered {min(numbered)}; use first_index={min(numbered)}."
        )
    missing = sorted(set(range(first, max(numbered) + 1)) - numbered.keys())
    if missing:
        named = ", ".join(map(str, missing[:_NAMED_NUMBERS])) + (
            ", …" if len(missing) > _NAMED_NUMBERS else ""
        )
        raise DocumentError(
            f"{printable(path)} has no page image numbered {named}; add the missing images, or set first_index."
        )
