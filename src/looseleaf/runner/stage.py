"""One resumable stage: work items, a bounded number in flight, a row appended for each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from looseleaf.runner.interrupt import Interrupt
from looseleaf.runstore import Ledger

__all__ = ["StageProgress", "work_off"]

Item = TypeVar("Item")
Record = TypeVar("Record", bound=msgspec.Struct)
StageProgress = Callable[[str, int, int], None]
"""Called with (stage name, finished, total)."""


async def work_off(
    name: str,
    items: Sequence[Item],
    work: Callable[[Item], Awaitable[Record]],
    ledger: Ledger[Record],
    *,
    concurrency: int,
    progress: StageProgress | None = None,
) -> None:
    """Turn every item into a row and append it as soon as it is there.

    An interrupt finishes what is in flight and then ends the stage; a second one aborts.

    Args:
        name: of the stage, for progress.
        items: what is not finished yet.
        work: makes the row of one item; faults must become rows, not exceptions.
        ledger: where the rows go.
        concurrency: items in flight.
        progress: called after every item.

    Raises:
        KeyboardInterrupt: the user interrupted the stage; what was in flight is in the ledger.
    """
    finished = 0

    async def worker(queue: Iterator[Item]) -> None:
        nonlocal finished
        for item in queue:
            if interrupt.asked:
                return
            ledger.append(await work(item))
            finished += 1
            if progress:
                progress(name, finished, len(items))

    queue = iter(items)
    interrupt = Interrupt()
    with interrupt.listening():
        await asyncio.gather(*(worker(queue) for _ in range(min(concurrency, len(items)))))
    if interrupt.asked:
        raise KeyboardInterrupt
