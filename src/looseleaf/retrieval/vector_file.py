"""`VectorFile`: the vectors of one document in one memory-mapped file, in half precision.

```
magic and version   8 bytes
dimension, vectors, pages, bytes of the key   4 × 8 bytes, little-endian
padding to 64 bytes
vectors             float16, row by row, page by page
counts              uint32 a page
means               float32, one vector a page
key                 JSON of the `IndexKey`
```

A file under its own name is whole: it is written under another one, forced to the disk, and renamed. While it is
written, a journal beside it holds for each finished page its number of vectors and their checksum, so that a writer
that was killed is followed by one that goes on where it stopped.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.store import EncodeFrom, StoreError
from looseleaf.retrieval.vectors import Halves, Vectors, as_vectors

__all__ = ["VectorFile", "write_vector_file"]

MAGIC = b"LLVEC\x00\x00\x01"
"""The last byte is the version of the layout."""
HEADER = struct.Struct("<8s4Q")
HEADER_BYTES = 64
"""Room of the header: vectors start on a cache line."""
JOURNAL = struct.Struct("<3I")
"""A finished page: number of vectors, dimension, CRC-32 of their bytes."""
HALF_BYTES = 2


class VectorFile:
    """A whole file, opened for reading.

    Attributes:
        key: whose vectors.
        vectors: all of them, (number, dimension), mapped and not read.
        counts: number of vectors of each page.
        means: mean vector of each page, mapped; zero for a page without vectors.

    Raises:
        StoreError: the file is torn or foreign.
        OSError: there is no such file.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            dimension, vectors, pages, key_bytes = _read_header(file)
        after_vectors = HEADER_BYTES + vectors * dimension * HALF_BYTES
        after_counts = after_vectors + 4 * pages
        after_means = after_counts + 4 * pages * dimension
        if path.stat().st_size != after_means + key_bytes:
            raise StoreError(f"{path} has not the size that it declares")
        whole = np.memmap(path, dtype=np.uint8, mode="r")
        self.vectors: Halves = (
            whole[HEADER_BYTES:after_vectors].view(np.float16).reshape(vectors, dimension).view(np.ndarray)
        )
        self.counts: NDArray[np.intp] = whole[after_vectors:after_counts].view(np.uint32).astype(np.intp)
        self.means: Vectors = (
            whole[after_counts:after_means].view(np.float32).reshape(pages, dimension).view(np.ndarray)
        )
        self.starts: NDArray[np.intp] = np.cumsum(self.counts) - self.counts
        if int(self.counts.sum()) != vectors:
            raise StoreError(f"{path} holds another number of vectors than it declares")
        try:
            self.key = msgspec.json.decode(bytes(whole[after_means:]), type=IndexKey)
        except msgspec.MsgspecError as problem:
            raise StoreError(f"{path} has no key") from problem

    def page(self, index: int) -> Halves:
        """Vectors of the page with this 0-based index."""
        start = self.starts[index]
        return self.vectors[start : start + self.counts[index]]


def _read_header(file: BinaryIO) -> tuple[int, int, int, int]:
    start = file.read(HEADER.size)
    if len(start) != HEADER.size or not start.startswith(MAGIC):
        raise StoreError(f"{file.name} is no vector file of this version")
    dimension, vectors, pages, key_bytes = HEADER.unpack(start)[1:]
    return dimension, vectors, pages, key_bytes


def write_vector_file(path: Path, key: IndexKey, encode: EncodeFrom) -> None:
    """Encode what an earlier writer did not finish, and move the whole file to its place.

    The caller holds a lock on the key, so that nobody else writes the parts.

    Raises:
        ValueError: the encoder returned something that cannot be stored.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    parts, journal = path.with_suffix(".part"), path.with_suffix(".journal")
    with ExitStack() as open_files:
        data, log = (open_files.enter_context(_opened(name)) for name in (parts, journal))
        writer = _Writer(key, data, log)
        for page in encode(len(writer.counts)):
            writer.add(page)
        writer.finish()
    parts.replace(path)
    _sync_folder(path.parent)
    journal.unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO:
    path.touch()
    return path.open("r+b")


class _Writer:
    """Appends pages to the parts of a file, after taking over what is whole of an earlier writer's."""

    def __init__(self, key: IndexKey, data: BinaryIO, log: BinaryIO) -> None:
        self._key = key
        self._data = data
        self._log = log
        self._dimension = 0
        self.counts: list[int] = []
        self._means: list[Vectors] = []
        data.seek(HEADER_BYTES)
        for count, dimension, checksum in _journal(log):
            content = data.read(count * dimension * HALF_BYTES)
            if len(content) != count * dimension * HALF_BYTES or zlib.crc32(content) != checksum:
                break
            self._take(np.frombuffer(content, np.float16).reshape(count, dimension))
        data.seek(HEADER_BYTES + sum(self.counts) * self._dimension * HALF_BYTES)
        data.truncate()
        log.seek(len(self.counts) * JOURNAL.size)
        log.truncate()

    def _take(self, halves: Halves) -> None:
        if len(halves):
            if self._dimension and halves.shape[1] != self._dimension:
                raise ValueError(
                    f"vectors of {halves.shape[1]} and {self._dimension} dimensions in one document"
                )
            self._dimension = halves.shape[1]
        self.counts.append(len(halves))
        self._means.append(halves.mean(axis=0, dtype=np.float32) if len(halves) else np.zeros(0, np.float32))

    def add(self, page: Vectors) -> None:
        """Append a page, and note it once its vectors are with the operating system."""
        halves = (
            np.ascontiguousarray(as_vectors(page), dtype=np.float16)
            if len(page)
            else np.zeros((0, 0), np.float16)
        )
        self._take(halves)
        content = halves.tobytes()
        self._data.write(content)
        self._data.flush()
        self._log.write(JOURNAL.pack(len(halves), halves.shape[1], zlib.crc32(content)))
        self._log.flush()

    def finish(self) -> None:
        """Write the rest and the header, and force all to the disk."""
        if len(self.counts) != self._key.pages:
            raise ValueError(f"{len(self.counts)} pages were encoded of {self._key.pages}")
        key = msgspec.json.encode(self._key)
        self._data.write(np.asarray(self.counts, dtype=np.uint32).tobytes())
        for mean in self._means:
            self._data.write((mean if len(mean) else np.zeros(self._dimension, np.float32)).tobytes())
        self._data.write(key)
        self._data.seek(0)
        header = HEADER.pack(MAGIC, self._dimension, sum(self.counts), len(self.counts), len(key))
        self._data.write(header.ljust(HEADER_BYTES, b"\0"))
        self._data.flush()
        os.fsync(self._data.fileno())


def _journal(log: BinaryIO) -> Iterator[tuple[int, int, int]]:
    whole = log.read()
    usable = len(whole) - len(whole) % JOURNAL.size
    yield from JOURNAL.iter_unpack(whole[:usable])


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
