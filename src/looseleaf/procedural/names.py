"""Pools of invented names, built from the words of `data/names.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from random import Random
from typing import Literal, get_args

import msgspec

__all__ = ["POOLS", "Pool", "draw"]

Pool = Literal[
    "place", "person", "company", "project", "method", "dataset", "part", "device", "variety", "process",
    "facility", "goal", "tool", "laboratory",
]  # fmt: skip
"""Sorts of names."""
POOLS: tuple[Pool, ...] = get_args(Pool)

GROUP = re.compile(r"\{(\w+)\}")


class Names(msgspec.Struct, frozen=True):
    """How each pool joins words, and the words by group."""

    pools: dict[str, str]
    words: dict[str, tuple[str, ...]]


@cache
def _names() -> Names:
    text = (files(__package__) / "data" / "names.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Names)


@cache
def _recipe(pool: Pool) -> tuple[str | tuple[str, ...], ...]:
    """Literal pieces and word lists that make a name."""
    names = _names()
    pieces = GROUP.split(names.pools[pool])
    return tuple(names.words[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def draw(pool: Pool, rng: Random) -> str:
    """One name from a pool. It may have been drawn before; the caller sees to uniqueness."""
    return "".join(part if isinstance(part, str) else rng.choice(part) for part in _recipe(pool))
