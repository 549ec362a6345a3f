"""`dice`: the generator of every random choice, seeded by text."""

from __future__ import annotations

from random import Random

__all__ = ["dice"]


def dice(seed: str) -> Random:
    """A generator that gives the same draws in every process (text seeds pass through SHA-512, not `hash`)."""
    return Random(seed)  # noqa: S311 - documents are drawn, not secrets
