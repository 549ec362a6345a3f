"""Which model answered: the name that the server puts into its replies, often dated where the request's was not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["heard", "hearing"]

_listening: ContextVar[list[str] | None] = ContextVar("looseleaf_heard", default=None)


@contextmanager
def hearing() -> Iterator[list[str]]:
    """Names of the models that answer inside the block, in order; other tasks' are not among them."""
    names: list[str] = []
    token = _listening.set(names)
    try:
        yield names
    finally:
        _listening.reset(token)


def heard(model: str) -> None:
    """Note that this model has answered; an empty name says nothing."""
    names = _listening.get()
    if names is not None and model:
        names.append(model)
