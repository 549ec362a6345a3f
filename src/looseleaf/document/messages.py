"""What the caller's process and its workers say to each other, and how it is framed.

One message is a four-byte big-endian length and that many bytes of MessagePack. Nothing is pickled.
"""

from __future__ import annotations

from typing import BinaryIO, Literal

import msgspec

from .facts import OcrLine, PageFacts, PageImage, RenderSettings

__all__ = [
    "FileKind",
    "Opened",
    "Page",
    "ReadFile",
    "ReadScan",
    "Recognized",
    "Refused",
    "RenderPage",
    "Rendered",
    "Reply",
    "Request",
    "Scan",
    "ScanPage",
    "Scanned",
    "receive",
    "send",
]

FileKind = Literal["pdf", "image"]
"""What a file's first bytes say it is."""

MAX_MESSAGE_BYTES = 256 << 20
"""Longest message: a page image of `MAX_PIXELS` pixels or a text of `MAX_PAGE_CHARACTERS` is far below."""

_LENGTH_BYTES = 4


class ReadFile(msgspec.Struct, frozen=True, tag=True):
    """Request: labels of a file, and the facts of its pages from index `first` (0-based) to before `end`.

    Replies: `Opened`, then a `Page` for each page; `Refused` ends them early. Paths are bytes
    (`os.fsencode`), as a file's name need not be text.
    """

    kind: FileKind
    path: bytes
    first: int = 0
    end: int | None = None


class RenderPage(msgspec.Struct, frozen=True, tag=True):
    """Request: one page (0-based `index`) as an image. Reply: `Rendered` or `Refused`."""

    kind: FileKind
    path: bytes
    index: int
    settings: RenderSettings


class ScanPage(msgspec.Struct, frozen=True, tag=True):
    """Request: what must be read by OCR on a page (0-based `index`): all of it (`whole`), or its images.

    Reply: `Scanned` or `Refused`.
    """

    kind: FileKind
    path: bytes
    index: int
    whole: bool


class Scan(msgspec.Struct, frozen=True, array_like=True):
    """Pixels of a page or of a part of it, for OCR.

    Attributes:
        rgb: three bytes a pixel, rows from the top.
        width: width in pixels.
        height: height in pixels.
        scale: pixels a point.
        left: where the part starts on the page, in points from its left edge.
        top: the same from its upper edge.
    """

    rgb: bytes
    width: int
    height: int
    scale: float
    left: float = 0.0
    top: float = 0.0


class ReadScan(msgspec.Struct, frozen=True, tag=True):
    """Request to the OCR worker: the lines of a scan. Reply: `Recognized` or `Refused`."""

    scan: Scan


class Opened(msgspec.Struct, frozen=True, tag=True):
    """Reply: the file is open; its printed page labels, empty where it has none."""

    labels: tuple[str, ...]


class Page(msgspec.Struct, frozen=True, tag=True):
    """Reply: facts of the next page."""

    facts: PageFacts


class Rendered(msgspec.Struct, frozen=True, tag=True):
    """Reply: the image that was asked for."""

    image: PageImage


class Scanned(msgspec.Struct, frozen=True, tag=True):
    """Reply: the parts of the page that must be read by OCR; none where the text layer has all there is."""

    scans: tuple[Scan, ...]


class Recognized(msgspec.Struct, frozen=True, tag=True):
    """Reply: the lines of a scan, placed on the page, and the processor time that reading them took."""

    lines: tuple[OcrLine, ...]
    cpu_seconds: float


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Reply: the file or page cannot be used; `reason` ends a sentence that starts with its name.

    `broken`: neither can any other, as the worker itself does not work.
    """

    reason: str
    broken: bool = False


Request = ReadFile | RenderPage | ScanPage | ReadScan
Reply = Opened | Page | Rendered | Scanned | Recognized | Refused


def send(stream: BinaryIO, message: Request | Reply) -> None:
    """Write one message and flush it."""
    body = msgspec.msgpack.encode(message)
    stream.write(len(body).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(body)
    stream.flush()


def receive(stream: BinaryIO) -> bytes:
    """Read the body of one message.

    Raises:
        EOFError: the other side is gone, or what it wrote is not a message.
    """
    header = stream.read(_LENGTH_BYTES)
    length = int.from_bytes(header, "big")
    if len(header) < _LENGTH_BYTES or length > MAX_MESSAGE_BYTES:
        raise EOFError
    body = stream.read(length)
    if len(body) < length:
        raise EOFError
    return body
