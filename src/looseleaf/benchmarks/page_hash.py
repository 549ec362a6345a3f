"""A small perceptual hash of a rendered page, for finding the same page in differently made files."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image

from looseleaf.document import PageImage

__all__ = ["HASH_BYTES", "HASH_DPI", "differences", "page_hash"]

SIDE = 16
"""Rows and columns of the hash: 256 bits. With the usual 8 × 8 many pages of running text look the same."""

HASH_BYTES = SIDE * SIDE // 8

HASH_DPI = 36
"""Resolution at which pages are rendered for hashing: each of the 17 columns is still 18 pixels of a letter page."""

STEP = 2
"""Grey levels (of 255) by which a cell must be brighter than its left neighbour; less is rendering noise."""

FEWEST_BITS = 20
"""Set bits below which a page is nearly blank and has no hash, because it looks like other nearly blank pages."""


def page_hash(image: PageImage) -> npt.NDArray[np.uint8] | None:
    """The difference hash of a page: whether each cell is brighter than its left neighbour.

    Source of the idea: Neal Krawetz, "Kind of Like That" (hackerfactor.com, 2013), there with 8 × 8 bits.

    Returns:
        `HASH_BYTES` bytes, or `None` for a page that is nearly blank.
    """
    with Image.open(io.BytesIO(image.jpeg)) as page:
        small = page.convert("L").resize((SIDE + 1, SIDE), Image.Resampling.BOX)
    cells = np.asarray(small, dtype=np.int16)
    bits = cells[:, 1:] > cells[:, :-1] + STEP
    return np.packbits(bits) if int(bits.sum()) >= FEWEST_BITS else None


def differences(ours: npt.NDArray[np.uint8], theirs: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """How much one hash differs from each of several: differing bits as a share of the bits set in either.

    The share, not the number, because sparse pages have few set bits.

    Args:
        ours: one hash, shape `(HASH_BYTES,)`.
        theirs: hashes, shape `(n, HASH_BYTES)`.

    Returns:
        Shape `(n,)`, from 0 (equal) to 1 (no set bit in common).
    """
    differing = _BITS[np.bitwise_xor(theirs, ours)].sum(axis=1, dtype=np.float64)
    either = _BITS[np.bitwise_or(theirs, ours)].sum(axis=1, dtype=np.float64)
    shares: npt.NDArray[np.float64] = np.divide(
        differing, either, out=np.zeros_like(differing), where=either > 0
    )
    return shares


_BITS = np.array([value.bit_count() for value in range(256)], dtype=np.uint8)
