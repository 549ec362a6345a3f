"""What the caller's process and the worker say to each other, and how it is framed.

One message is a four-byte big-endian length and that many bytes of MessagePack. Nothing is pickled.
"""

from __future__ import annotations

from typing import BinaryIO, Literal

import msgspec

from .facts import PageFacts, PageImage, RenderSettings

__all__ = [
    "FileKind",
    "Opened",
    "Page",
    "ReadFile",
    "Refused",
    "RenderPage",
    "Rendered",
    "Reply",
    "Request",
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

    Replies: `Opened`, then a `Page` for each page; `Refused` ends them early.
    """

    kind: FileKind
    path: str
    first: int = 0
    end: int | None = None


class RenderPage(msgspec.Struct, frozen=True, tag=True):
    """Request: one page (0-based `index`) as an image. Reply: `Rendered` or `Refused`."""

    kind: FileKind
    path: str
    index: int
    settings: RenderSettings


class Opened(msgspec.Struct, frozen=True, tag=True):
    """Reply: the file is open; its printed page labels, empty where it has none."""

    labels: tuple[str, ...]


class Page(msgspec.Struct, frozen=True, tag=True):
    """Reply: facts of the next page."""

    facts: PageFacts


class Rendered(msgspec.Struct, frozen=True, tag=True):
    """Reply: the image that was asked for."""

    image: PageImage


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Reply: the file or page cannot be used; `reason` ends a sentence that starts with its name."""

    reason: str


Request = ReadFile | RenderPage
Reply = Opened | Page | Rendered | Refused


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
