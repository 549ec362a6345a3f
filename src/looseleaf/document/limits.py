"""`Limits`: what one request may cost before the worker is stopped."""

from __future__ import annotations

import msgspec

__all__ = [
    "MAX_PAGES",
    "MAX_PAGE_CHARACTERS",
    "MAX_PIXELS",
    "MAX_SIDE",
    "Limits",
]

MAX_PIXELS = 40_000_000
"""Largest rendered page in pixels: 120 MB as RGB, whatever page box the file declares."""

MAX_SIDE = 16_384
"""Largest side of a rendered page in pixels (JPEG itself ends at 65,535)."""

MAX_PAGES = 20_000
"""Most pages of one document; a file may claim a million pages in a few hundred bytes."""

MAX_PAGE_CHARACTERS = 2_000_000
"""Most characters in the text layer of one page."""


class Limits(msgspec.Struct, frozen=True):
    """What one request may cost; a page that costs more is refused, and the next request is unharmed.

    Attributes:
        wall_seconds: wall-clock time for one page. The slowest of 465 real pages took 0.33 s.
        cpu_seconds: processor time for one page, where the platform can limit it.
        memory_bytes: address space of the worker, where the platform can limit it. 465 real pages took 90 MB of
            memory; the largest page that is rendered takes 400 MB.
        lost_pages: pages of one document that may exceed the limits before the document is refused.
    """

    wall_seconds: float = 60.0
    cpu_seconds: int = 20
    memory_bytes: int = 900 << 20
    lost_pages: int = 3
