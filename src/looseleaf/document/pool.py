"""`WorkerPool`: a few worker processes of one kind, lent to one thread at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from .limits import Limits
from .messages import Request
from .process import WorkerProcess
from .refusal import Refusal

__all__ = ["WorkerPool"]


class WorkerPool:
    """At most `size` workers, started when they are needed; a thread that finds all of them lent waits.

    Args:
        module: module that is run as the worker.
        limits: what one request may cost.
        size: number of workers.
    """

    def __init__(self, module: str, limits: Limits, size: int) -> None:
        self.size = size
        self._module = module
        self._limits = limits
        self._idle: list[WorkerProcess] = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(size)

    @property
    def idle(self) -> tuple[WorkerProcess, ...]:
        """The workers that are running and not lent."""
        with self._lock:
            return tuple(self._idle)

    @contextlib.contextmanager
    def asking(self, request: Request) -> Iterator[WorkerProcess]:
        """Send a request and lend the worker to receive the replies.

        The worker is kept only if all that it sends has been received: a pipe that is out of step, after
        an interrupt say, would answer the next request with the last one's page.

        Raises:
            Refusal: the worker refused; it is kept.
            WorkerLost: the worker is gone.
        """
        with self._free:
            worker = self._take() or WorkerProcess(self._module, self._limits)
            try:
                worker.send(request)
                yield worker
            except Refusal:
                self._give_back(worker)
                raise
            except BaseException:
                worker.kill()
                raise
            self._give_back(worker)

    def close(self) -> None:
        """End the workers that are not lent. The pool can still be used."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def after_fork(self) -> None:
        """In a forked child: other threads may have held the locks, and the workers are the parent's."""
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self.size)
        self._idle = []

    def _take(self) -> WorkerProcess | None:
        """The worker that was used last, of those that still run."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None or worker.alive:
                return worker
            worker.kill()

    def _give_back(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._idle.append(worker)
