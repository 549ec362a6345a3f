"""The three splits, and which values belong to which: no value of one split occurs in another."""

from __future__ import annotations

from typing import Literal, get_args
from zlib import crc32

__all__ = ["SMALLEST_SPLIT_NUMBER", "SPLITS", "Split", "belongs", "years"]

Split = Literal["train", "rl", "test"]
"""`train` is for supervised fine-tuning, `rl` for reinforcement learning, `test` for evaluation."""

SPLITS: tuple[Split, ...] = get_args(Split)

SMALLEST_SPLIT_NUMBER = 100
"""Numbers below this many units (counts, positions) are too few to be divided among splits."""

FIRST_YEAR = {"train": 1997, "rl": 2006, "test": 2015}
"""First of the nine years that a split may name."""


def belongs(value: int | str, split: Split) -> bool:
    """Whether a name or number belongs to the split.

    The rule is a fixed hash of the value's text, so that the splits share every range and pool and still
    no value. Numbers below `SMALLEST_SPLIT_NUMBER` belong to all.
    """
    if isinstance(value, int) and abs(value) < SMALLEST_SPLIT_NUMBER:
        return True
    return crc32(str(value).encode()) % len(SPLITS) == SPLITS.index(split)


def years(split: Split) -> range:
    """The nine years that documents of the split speak about."""
    return range(FIRST_YEAR[split], FIRST_YEAR[split] + 9)
