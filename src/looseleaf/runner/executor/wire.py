"""How items and records travel between processes: as MessagePack of known types, never as pickled objects."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.trajectory import storable_value

__all__ = ["Reply", "Request", "decoded", "encoded", "enter", "here"]


class Request(msgspec.Struct, frozen=True):
    """A group of items.

    Attributes:
        version: of looseleaf.
        cache: root of the cache, or empty for the worker's own.
        modules: folders in which the driver finds the user's own modules.
        kind: of the stage.
        context: of the stage.
        items: each encoded.
    """

    version: str
    cache: str
    modules: list[str]
    kind: str
    context: bytes
    items: list[bytes]


class Reply(msgspec.Struct, frozen=True):
    """What became of a group.

    Attributes:
        records: each encoded, in the order of the items.
        counts: what was counted meanwhile.
        refusal: a mistake of the user that showed only there, as a sentence; then there are no records.
    """

    records: list[bytes] = []
    counts: dict[str, Any] = {}
    refusal: str = ""


def encoded(values: Sequence[Any]) -> list[bytes]:
    """Each value by itself; what no record can hold is made storable, as ledgers do."""
    return [_encoded(value) for value in values]


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.msgpack.encode(value)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return msgspec.msgpack.encode(storable_value(msgspec.to_builtins(value)))


def decoded(values: Sequence[bytes], kind: Any) -> list[Any]:
    """The values, all of one type.

    Raises:
        msgspec.MsgspecError: one is something else.
    """
    decoder = msgspec.msgpack.Decoder(kind)
    return [decoder.decode(value) for value in values]


def here() -> str:
    """The folder in which the command was given."""
    return str(Path.cwd())


def enter(folder: str) -> None:
    """Work where the command was given: paths in a configuration are relative to that.

    Raises:
        ConfigError: there is no such folder on this node.
    """
    try:
        os.chdir(folder)
    except OSError as problem:
        raise ConfigError(
            f"A node of the Ray cluster has no folder {folder}; give the command in one that all nodes share."
        ) from problem
