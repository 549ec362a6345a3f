"""`Ledger`: an append-only JSON-lines file, safe against kill -9."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from looseleaf.errors import RunError
from looseleaf.runstore.files import readable, writable
from looseleaf.trajectory import storable_value

__all__ = ["Ledger", "Record"]

Record = TypeVar("Record", bound=msgspec.Struct)


class Ledger(Generic[Record]):
    """One append-only JSON-lines file of one record type; `key` tells rows apart and the last one wins."""

    def __init__(self, path: Path, record_type: type[Record], *, fsync: bool = False) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(record_type)
        self._fsync = fsync
        self._descriptor: int | None = None

    def read(self) -> Iterator[Record]:
        """All whole records, oldest first; a torn last line is passed over.

        Raises:
            RunError: a line in the middle of the file cannot be read.
        """
        if not self.path.exists():
            return
        with readable(self.path):
            lines = self.path.open("rb")
        with lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    return
                if line.strip():
                    yield self._decode(line, number)

    def read_last(
        self, key: Callable[[Any], str], key_type: type[msgspec.Struct] | None = None
    ) -> Iterator[Record]:
        """The last whole record of each key, in the order in which these stand; one record in memory at a time.

        Resuming appends a second record where the first one ended on a fault. The file is read once for the keys, of
        which eight bytes a record are kept, and once for the records.

        Args:
            key: identity of a record; of a `key_type` where one is given.
            key_type: the fields that `key` needs, which are read faster than whole records.

        Raises:
            RunError: a line in the middle of the file cannot be read.
        """
        keys = self if key_type is None else Ledger(self.path, key_type)
        hashes = np.fromiter((hash(key(record)) for record in keys.read()), dtype=np.int64)
        values, counts = np.unique(hashes, return_counts=True)
        repeated = frozenset(values[counts > 1].tolist())
        last: dict[str, int] = {}
        if repeated:
            for number, record in enumerate(keys.read()):
                if hash(name := key(record)) in repeated:
                    last[name] = number
        for number, whole in enumerate(self.read()):
            if not repeated or last.get(key(whole), number) == number:
                yield whole

    def _decode(self, line: bytes, number: int) -> Record:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise RunError(
                f"Line {number} of {self.path} cannot be read ({problem}); repair or remove that line and try again."
            ) from problem

    def append(self, record: Record) -> None:
        """Write one record with a single `O_APPEND` write, and fsync it if the ledger says so."""
        if self._descriptor is None:
            self._open()
        line = self._encoded(record) + b"\n"
        assert self._descriptor is not None
        _write_whole(self._descriptor, line, self.path)
        if self._fsync:
            os.fsync(self._descriptor)

    def _encoded(self, record: msgspec.Struct) -> bytes:
        try:
            return self._encoder.encode(record)
        except (UnicodeEncodeError, OverflowError, RecursionError):  # what a model said cannot stop a run
            return self._encoder.encode(storable_value(msgspec.to_builtins(record)))

    def _open(self) -> None:
        with writable(self.path, "choose another --out"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            _drop_torn_line(self._descriptor)

    def close(self) -> None:
        """Flush to disk and close."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None


def _write_whole(descriptor: int, line: bytes, path: Path) -> None:
    with writable(path, "free some space and run the same command again"):
        written = os.write(descriptor, line)
    if written != len(line):
        # Whoever still has a record in flight must not append it to half a line.
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
        raise RunError(f"The disk that holds {path} is full; free some space and run the same command again.")


def _drop_torn_line(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    end = size
    block = 65536
    while end > 0:
        start = max(0, end - block)
        chunk = os.pread(descriptor, end - start, start)
        newline = chunk.rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end != size:
        os.ftruncate(descriptor, end)
