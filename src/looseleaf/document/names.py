"""Names of files as text."""

from __future__ import annotations

import os

__all__ = ["printable"]


def printable(path: str | os.PathLike[str]) -> str:
    """A path as text that can be printed and stored: bytes that are not UTF-8 become replacement characters."""
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
