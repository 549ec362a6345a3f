"""Reading foreign JSON files: bounded, and a broken line of a JSON-lines file spoils only itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from looseleaf.adapters.imports.fields import clean
from looseleaf.adapters.imports.source import RowProblem
from looseleaf.benchmarks.rows import readable
from looseleaf.errors import DataError

__all__ = ["MAX_FILE", "MAX_LINE", "file_hash", "json_records", "json_value", "parsed"]

MAX_FILE = 2 * 1024**3
"""Largest file that must be read as a whole (one JSON value), in bytes; JSON lines have no such limit."""
MAX_LINE = 256 * 1024**2
"""Longest line of a JSON-lines file, in bytes."""
BLOCK = 1024**2


def json_records(path: Path) -> Iterator[tuple[str, Any]]:
    """The records of a JSON array, of one JSON object, or of JSON lines; with file and position.

    A line that cannot be read yields a `RowProblem` in its place.

    Raises:
        DataError: the file cannot be read at all.
    """
    name = readable(path.name)
    with _opened(path) as file:
        first = _first_byte(file)
        if first == b"[" or (first == b"{" and not _is_lines(file)):
            value = json_value(path)
            rows = value if isinstance(value, list) else [value]
            yield from ((f"{name}, row {index}", row) for index, row in enumerate(rows))
            return
        yield from _lines(file, name)


def json_value(path: Path) -> Any:
    """The one JSON value of a file.

    Raises:
        DataError: the file cannot be read, is too large, or is no JSON.
    """
    name = readable(path.name)
    with _opened(path) as file:
        content = file.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise DataError(
            f"{name} is larger than {MAX_FILE // 1024**3} GiB; split it, or write it as JSON lines."
        )
    try:
        return parsed(content)
    except RowProblem as problem:
        raise DataError(f"{name}: {problem}; repair the file.") from problem


def parsed(content: bytes) -> Any:
    """One JSON value, with what cannot be stored made readable.

    Raises:
        RowProblem: it is none.
    """
    try:
        return clean(json.loads(content))
    except UnicodeDecodeError as problem:
        raise RowProblem("not UTF-8 text") from problem
    except json.JSONDecodeError as problem:
        raise RowProblem(
            f"broken JSON ({problem.msg}, line {problem.lineno}, column {problem.colno})"
        ) from problem
    except (ValueError, RecursionError) as problem:
        nested = isinstance(problem, RecursionError)
        raise RowProblem(
            "JSON nested too deeply" if nested else f"JSON that cannot be used ({problem})"
        ) from problem


def file_hash(path: Path) -> str:
    """Sha256 of a file, or over the sorted names and hashes of the files of a folder.

    Raises:
        DataError: something cannot be read.
    """
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*.json*") if p.is_file() and not p.is_symlink())
        lines = "".join(f"{readable(str(p.relative_to(path)))} {file_hash(p)}\n" for p in inside)
        return hashlib.sha256(lines.encode()).hexdigest()
    digest = hashlib.sha256()
    with _opened(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as problem:
        raise DataError(
            f"{readable(str(path))} cannot be read ({problem.strerror}); check the path."
        ) from problem


def _first_byte(file: IO[bytes]) -> bytes:
    start = file.read(BLOCK).removeprefix(b"\xef\xbb\xbf").lstrip()
    file.seek(0)
    return start[:1]


def _is_lines(file: IO[bytes]) -> bool:
    """Whether the first line with something on it is a whole JSON value, and more follows it."""
    first, after = b"", b""
    while not first.strip():
        first = file.readline(MAX_LINE)
    while not after.strip():
        after = file.read(BLOCK)
        if not after:
            break
    file.seek(0)
    try:
        parsed(first)
    except RowProblem:
        return after.lstrip()[:1] == b"{" and first.rstrip().endswith(b"}")
    return True


def _lines(file: IO[bytes], name: str) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        where = f"{name}, line {number}"
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            yield where, RowProblem(f"a line longer than {MAX_LINE // 1024**2} MiB")
            _skip_line(file)
        elif line.strip().removeprefix(b"\xef\xbb\xbf"):
            yield where, _value_of(line)


def _skip_line(file: IO[bytes]) -> None:
    while (rest := file.readline(BLOCK)) and not rest.endswith(b"\n"):
        pass


def _value_of(line: bytes) -> Any:
    try:
        return parsed(line)
    except RowProblem as problem:
        return problem
