"""On whose behalf model calls are made: which sample of a question, its seed, and which document it is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

__all__ = ["Sample", "about", "current_document", "current_sample", "sampling"]


class Sample(NamedTuple):
    """A sample's seed (sent to servers that take one) and 0-based number (part of the response cache's key)."""

    seed: int | None = None
    number: int = 0


NO_SAMPLE = Sample()
_current: ContextVar[Sample] = ContextVar("looseleaf_sample", default=NO_SAMPLE)


_document: ContextVar[str] = ContextVar("looseleaf_document", default="")


def current_sample() -> Sample:
    """The sample in force in this task."""
    return _current.get()


@contextmanager
def sampling(seed: int | None, number: int = 0) -> Iterator[None]:
    """Make model calls inside the block for this sample. Tasks do not see each other's."""
    token = _current.set(Sample(seed, number))
    try:
        yield
    finally:
        _current.reset(token)


def current_document() -> str:
    """The document that calls in this task are about; empty where nobody said."""
    return _document.get()


@contextmanager
def about(document: str) -> Iterator[None]:
    """Make model calls inside the block about this document, which several servers are chosen by (`ChatServers`).

    Args:
        document: any name that is the document's own; no result depends on it.
    """
    token = _document.set(document)
    try:
        yield
    finally:
        _document.reset(token)
