"""The page worker: the only process in which pdfium and Pillow touch foreign bytes.

pdfium is not thread-safe, not even across documents, and a hostile file can make it crash, loop or take
gigabytes. So it runs alone in this process, under limits of address space and processor time, and the
caller kills it when a request takes too long. Run as `python -m looseleaf.document.worker LIMITS`, with
requests on standard input; it ends when standard input does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from .facts import PageFacts
from .guard import limit_cpu
from .image_file import ImageFile
from .limits import Limits
from .messages import FileKind, Opened, Page, ReadFile, Rendered, RenderPage, Reply, Scanned, ScanPage
from .pdf_file import PdfFile
from .service import reason, run

__all__ = ["main"]


def answer(request: ReadFile | RenderPage | ScanPage, limits: Limits) -> Iterator[Reply]:
    """The replies to one request."""
    with open_file(request.kind, os.fsdecode(request.path)) as file:
        match request:
            case ReadFile():
                yield from read(file, request, limits)
            case RenderPage():
                yield Rendered(file.render(request.index, request.settings))
            case ScanPage():
                yield Scanned(file.scans(request.index, whole=request.whole))


def open_file(kind: FileKind, path: str) -> PdfFile | ImageFile:
    """Open a file by its kind.

    Raises:
        Refusal: the file cannot be used.
    """
    return PdfFile(path) if kind == "pdf" else ImageFile(path)


def read(file: PdfFile | ImageFile, request: ReadFile, limits: Limits) -> Iterator[Reply]:
    """Labels, then the facts of the pages that are asked for."""
    yield Opened(file.labels())
    for index in range(file.page_count)[request.first : request.end]:
        limit_cpu(limits)
        yield Page(facts(file, index))


def facts(file: PdfFile | ImageFile, index: int) -> PageFacts:
    """Size and text of a page; one that cannot be read says so and costs no other page anything."""
    width = height = 0.0
    try:
        width, height = file.size(index)
        return PageFacts(file.text(index), width, height)
    except Exception as error:
        return PageFacts("", width, height, reason(error), isinstance(error, MemoryError))


def main() -> None:
    """Serve requests about pages."""
    run(answer)


if __name__ == "__main__":
    main()
