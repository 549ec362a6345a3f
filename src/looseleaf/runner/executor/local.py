"""`LocalExecutor`: stages in this process; what is in flight shares its event loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from looseleaf.runner.executor.stage import Counts, Shape, Stage

__all__ = ["LocalExecutor"]


class LocalExecutor:
    """Runs one item after another; callers have as many calls in flight as they want items to be."""

    def shape(self, concurrency: int) -> Shape:
        """Every item by itself."""
        return Shape(1, concurrency)

    async def run(self, stage: Stage[Any, Any], items: Sequence[Any]) -> list[Any]:
        """The records of the items."""
        return [await stage.one(item) for item in items]

    def elsewhere(self, kind: str) -> Counts:
        """Nothing: all is done here."""
        return {}
