"""The arrays that retrievers work with, and the one precision in which vectors are kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Halves", "Vectors", "as_vectors", "widened"]

Vectors = NDArray[np.float32]
"""Vectors in rows: (number, dimension)."""

Halves = NDArray[np.float16]
"""Vectors as they are stored."""

_MANTISSA_SHIFT = 23 - 10
"""Bits by which a half's mantissa and exponent move to become those of a single (IEEE 754, 3.6)."""
_SIGN_AND_MAGNITUDE = np.int32(-0x7000_2000)
"""0x8FFFE000: clears the copies of the sign bit that widening the integer leaves between sign and exponent."""
_BIAS = np.float32(2.0 ** (127 - 15))
"""The exponents' biases differ by 112; as a product it also makes subnormal halves normal."""


def as_vectors(given: object) -> Vectors:
    """Rows of float32 from whatever an encoder returns.

    Raises:
        ValueError: it is not an array of rows, or a value is not finite or too large for half precision.
    """
    rows = np.atleast_2d(np.asarray(given, dtype=np.float32))
    if rows.ndim != 2:
        raise ValueError(f"an array of {rows.ndim} dimensions is no list of vectors")
    if rows.size and not np.abs(rows).max() <= np.finfo(np.float16).max:
        raise ValueError("a vector holds a value that is not finite or too large")
    return rows


def widened(stored: Halves | Vectors, room: Vectors) -> Vectors:
    """Stored vectors as float32, in `room` where they must be converted.

    NumPy converts halves one at a time; on whole arrays of integers the same takes a quarter of the time, which is
    then less than the matrix product that follows. Exact for all finite halves.

    Args:
        stored: (number, dimension); must be contiguous.
        room: at least as many rows.
    """
    if stored.dtype == np.float32:
        return np.asarray(stored, dtype=np.float32)
    single = room[: len(stored)]
    bits = single.view(np.int32)
    bits[...] = stored.view(np.int16)
    np.left_shift(bits, _MANTISSA_SHIFT, out=bits)
    np.bitwise_and(bits, _SIGN_AND_MAGNITUDE, out=bits)
    np.multiply(single, _BIAS, out=single)
    return single
