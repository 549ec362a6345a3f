"""Content-addressed caches of what the worker yields: on disk, or in memory where no disk can be used."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from looseleaf.errors import ConfigError

from .cache_folder import CacheFolder
from .locks import Locks
from .remote import RemoteFolder, is_url

__all__ = ["Cache", "CachePlace", "cache_place", "default_cache", "default_root", "write_atomically"]

MEMORY_BYTES = 64 << 20
"""Bound of the cache that is kept in memory where no folder can be written."""

CHECK_BYTES = 512 << 20
"""Bytes that a process writes between two looks at the size of the folder."""

DAY_SECONDS = 86_400.0
"""After so long without a look, the first process that writes takes one."""

TOUCH_SECONDS = 3600.0
"""How exact the time of last use is."""

_CHECKSUM_BYTES = 4

T = TypeVar("T")

_log = logging.getLogger(__name__)


class CachePlace(NamedTuple):
    """Where a cache is.

    Attributes:
        root: folder on this machine, or `None` where there is none.
        remote: address of a cache that other machines share, behind the folder; empty without one.
    """

    root: Path | None
    remote: str = ""

    @property
    def word(self) -> str:
        """What `cache_place` makes the same place from, on this machine or on another one."""
        return self.remote or str(self.root or "")


def cache_place(word: str = "") -> CachePlace:
    """The place of that word.

    Args:
        word: a folder; an address like `s3://bucket/folder`, whose folder on this machine is `$LOOSELEAF_CACHE_LOCAL`
            or the default one; by default what `$LOOSELEAF_CACHE` says.

    Raises:
        ConfigError: an address holds a key; it is not repeated.
    """
    word = word or os.environ.get("LOOSELEAF_CACHE", "")
    if is_url(word):
        if "@" in urlsplit(word).netloc:
            raise ConfigError(
                "The address of the cache must hold no user or password; S3 keys come from the environment "
                "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)."
            )
        local = os.environ.get("LOOSELEAF_CACHE_LOCAL")
        return CachePlace(Path(local) if local else _platform_root(), word)
    return CachePlace(Path(word) if word else _platform_root())


def default_root() -> Path | None:
    """`$LOOSELEAF_CACHE`, or `looseleaf` in the platform's folder for caches, or `None` without a home.

    Where `$LOOSELEAF_CACHE` is an address, the folder on this machine that lies before it.
    """
    return cache_place().root


def default_cache() -> Cache:
    """The cache in the default place."""
    return Cache.at(cache_place())


def _platform_root() -> Path | None:
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

    With a remote cache behind it, what the folder does not hold is looked for there and kept in the folder, and what is
    put goes to both.

    Args:
        root: the folder, or `None` where there is none.
        remote: address of a cache that other machines share (`RemoteFolder`).

    Attributes:
        root: the folder, or `None` where there is none.
        remote: what lies behind it, or `None`.
    """

    def __init__(self, root: Path | None, remote: str = "") -> None:
        self.root = root
        self.remote = RemoteFolder(remote) if remote else None
        self._writable = root is not None
        self._unchecked: int | None = None
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._locks = Locks(root and root / "locks")
        if root is None:
            _log.warning("There is no home directory for the cache; set LOOSELEAF_CACHE to a folder.")

    @classmethod
    def at(cls, place: CachePlace) -> Cache:
        """The cache in a place."""
        return cls(place.root, place.remote)

    @property
    def place(self) -> CachePlace:
        """Where it is."""
        return CachePlace(self.root, self.remote.url if self.remote else "")

    def get(self, key: str) -> bytes | None:
        """The value, or `None`."""
        with self._lock:
            held = self._memory.get(key)
        if held is not None:
            return held
        value = self._from_folder(key)
        return self._from_remote(key) if value is None and self.remote is not None else value

    def _from_folder(self, key: str) -> bytes | None:
        if self.root is None:
            return None
        try:
            return _checked(_read(self.root / key))
        except OSError:
            return None

    def _from_remote(self, key: str) -> bytes | None:
        """The value of the remote cache, from now on in the folder too."""
        stored = self.remote.get(key) if self.remote is not None else None
        value = None if stored is None else _checked(stored)
        if value is not None:
            self._put_here(key, value)
        return value

    def decoded(self, key: str, kind: type[T]) -> T | None:
        """The value as MessagePack of this type, or `None` where there is none of this shape."""
        value = self.get(key)
        try:
            return None if value is None else msgspec.msgpack.decode(value, type=kind)
        except msgspec.MsgspecError:
            return None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value, here and in the remote cache if there is one."""
        self._put_here(key, value)
        if self.remote is not None:
            self.remote.put(key, _checksum(value) + value)

    def _put_here(self, key: str, value: bytes) -> None:
        if self._writable and self.root is not None:
            try:
                write_atomically(self.root / key, _checksum(value) + value)
                self._check_size(self.root, len(value))
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

        Args:
            key: what is about to be computed.
            wait: wait for whoever holds it; else yield `False` at once.
        """
        with self._locks.hold(key, wait) as held:
            yield held

    def after_fork(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        self._locks = Locks(self.root and self.root / "locks")
        if self.remote is not None:
            self.remote.after_fork()

    def _check_size(self, root: Path, written: int) -> None:
        """Every so many bytes, and once a day, see whether the folder has outgrown its limit."""
        with self._lock:
            first = self._unchecked is None
            self._unchecked = written + (self._unchecked or 0)
            due = self._unchecked >= CHECK_BYTES
            self._unchecked = 0 if due else self._unchecked
        folder = CacheFolder(root)
        if due or (first and folder.unchecked_seconds > DAY_SECONDS):
            folder.trim()

    def _give_up(self, root: Path, why: str) -> None:
        self._writable = False
        _log.warning(
            "The cache folder %s cannot be written (%s); set LOOSELEAF_CACHE to one that can, or pages are "
            "read and rendered again in every run.",
            root,
            why,
        )


def _checksum(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(_CHECKSUM_BYTES, "big")


def _checked(stored: bytes) -> bytes | None:
    """The value behind its checksum, or `None` where it is torn or damaged."""
    value = stored[_CHECKSUM_BYTES:]
    return value if stored[:_CHECKSUM_BYTES] == _checksum(value) else None


def _read(path: Path) -> bytes:
    """A file's bytes; now and then its time is set, as the files that were not used longest go first."""
    with path.open("rb") as file:
        if time.time() - os.fstat(file.fileno()).st_mtime > TOUCH_SECONDS:
            with contextlib.suppress(OSError):  # it may be somebody else's
                os.utime(path)
        return file.read()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that nobody sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
