"""The worker process: the only place where pdfium and Pillow touch foreign bytes.

pdfium is not thread-safe, not even across documents, and a hostile file can make it crash, loop or take
gigabytes. So it runs alone in this process, under limits of address space and processor time, and the
caller kills it when a request takes too long. Run as `python -m looseleaf.document.worker LIMITS`, with
requests on standard input; it ends when standard input does.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from .facts import PageFacts
from .image_file import ImageFile
from .limits import Limits
from .messages import (
    FileKind,
    Opened,
    Page,
    ReadFile,
    Refused,
    Rendered,
    RenderPage,
    Reply,
    Request,
    receive,
    send,
)
from .pdf_file import PdfFile
from .refusal import Refusal

__all__ = ["main"]

_OUT_OF_MEMORY = "needs more memory than one page may take; re-save it with smaller pages and try again"


def limit_memory(limits: Limits) -> None:
    """Limit the address space of this process and forbid core dumps, where the platform can."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_at_most(limits.memory_bytes, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_cpu(limits: Limits) -> None:
    """Give this process `limits.cpu_seconds` more of processor time from now on."""
    try:
        import resource
    except ImportError:
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    end = int(usage.ru_utime + usage.ru_stime) + 1 + limits.cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(end, hard), hard))


def _at_most(value: int, hard: int) -> int:
    return value if hard < 0 else min(value, hard)  # RLIM_INFINITY is -1


def open_file(kind: FileKind, path: str) -> PdfFile | ImageFile:
    """Open a file by its kind.

    Raises:
        Refusal: the file cannot be used.
    """
    return PdfFile(path) if kind == "pdf" else ImageFile(path)


def read(request: ReadFile, limits: Limits) -> Iterator[Reply]:
    """Labels, then the facts of the pages that are asked for."""
    with open_file(request.kind, request.path) as file:
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


def render(request: RenderPage) -> Iterator[Reply]:
    """The image of one page."""
    with open_file(request.kind, request.path) as file:
        yield Rendered(file.render(request.index, request.settings))


def answer(request: Request, limits: Limits) -> Iterator[Reply]:
    """The replies to one request; a file or page that cannot be used ends them with `Refused`."""
    limit_cpu(limits)
    try:
        yield from read(request, limits) if isinstance(request, ReadFile) else render(request)
    except Exception as error:
        yield Refused(reason(error))


def reason(error: Exception) -> str:
    """Why a file or page cannot be used. Foreign bytes may raise anything, and must not end the worker."""
    if isinstance(error, Refusal):
        return str(error)
    if isinstance(error, MemoryError):
        return _OUT_OF_MEMORY
    return f"cannot be read ({type(error).__name__}); re-save it with another program"


def serve(requests: BinaryIO, replies: BinaryIO, limits: Limits) -> None:
    """Answer requests until the caller closes the pipe."""
    decoder = msgspec.msgpack.Decoder(Request)
    while True:
        try:
            request = decoder.decode(receive(requests))
        except EOFError:
            return
        for reply in answer(request, limits):
            send(replies, reply)


def main() -> None:
    """Take the limits from the command line, keep the reply pipe to ourselves, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to handle
    limits = msgspec.json.decode(sys.argv[1], type=Limits)
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not look like a reply
    limit_memory(limits)
    try:
        serve(sys.stdin.buffer, replies, limits)
    except BrokenPipeError:
        os._exit(0)  # the caller is gone: there is nobody to tell, and nothing to flush to


if __name__ == "__main__":
    main()
