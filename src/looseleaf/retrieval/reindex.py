"""Replaying stored vectors into another store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from looseleaf.errors import ConfigError
from looseleaf.retrieval.store import VectorStore

__all__ = ["Replayed", "replay"]


class Replayed(NamedTuple):
    """What was done: documents copied, documents that were there already, and pages of both."""

    copied: int
    held: int
    pages: int


def replay(
    source: VectorStore,
    target: VectorStore,
    *,
    encoder: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Replayed:
    """Copy what the target does not hold, page by page.

    Args:
        source: where vectors are read.
        target: where they go.
        encoder: only encoders whose id begins like this.
        progress: called with (finished, all) after each document.

    Raises:
        ConfigError: there is nothing to copy.
        ProviderError: a store failed; the next call goes on from there.
    """
    keys = [key for key in source.keys() if key.encoder.startswith(encoder)]  # noqa: SIM118  (a store is no dict)
    if not keys:
        raise ConfigError("There are no stored vectors to copy; search with a vector retriever first.")
    copied = 0
    for finished, key in enumerate(keys, start=1):
        if not target.has(key):
            target.write(key, partial(source.read, key))
            copied += 1
        if progress:
            progress(finished, len(keys))
    return Replayed(copied, len(keys) - copied, sum(key.pages for key in keys))
