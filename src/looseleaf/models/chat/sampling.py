"""Which sample of a question is being made: its seed and number, for every model call made on its behalf."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

__all__ = ["Sample", "current_sample", "sampling"]


class Sample(NamedTuple):
    """A sample's seed (sent to servers that take one) and 0-based number (part of the response cache's key)."""

    seed: int | None = None
    number: int = 0


NO_SAMPLE = Sample()
_current: ContextVar[Sample] = ContextVar("looseleaf_sample", default=NO_SAMPLE)


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
