"""`Stage`: one kind of work, the same object whoever runs it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

__all__ = ["Counts", "Item", "Record", "Shape", "Stage"]

Item = TypeVar("Item", contravariant=True)
Record = TypeVar("Record", covariant=True)

Counts = dict[str, Any]
"""Numbers by name, nested; `looseleaf.runner.executor.counting` subtracts and adds them."""


class Shape(NamedTuple):
    """How items are handed out.

    Attributes:
        group: items that go out together, at most.
        groups: groups in flight, at most.
    """

    group: int
    groups: int


class Stage(Protocol[Item, Record]):
    """Turns items into records, one by one. Items and records are what msgspec can encode."""

    @property
    def kind(self) -> str:
        """Its name in `looseleaf.runner.executor.kinds`."""

    def context(self) -> bytes:
        """All that another process makes the same stage from, as JSON."""

    async def one(self, item: Item) -> Record:
        """The record of one item. Faults become records; only mistakes of the user are raised."""

    def failed(self, item: Item, why: str) -> Record:
        """The record of an item whose process was lost too often."""

    def counts(self) -> Counts:
        """What has been done in this process so far."""
