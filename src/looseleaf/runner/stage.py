"""One resumable stage: work items, a bounded number in flight, a row appended for each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from looseleaf.runner.executor import Executor, Stage
from looseleaf.runner.interrupt import Interrupt
from looseleaf.runstore import Ledger

__all__ = ["StageProgress", "grouped", "work_off", "work_off_stage"]

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

    async def alone(group: Sequence[Item]) -> list[Record]:
        return [await work(item) for item in group]

    await _work_off(name, [[item] for item in items], alone, ledger, concurrency, progress)


async def work_off_stage(
    name: str,
    items: Sequence[Any],
    stage: Stage[Any, Any],
    ledger: Ledger[Any],
    executor: Executor,
    *,
    concurrency: int,
    progress: StageProgress | None = None,
) -> None:
    """The same with a stage, wherever the executor runs it.

    Raises:
        KeyboardInterrupt: as for `work_off`.
        UserError: a setting cannot work where the stage runs.
    """
    shape = executor.shape(concurrency)

    async def there(group: Sequence[Any]) -> list[Any]:
        return await executor.run(stage, group)

    groups = grouped(items, shape.group)
    await _work_off(name, groups, there, ledger, shape.groups, progress)


def grouped(
    items: Iterable[Item], size: int, alike: Callable[[Item], Hashable] = lambda _: None
) -> list[list[Item]]:
    """Groups of at most so many items that are alike, in order of their first items.

    Args:
        items: what is grouped.
        size: most items of a group; groups of one keep the order of the items.
        alike: what the items of a group share.
    """
    if size == 1:
        return [[item] for item in items]
    by_key: dict[Hashable, list[Item]] = {}
    for item in items:
        by_key.setdefault(alike(item), []).append(item)
    return [same[at : at + size] for same in by_key.values() for at in range(0, len(same), size)]


async def _work_off(
    name: str,
    groups: Sequence[Sequence[Item]],
    work: Callable[[Sequence[Item]], Awaitable[Sequence[Record]]],
    ledger: Ledger[Record],
    concurrency: int,
    progress: StageProgress | None,
) -> None:
    finished, total = 0, sum(map(len, groups))

    async def worker(queue: Iterator[Sequence[Item]]) -> None:
        nonlocal finished
        for group in queue:
            if interrupt.asked:
                return
            for record in await work(group):
                ledger.append(record)
                finished += 1
                if progress:
                    progress(name, finished, total)

    queue = iter(groups)
    interrupt = Interrupt()
    with interrupt.listening():
        await asyncio.gather(*(worker(queue) for _ in range(min(concurrency, len(groups)))))
    if interrupt.asked:
        raise KeyboardInterrupt
