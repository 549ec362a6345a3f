"""`LocalStore`: one vector file a document, in the cache folder; the default store."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from looseleaf.errors import ProviderError
from looseleaf.retrieval.blas import one_blas_thread
from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.maxsim import NO_SCORE, best_first, maxsim
from looseleaf.retrieval.store import EncodeFrom, Hit, StoreError
from looseleaf.retrieval.vector_file import VectorFile, write_vector_file
from looseleaf.retrieval.vectors import Vectors

__all__ = ["CANDIDATES", "EXACT_PAGES", "LocalStore"]

EXACT_PAGES = 5_000
"""Pages up to which each one is scored exactly: 0.7 s at 747 vectors of 128 dimensions a page."""
CANDIDATES = 100
"""Pages that are scored exactly above that, the best by their mean vector."""
FEW_VECTORS = 8
"""Mean vectors a page up to which scoring all pages exactly costs no more than choosing among them."""
OPEN_FILES = 256
"""Files kept open; a folder of documents may have more."""

SUFFIX = ".vectors"


class LocalStore:
    """Vector files under `root/<encoder>/<first two digits>/`. Thread-safe.

    Args:
        root: folder of the vectors.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._open: OrderedDict[IndexKey, VectorFile] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, key: IndexKey) -> bool:
        """Whether the document's file is there, whole."""
        try:
            self._file(key)
        except (OSError, StoreError):
            return False
        return True

    def write(self, key: IndexKey, encode: EncodeFrom) -> None:
        """Write the document's file."""
        write_vector_file(self._path(key), key, encode)

    def search(self, keys: Sequence[IndexKey], query: Vectors, k: int) -> list[Hit]:
        """The best pages; above `EXACT_PAGES` pages exact among the `CANDIDATES` best by mean."""
        files = [self._file(key) for key in keys]
        if sum(len(file.counts) for file in files) > EXACT_PAGES and _many_vectors(files):
            scores = _two_stages(files, query, max(CANDIDATES, k))
        else:
            scores = [_scores(file, query) for file in files]
        whole = np.concatenate(scores) if scores else np.zeros(0, np.float32)
        places = np.repeat(np.arange(len(files)), [len(file.counts) for file in files])
        firsts = np.cumsum([0, *(len(file.counts) for file in files)])
        return [
            Hit(int(places[index]), index - int(firsts[places[index]]) + 1, float(whole[index]))
            for index in best_first(whole, k)
        ]

    def read(self, key: IndexKey, start: int) -> Iterator[Vectors]:
        """The stored vectors, page by page."""
        file = self._file(key)
        for index in range(start, len(file.counts)):
            yield file.page(index).astype(np.float32)

    def keys(self) -> list[IndexKey]:
        """Keys of all whole files under the root."""
        found = []
        for path in sorted(self.root.glob(f"*/*/*{SUFFIX}")):
            try:
                found.append(VectorFile(path).key)
            except (OSError, StoreError):
                continue
        return found

    def _path(self, key: IndexKey) -> Path:
        return self.root / key.encoder / key.document[:2] / f"{key.name}{SUFFIX}"

    def _file(self, key: IndexKey) -> VectorFile:
        with self._lock:
            file = self._open.get(key)
        if file is None:
            file = VectorFile(self._path(key))
            with suppress(OSError):  # it may be somebody else's
                os.utime(self._path(key))  # the cache removes what was not used longest
            if file.key != key:
                raise StoreError(f"{self._path(key)} holds the vectors of another document")
        with self._lock:
            self._open[key] = file
            self._open.move_to_end(key)
            while len(self._open) > OPEN_FILES:
                self._open.popitem(last=False)
        return file


def _many_vectors(files: Sequence[VectorFile]) -> bool:
    return sum(len(file.vectors) for file in files) > FEW_VECTORS * sum(len(file.counts) for file in files)


def _scores(file: VectorFile, query: Vectors) -> NDArray[np.float32]:
    if not len(file.vectors):
        return np.full(len(file.counts), NO_SCORE, np.float32)
    _check_dimension(file, query)
    return maxsim(query, file.vectors, file.counts)


def _two_stages(files: Sequence[VectorFile], query: Vectors, candidates: int) -> list[NDArray[np.float32]]:
    """Exact scores of the pages whose mean vector fits best, `NO_SCORE` for all others."""
    firsts = np.cumsum([0, *(len(file.counts) for file in files)])
    rough = np.concatenate([_rough_scores(file, query) for file in files])
    exact = np.full(len(rough), NO_SCORE, np.float32)
    with one_blas_thread():
        for index in best_first(rough, candidates):
            place = int(np.searchsorted(firsts, index, side="right")) - 1
            page = files[place].page(index - int(firsts[place]))
            exact[index] = maxsim(query, page, np.array([len(page)], dtype=np.intp))[0]
    return [exact[first:last] for first, last in pairwise(firsts)]


def _rough_scores(file: VectorFile, query: Vectors) -> NDArray[np.float32]:
    """The query's vectors against the means; the sum over them is one product."""
    if not len(file.vectors):
        return np.full(len(file.counts), NO_SCORE, np.float32)
    _check_dimension(file, query)
    return np.where(file.counts > 0, file.means @ query.sum(axis=0), NO_SCORE).astype(np.float32)


def _check_dimension(file: VectorFile, query: Vectors) -> None:
    if query.shape[1] != file.vectors.shape[1]:
        raise ProviderError(
            f"The encoder {file.key.encoder} made a query of {query.shape[1]} dimensions for pages of "
            f"{file.vectors.shape[1]}; if another model answers under this name now, give it another one."
        )
