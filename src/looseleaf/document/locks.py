"""`Locks`: one computation of a thing at a time, among all threads and processes that share a folder."""

from __future__ import annotations

import contextlib
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Locks"]

_COUNT = 4096
"""Number of lock files; two keys that share one only wait for each other."""


class Locks:
    """Locks by key. The operating system lets go of those of a process that is killed.

    Keys share a fixed number of files, as removing one safely would need a lock. Where files cannot be
    locked, only threads keep apart.

    Args:
        folder: where the lock files are, or `None` for threads only.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._threads = [threading.Lock() for _ in range(_COUNT)]

    @contextlib.contextmanager
    def hold(self, key: str, wait: bool) -> Iterator[bool]:
        """Hold a key against everybody else; yields whether it is held, which is sure if `wait`."""
        number = zlib.crc32(key.encode()) % _COUNT
        with _thread_lock(self._threads[number], wait) as held:
            if not held or self._folder is None:
                yield held
                return
            with _file_lock(self._folder / f"{number:03x}", wait) as locked:
                yield locked


@contextlib.contextmanager
def _thread_lock(lock: threading.Lock, wait: bool) -> Iterator[bool]:
    held = lock.acquire(blocking=wait)
    try:
        yield held
    finally:
        if held:
            lock.release()


@contextlib.contextmanager
def _file_lock(path: Path, wait: bool) -> Iterator[bool]:
    try:
        file = _open_locked(path, wait)
    except BlockingIOError:
        yield False
        return
    with file or contextlib.nullcontext():
        yield True


def _open_locked(path: Path, wait: bool) -> BinaryIO | None:
    """A lock file that this process holds until it is closed; `None` where there are no such locks.

    Raises:
        BlockingIOError: somebody else holds it, and `wait` is false.
    """
    if fcntl is None:
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError:  # not writable: `put` will say so
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        file.close()
        raise
    except OSError:  # a file system without locks
        file.close()
        return None
    return file
