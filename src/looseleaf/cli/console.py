"""Consoles and progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

__all__ = ["console", "progress_bars", "safe"]

WIDTH = 110
"""Width of tables where the output is not a terminal."""


def console() -> Console:
    """Standard output; as wide as the terminal, or `WIDTH` where there is none."""
    made = Console()
    return made if made.is_terminal else Console(width=WIDTH)


def safe(text: str) -> str:
    """Text of models and documents as one line without markup and control characters."""
    from looseleaf.report.plain import printable

    return escape(printable(text))


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """A function (stage, finished, total) that draws one bar a stage on standard error; nothing without a terminal."""
    err = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    tasks: dict[str, TaskID] = {}

    def update(stage: str, finished: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bar.add_task(stage, total=total)
        bar.update(tasks[stage], completed=finished, total=total)

    with bar:
        yield update
