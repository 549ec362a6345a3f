"""`Interrupt`: the first Ctrl-C finishes what is in flight, the second one aborts."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Interrupt"]


class Interrupt:
    """Whether the user asked to stop.

    Attributes:
        asked: set by the first interrupt inside `listening`.
    """

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the first interrupt as a wish to stop; from then on an interrupt is Python's own again."""
        loop = asyncio.get_running_loop()

        def stop() -> None:
            self.asked = True
            loop.remove_signal_handler(signal.SIGINT)

        try:
            loop.add_signal_handler(signal.SIGINT, stop)
        except (NotImplementedError, RuntimeError, ValueError):  # not the main thread, or not a Unix
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
