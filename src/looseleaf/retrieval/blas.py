"""One BLAS thread while scores are computed.

Late interaction multiplies many small blocks. With several threads BLAS spends more time on waking and joining
them than on the products: a rerank of 100 pages took 741 ms of CPU time unpinned and 29 ms pinned. Environment
variables such as `OPENBLAS_NUM_THREADS` work only before NumPy is imported and bind the user's own code too, so
the number is set through threadpoolctl while a search runs, and put back after it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["one_blas_thread"]

_lock = threading.Lock()
_inside = 0
_limiter: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the block; blocks may nest and overlap in several threads.

    The setting belongs to the process, so the first to enter makes it and the last to leave undoes it.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _limiter
    with _lock:
        if _inside == 0:
            _limiter = _controller().limit(limits=1, user_api="blas")
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            _limiter.restore_original_limits()


@cache
def _controller() -> Any:
    """Finds the BLAS libraries of this process, once: that takes milliseconds."""
    import numpy.linalg  # noqa: F401  (the controller sees only what is loaded)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
