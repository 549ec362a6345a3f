"""A small perceptual hash of a rendered page, for finding the same page in differently made files."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image

from looseleaf.document import PageImage

__all__ = ["HASH_BYTES", "HASH_DPI", "SAME_PAGE_BITS", "distances", "page_hash"]

SIDE = 16
"""Rows and columns of the hash: 256 bits. With the usual 8 × 8 many pages of running text look the same."""

HASH_BYTES = SIDE * SIDE // 8

HASH_DPI = 36
"""Resolution at which pages are rendered for hashing: each of the 17 columns is still 18 pixels of a letter page."""

STEP = 2
"""Grey levels (of 255) by which a cell must be brighter than its left neighbour; less is rendering noise."""

FEWEST_BITS = 12
"""Set bits below which a page is (nearly) blank and has no hash, because it looks like every other blank page."""

SAME_PAGE_BITS = 10
"""Most differing bits of one page rendered twice.

On 1,544 pages of 37 real documents: 90 % of the pages rendered at 72 instead of 36 dpi differ by at most 10 bits, while
99 % of the pages are more than 12 bits away from every page of every other document.
"""


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


def distances(ours: npt.NDArray[np.uint8], theirs: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Number of bits in which one hash differs from each of several.

    Args:
        ours: one hash, shape `(HASH_BYTES,)`.
        theirs: hashes, shape `(n, HASH_BYTES)`.

    Returns:
        Shape `(n,)`.
    """
    bits: npt.NDArray[np.int64] = _BITS[np.bitwise_xor(theirs, ours)].sum(axis=1, dtype=np.int64)
    return bits


_BITS = np.array([value.bit_count() for value in range(256)], dtype=np.uint8)
