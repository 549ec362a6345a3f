"""Reading and writing the files of a RUN: whole or not at all, with errors that say which file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.errors import RunError

__all__ = ["json_of", "pretty", "readable", "shaped", "without_none", "writable", "write_atomically"]


@contextmanager
def writable(path: Path, advice: str) -> Iterator[None]:
    """Errors of writing a file, as one sentence with advice.

    Raises:
        RunError: the file cannot be written.
    """
    try:
        yield
    except OSError as problem:
        raise RunError(f"{path} cannot be written ({problem.strerror}); {advice}.") from problem


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Errors of reading a file: of the disk, of TOML, JSON and UTF-8, and of its shape.

    Raises:
        RunError: the file cannot be read.
    """
    try:
        yield
    except RecursionError as problem:
        raise RunError(
            f"{path} is nested too deeply to be read; repair it or make the run again."
        ) from problem
    except (OSError, ValueError) as problem:  # errors of TOML, JSON, UTF-8 and of shape are ValueErrors
        raise RunError(f"{path} cannot be read ({problem}); repair it or make the run again.") from problem


def write_atomically(path: Path, content: bytes) -> None:
    """Write a whole file so that a reader sees either the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with writable(path, "choose another folder"):
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def json_of(path: Path, shape: type[msgspec.Struct] | None = None) -> dict[str, Any]:
    """A JSON object in a file, held to a shape.

    Raises:
        RunError: it cannot be read, or has another shape.
    """
    with readable(path):
        return shaped(json.loads(path.read_bytes()), shape)


def shaped(value: Any, shape: type[msgspec.Struct] | None) -> dict[str, Any]:
    """The value as it is, if it is an object whose known fields have the types that readers rely on.

    Raises:
        ValueError: it is not (`msgspec.ValidationError`).
    """
    msgspec.convert(value, shape or dict[str, Any])
    return dict(value)


def pretty(content: dict[str, Any]) -> bytes:
    """JSON for people: indented, with a line break at the end."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def without_none(value: Any) -> Any:
    """Tables and lists without what is `None`, which TOML cannot say."""
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [without_none(item) for item in value if item is not None]
    return value
