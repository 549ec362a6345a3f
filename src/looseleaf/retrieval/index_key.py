"""`IndexKey`: which vectors of which document, whatever store holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

__all__ = ["DIGEST_HEX", "IndexKey", "digest"]

DIGEST_HEX = 16
"""Hexadecimal digits of a digest inside a name: 64 bits, beyond any chance of a collision in one folder."""


class IndexKey(msgspec.Struct, frozen=True):
    """What vectors depend on; equal keys mean equal vectors.

    Attributes:
        document: sha256 of the document.
        encoder: id of the encoder with all its settings.
        content: digest of what the encoder saw of the pages: their texts, or how they were rendered. Text may change
            with the way it is extracted while the file stays the same.
        pages: number of pages.
    """

    document: str
    encoder: str
    content: str
    pages: int

    @property
    def name(self) -> str:
        """Name of the document's index among those of one encoder."""
        return f"{self.document}-{self.content}"


def digest(parts: Iterable[str]) -> str:
    """A short hash of strings, each kept apart from the next."""
    sha = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        sha.update(len(encoded).to_bytes(8, "big") + encoded)
    return sha.hexdigest()[:DIGEST_HEX]
