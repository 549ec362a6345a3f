"""Content-addressed caches of what the worker yields: on disk, or in memory where no disk can be used."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Cache", "default_root"]

MEMORY_BYTES = 64 << 20
"""Bound of the cache that is kept in memory where no folder can be written."""

_CHECKSUM_BYTES = 4

_LOCKS = 4096
"""Number of lock files; two keys that share one only wait for each other."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


def default_root() -> Path | None:
    """`$LOOSELEAF_CACHE`, or `looseleaf` in the platform's folder for caches, or `None` without a home."""
    named = os.environ.get("LOOSELEAF_CACHE")
    if named:
        return Path(named)
    try:
        return _user_caches() / "looseleaf"
    except RuntimeError:  # no home directory
        return None


def _user_caches() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if Path(named).is_absolute() else Path.home() / ".cache"


class Cache:
    """Bytes by key, a key being a relative path of plain names; safe for several threads and processes.

    A file is a CRC-32 and the value. It is written beside its place and moved there, so that nobody sees
    half of it; one that is torn or damaged all the same is a miss. A folder that cannot be written costs one
    logged warning, and values are kept in memory instead, the oldest dropped first.

    Attributes:
        root: the folder, or `None` where there is none.
    """

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self._writable = root is not None
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        if root is None:
            _log.warning("There is no home directory for the cache; set LOOSELEAF_CACHE to a folder.")

    def get(self, key: str) -> bytes | None:
        """The value, or `None`."""
        with self._lock:
            held = self._memory.get(key)
        if held is not None or self.root is None:
            return held
        try:
            stored = (self.root / key).read_bytes()
        except OSError:
            return None
        value = stored[_CHECKSUM_BYTES:]
        return value if stored[:_CHECKSUM_BYTES] == _checksum(value) else None

    def decoded(self, key: str, kind: type[T]) -> T | None:
        """The value as MessagePack of this type, or `None` where there is none of this shape."""
        value = self.get(key)
        try:
            return None if value is None else msgspec.msgpack.decode(value, type=kind)
        except msgspec.MsgspecError:
            return None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value."""
        if self._writable and self.root is not None:
            try:
                _write(self.root / key, _checksum(value) + value)
                return
            except OSError as error:
                self._give_up(self.root, error.strerror or type(error).__name__)
        self.put_in_memory(key, value)

    def put_in_memory(self, key: str, value: bytes) -> None:
        """Keep a value for this process only."""
        with self._lock:
            self._memory[key] = value
            while len(self._memory) > 1 and sum(map(len, self._memory.values())) > MEMORY_BYTES:
                self._memory.popitem(last=False)

    @contextlib.contextmanager
    def lock(self, key: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold what is computed for `key` against all other threads and processes; yields whether it is held.

        The operating system lets go when a process is killed. Keys share a fixed number of lock files, as
        removing one safely would need a lock. Where files cannot be locked, only threads keep apart.

        Args:
            key: what is about to be computed.
            wait: wait for whoever holds it; else yield `False` at once.
        """
        number = zlib.crc32(key.encode()) % _LOCKS
        with _thread_lock(self._locks[number], wait) as held:
            if not held or not self._writable or self.root is None:
                yield held
                return
            with _file_lock(self.root / "locks" / f"{number:03x}", wait) as locked:
                yield locked

    def after_fork(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def _give_up(self, root: Path, why: str) -> None:
        self._writable = False
        _log.warning(
            "The cache folder %s cannot be written (%s); set LOOSELEAF_CACHE to one that can, or pages are "
            "read and rendered again in every run.",
            root,
            why,
        )


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


def _checksum(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(_CHECKSUM_BYTES, "big")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
