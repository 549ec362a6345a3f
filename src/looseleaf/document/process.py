"""`WorkerProcess`: the caller's end of the worker, with a clock on every reply."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import msgspec

from .limits import Limits
from .messages import Refused, Reply, Request, receive, send
from .refusal import Broken, Refusal

__all__ = ["WorkerLost", "WorkerProcess"]

_GOODBYE_SECONDS = 2.0
"""How long a worker may take to end after its input is closed."""

_CPU_SIGNAL = getattr(signal, "SIGXCPU", 0)

_decoder = msgspec.msgpack.Decoder(Reply)

_running: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()

R = TypeVar("R", bound=Reply)


class WorkerLost(Exception):  # noqa: N818 — never leaves this package
    """The worker is gone; the message ends a sentence that starts with the document or page."""


class WorkerProcess:
    """One running worker. Not thread-safe: `WorkerPool` lends it to one thread at a time.

    A plain child process rather than `multiprocessing`: it needs no `__main__` guard, works under
    `python -c`, pytest and notebooks, unpickles nothing, and ends by itself when its input is closed.
    """

    def __init__(self, module: str, limits: Limits) -> None:
        self._limits = limits
        self._timed_out = False
        # -P: a folder of documents that is the current directory must not supply modules.
        command = [
            sys.executable,
            "-P",
            "-m",
            module,
            msgspec.json.encode(limits).decode(),
        ]
        try:
            self._process = subprocess.Popen(  # noqa: S603 — our own module, our own interpreter
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        except OSError as error:
            raise WorkerLost(f"cannot be read, as no reader process could be started ({error})") from error
        _running.add(self)

    @property
    def alive(self) -> bool:
        """Whether the worker is still running."""
        return self._process.poll() is None

    def send(self, request: Request) -> None:
        """Send a request.

        Raises:
            WorkerLost: the worker is gone.
        """
        try:
            send(cast(BinaryIO, self._process.stdin), request)
        except OSError as error:
            raise self._lost() from error

    def receive(self, kind: type[R]) -> R:
        """Wait for a reply of this kind, at most `limits.wall_seconds`.

        Raises:
            Refusal: the file or page cannot be used; the worker is ready for the next request.
            WorkerLost: the worker died, or took too long and was killed.
        """
        clock = threading.Timer(self._limits.wall_seconds, self._expire)
        clock.daemon = True
        clock.start()
        try:
            reply = _decoder.decode(receive(cast(BinaryIO, self._process.stdout)))
        except (EOFError, OSError, msgspec.MsgspecError) as error:
            raise self._lost() from error
        finally:
            clock.cancel()
        if isinstance(reply, Refused):
            raise (Broken if reply.broken else Refusal)(reply.reason)
        if not isinstance(reply, kind):
            raise self._lost()
        return reply

    def close(self) -> None:
        """End the worker: ask by closing its input, then kill."""
        self._close_pipes()
        try:
            self._process.wait(_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the worker at once."""
        self._process.kill()  # does nothing to one that has ended
        self._process.wait()
        self._close_pipes()

    def disown(self) -> None:
        """Let go of a worker that belongs to the process this one was forked from."""
        self._close_pipes()
        self._process.returncode = 0  # else Popen would warn that it is still running

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self.kill()

    def _expire(self) -> None:
        self._timed_out = True
        self._process.kill()

    def _lost(self) -> WorkerLost:
        """What has become of the worker, which has not answered as it should."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GOODBYE_SECONDS)  # its pipe closes a moment before it has ended
        ended = self._process.returncode
        self.kill()
        if self._timed_out:
            return WorkerLost(f"took more than {self._limits.wall_seconds:g} s and was stopped")
        if ended == -_CPU_SIGNAL:
            return WorkerLost(
                f"took more than {self._limits.cpu_seconds} s of processor time and was stopped"
            )
        if ended > 0:  # a Python exception, or no such module
            return WorkerLost(f"cannot be read, as the reader process failed with code {ended}")
        memory = self._limits.memory_bytes >> 20
        return WorkerLost(f"made the page reader crash or run out of its {memory:,} MB of memory")

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # a request could not be flushed to a dead worker
                cast(BinaryIO, pipe).close()


def _environment() -> dict[str, str]:
    """Environment of the worker: it finds the modules that this process finds."""
    paths = [*filter(None, sys.path), str(Path(__file__).parents[2])]
    # A BLAS that some import brings in would take address space for each core, out of the worker's limit.
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | single


def _kill_all() -> None:
    for worker in list(_running):
        worker.kill()


def _disown_all() -> None:
    for worker in list(_running):
        worker.disown()
    _running.clear()


atexit.register(_kill_all)
if hasattr(os, "register_at_fork"):
    # A forked child must not talk through its parent's pipes, nor keep the worker alive by holding them.
    os.register_at_fork(after_in_child=_disown_all)
