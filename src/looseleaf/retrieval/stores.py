"""Stores by one word: `local`, or `qdrant:` and where it is."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from looseleaf.document.cache import default_root
from looseleaf.errors import ConfigError
from looseleaf.retrieval.local_store import LocalStore
from looseleaf.retrieval.store import VectorStore

__all__ = ["LOCAL", "open_store", "vector_root"]

LOCAL = "local"


@cache
def open_store(word: str, root: Path) -> VectorStore:
    """The store of that word, one for the whole process.

    Args:
        word: `local`, `qdrant:memory`, `qdrant:FOLDER` or `qdrant:http://HOST:6333`.
        root: folder of the local store.

    Raises:
        ConfigError: there is no such store.
    """
    if word == LOCAL:
        return LocalStore(root)
    kind, _, where = word.partition(":")
    if kind == "qdrant":
        from looseleaf.retrieval.qdrant_store import QdrantStore

        return QdrantStore(where)
    raise ConfigError(f"There is no store {word!r}; use local, qdrant:FOLDER or qdrant:http://HOST:6333.")


def vector_root() -> Path:
    """`vectors` in the cache folder; where there is none, a folder that ends with the process."""
    root = default_root()
    return root / "vectors" if root is not None else _temporary_root()


@cache
def _temporary_root() -> Path:
    return Path(_temporary_folder().name)


@cache
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="looseleaf-vectors-")
