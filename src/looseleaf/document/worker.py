"""The page worker: the only process in which pdfium and Pillow touch foreign bytes.

pdfium is not thread-safe, not even across documents, and a hostile file can make it crash, loop or take
gigabytes. So it runs alone in this process, under limits of address space and processor time, and the
caller kills it when a request takes too long. Run as `python -m looseleaf.document.worker LIMITS`, with
requests on standard input; it ends when standard input does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .facts import PageFacts
from .guard import limit_cpu
from .image_file import ImageFile
from .limits import Limits
from .messages import FileKind, Opened, Page, ReadFile, Rendered, RenderPage, Reply, Scanned, ScanPage
from .pdf_file import PdfFile
from .service import reason, run

__all__ = ["main"]

_DRAWN_PAGES = 200
"""Pages drawn from one open file: pdfium keeps fonts and pictures, and a large file is slow to open."""

_File = PdfFile | ImageFile


class _OpenFile:
    """The file that was used last, kept open for the next page of it."""

    def __init__(self) -> None:
        self._file: _File | None = None
        self._key: tuple[object, ...] = ()
        self._uses = 0

    def get(self, kind: FileKind, path: bytes) -> _File:
        """The file, as it is now.

        Raises:
            Refusal: it cannot be used.
        """
        name = os.fsdecode(path)
        status = Path(name).stat()
        key = (kind, path, status.st_size, status.st_mtime_ns, status.st_ino)
        if self._file is None or key != self._key or self._uses >= _DRAWN_PAGES:
            self.close()
            self._file = PdfFile(name) if kind == "pdf" else ImageFile(name)
            self._key, self._uses = key, 0
        self._uses += 1
        return self._file

    def close(self) -> None:
        """Close it."""
        file, self._file = self._file, None
        if file:
            file.close()


def main() -> None:
    """Serve requests about pages."""
    opened = _OpenFile()

    def answer(request: ReadFile | RenderPage | ScanPage, limits: Limits) -> Iterator[Reply]:
        try:
            yield from _answer(opened.get(request.kind, request.path), request, limits)
        except BaseException:
            opened.close()
            raise

    run(answer)


def _answer(file: _File, request: ReadFile | RenderPage | ScanPage, limits: Limits) -> Iterator[Reply]:
    match request:
        case ReadFile():
            yield from _read(file, request, limits)
        case RenderPage():
            yield Rendered(file.render(request.index, request.settings))
        case ScanPage():
            yield Scanned(file.scans(request.index, whole=request.whole))


def _read(file: _File, request: ReadFile, limits: Limits) -> Iterator[Reply]:
    """Labels, then the facts of the pages that are asked for."""
    yield Opened(file.labels())
    for index in range(file.page_count)[request.first : request.end]:
        limit_cpu(limits)
        yield Page(_facts(file, index))


def _facts(file: _File, index: int) -> PageFacts:
    """Size and text of a page; one that cannot be read says so and costs no other page anything."""
    width = height = 0.0
    try:
        width, height = file.size(index)
        return PageFacts(file.text(index), width, height)
    except Exception as error:
        return PageFacts("", width, height, reason(error), isinstance(error, MemoryError))


if __name__ == "__main__":
    main()
