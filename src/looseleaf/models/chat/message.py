"""Messages as they go to a server: text and image parts, encoded to JSON exactly once."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from looseleaf.models.chat.image_tokens import estimate_text_tokens

__all__ = ["ImagePart", "Message", "Part", "TextPart", "Wire", "wire"]

_encode = msgspec.json.encode

_IMAGE_HEAD = b'{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,'
_IMAGE_TAIL = b'"}}'


class TextPart(NamedTuple):
    """Words."""

    text: str


class ImagePart(NamedTuple):
    """One page image as a data URI.

    Attributes:
        json: the part as JSON; base64 needs no escaping.
        digest: SHA-256 of the image, which stands for it in cache keys.
        tokens: estimated tokens.
    """

    json: bytes
    digest: bytes
    tokens: int

    @classmethod
    def of_jpeg(cls, jpeg: bytes, tokens: int) -> ImagePart:
        """Encode a JPEG file."""
        return cls(
            b"".join((_IMAGE_HEAD, base64.b64encode(jpeg), _IMAGE_TAIL)),
            hashlib.sha256(jpeg).digest(),
            tokens,
        )


Part = TextPart | ImagePart


class Message(NamedTuple):
    """One message.

    Attributes:
        role: who speaks.
        parts: what is said; all-text messages go out as one string, which every server takes.
        tool_calls: calls that an assistant's message makes, as OpenAI's JSON values.
        tool_call_id: the call that a tool's message answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    parts: Sequence[Part] = ()
    tool_calls: Sequence[dict[str, Any]] = ()
    tool_call_id: str = ""

    @property
    def images(self) -> int:
        """Number of page images."""
        return sum(isinstance(part, ImagePart) for part in self.parts)

    @property
    def tokens(self) -> int:
        """Estimated tokens."""
        calls = len(_encode(self.tool_calls)) if self.tool_calls else 0
        return estimate_text_tokens(calls) + sum(
            part.tokens if isinstance(part, ImagePart) else estimate_text_tokens(len(part.text))
            for part in self.parts
        )


class Wire(NamedTuple):
    """A request body as pieces: JSON text, and image parts by reference."""

    pieces: tuple[bytes | ImagePart, ...]

    def body(self) -> bytes:
        """The whole body."""
        return b"".join(piece.json if isinstance(piece, ImagePart) else piece for piece in self.pieces)

    def key(self, *context: str) -> str:
        """SHA-256 over the whole body, images by their digest, and over the context (server, sample)."""
        digest = hashlib.sha256(_encode(context))
        for piece in self.pieces:
            if isinstance(piece, ImagePart):
                digest.update(b"\0image\0" + piece.digest)
            else:
                digest.update(piece)
        return digest.hexdigest()


def wire(fields: dict[str, Any], messages: Sequence[Message]) -> Wire:
    """Encode a request: the messages, then the other fields of the body in the order given."""
    rest = _encode(fields)[1:]
    tail = b"]," + rest if fields else b"]" + rest
    return Wire((b'{"messages":[', *_messages(messages), tail))


def _messages(messages: Sequence[Message]) -> Iterator[bytes | ImagePart]:
    for number, message in enumerate(messages):
        if number:
            yield b","
        yield b'{"role":' + _encode(message.role)
        if message.tool_call_id:
            yield b',"tool_call_id":' + _encode(message.tool_call_id)
        if message.parts or not message.tool_calls:
            yield b',"content":'
            yield from _content(message.parts)
        if message.tool_calls:
            yield b',"tool_calls":' + _encode(message.tool_calls)
        yield b"}"


def _content(parts: Sequence[Part]) -> Iterator[bytes | ImagePart]:
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if len(texts) == len(parts):
        yield _encode("\n".join(texts))
        return
    yield b"["
    for number, part in enumerate(parts):
        if number:
            yield b","
        if isinstance(part, ImagePart):
            yield part
        else:
            yield _encode({"type": "text", "text": part.text})
    yield b"]"
