"""Rows of annotation files, each with the place it came from, so that every complaint can name it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from looseleaf.errors import DataError

__all__ = ["Annotation", "Row", "read_annotation", "readable"]

MAX_CSV_FIELD = 10_000_000
"""Longest field accepted in a CSV file, in characters (Python's default is 131,072)."""

MAX_INTEGER = (1 << 63) - 1
"""Largest whole number that JSON tools agree on."""


def readable(name: str) -> str:
    r"""`name` with anything that cannot be encoded shown as `\x..`, safe to print and to store as JSON."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Row:
    """One record of an annotation file.

    Attributes:
        index: position among the records of the file, from 0; the row index of `question_id`.
        where: file and position for messages, e.g. `samples.json, row 12` or `mine.jsonl, line 3`.
        fields: the record itself, after corrections.
        source: the record as the file has it, where corrections were applied to `fields`.
    """

    index: int
    where: str
    fields: Mapping[str, Any]
    source: Mapping[str, Any] | None = None

    def raw(self, key: str) -> Any:
        """The source's own value of `key`, before any correction; `None` where it has none."""
        return (self.fields if self.source is None else self.source).get(key)

    def fail(self, problem: str) -> NoReturn:
        """Refuse the row.

        Raises:
            DataError: always; the message names file and row and ends with `problem`.
        """
        raise DataError(f"{self.where}: {problem}")

    def require(self, *keys: str) -> Any:
        """The value of the first of `keys` that the record has.

        Raises:
            DataError: it has none of them.
        """
        for key in keys:
            if key in self.fields:
                return self.fields[key]
        names = " or ".join(f'"{key}"' for key in keys)
        return self.fail(f"the key {names} is missing; add it.")

    def text(self, *keys: str) -> str:
        """The value of the first of `keys` as non-empty text.

        Raises:
            DataError: missing, not text, or empty.
        """
        value = self.require(*keys)
        if not isinstance(value, str) or not value.strip():
            self.fail(f'"{self._present(keys)}" must be non-empty text, not {_shown(value)}.')
        return value

    def optional_text(self, *keys: str) -> str:
        """The value of the first of `keys` as text, empty where it is absent or null."""
        value = next((self.fields[key] for key in keys if self.fields.get(key) is not None), "")
        if not isinstance(value, str):
            self.fail(f'"{self._present(keys)}" must be text, not {_shown(value)}.')
        return value

    def _present(self, keys: Sequence[str]) -> str:
        return next((key for key in keys if key in self.fields), keys[0])


@dataclass(frozen=True)
class Annotation:
    """An annotation file, read.

    Attributes:
        path: the file.
        sha256: hex digest of its bytes.
        rows: its records in order.
        header: what stands beside the records (`dataset_name`, …) where the file is one JSON object.
    """

    path: Path
    sha256: str
    rows: tuple[Row, ...]
    header: Mapping[str, Any]


def read_annotation(path: Path) -> Annotation:
    """Read a `.json` (array, or object with `data`), `.jsonl` or `.csv` (pipe separated) annotation file.

    Raises:
        DataError: the file cannot be read or decoded, or a record is broken; the message says where.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{readable(str(path))} cannot be read ({error.strerror}); check the path."
        ) from error
    text = _decoded(raw, readable(path.name))
    reader = _READERS.get(path.suffix.lower(), _json_rows)
    header, rows = reader(text, readable(path.name))
    return Annotation(path, hashlib.sha256(raw).hexdigest(), tuple(rows), header)


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}, line {line}: not UTF-8 text; save the file as UTF-8.") from error


def _json_rows(text: str, name: str) -> tuple[dict[str, Any], list[Row]]:
    value = _parsed(text, name)
    header: dict[str, Any] = {}
    if isinstance(value, dict):
        header = {key: item for key, item in value.items() if key != "data"}
        value = value.get("data")
    if not isinstance(value, list):
        raise DataError(
            f'{name} holds no list of rows; expected a JSON array, or an object with a list in "data".'
        )
    return header, [_record(item, index, f"{name}, row {index}") for index, item in enumerate(value)]


def _jsonl_rows(text: str, name: str) -> tuple[dict[str, Any], list[Row]]:
    rows: list[Row] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{name}, line {number}"
            rows.append(_record(_parsed(line, where), len(rows), where))
    return {}, rows


def _csv_rows(text: str, name: str) -> tuple[dict[str, Any], list[Row]]:
    # UDA's files are pipe separated, minimally quoted (qinchuanhui/UDA-Benchmark@fca5237 dataset/qa).
    previous = csv.field_size_limit(MAX_CSV_FIELD)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter="|"))
    except csv.Error as error:
        raise DataError(f"{name} is not a pipe-separated file ({error}); check it.") from error
    finally:
        csv.field_size_limit(previous)
    if not lines:
        raise DataError(f"{name} is empty; a header line with the names of the fields is expected.")
    header, *records = lines
    rows = []
    for index, record in enumerate(_mended(records, len(header))):
        where = f"{name}, row {index}"
        if len(record) != len(header):
            raise DataError(f"{where}: {len(record)} fields, but the header has {len(header)}; mend the row.")
        rows.append(Row(index, where, dict(zip(header, record, strict=True))))
    return {}, rows


def _mended(records: list[list[str]], width: int) -> list[list[str]]:
    """The records, with those that an unquoted line break cut in two joined again.

    Two neighbours are one record if both are short and together have exactly the header's number of fields;
    UDA's feta_qa.csv has one such pair.
    """
    mended: list[list[str]] = []
    for record in filter(None, records):
        before = mended[-1] if mended else []
        if before and len(before) < width and len(record) < width and len(before) + len(record) - 1 == width:
            mended[-1] = [*before[:-1], f"{before[-1]} {record[0]}".strip(), *record[1:]]
        else:
            mended.append(record)
    return mended


_READERS: Mapping[str, Callable[[str, str], tuple[dict[str, Any], list[Row]]]] = {
    ".json": _json_rows,
    ".jsonl": _jsonl_rows,
    ".csv": _csv_rows,
}


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = where if ", line " in where else f"{where}, line {error.lineno}"
        raise DataError(f"{place}: broken JSON ({error.msg}, column {error.colno}); repair it.") from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DataError(f"{where}: JSON that cannot be used ({reason}); repair it.") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _record(value: Any, index: int, where: str) -> Row:
    if not isinstance(value, dict):
        raise DataError(f"{where}: expected an object with named fields, not {_shown(value)}.")
    if (problem := _unusable(value)) is not None:
        raise DataError(f"{where}: it holds {problem}; mend the row.")
    return Row(index, where, value)


def _unusable(value: Any) -> str | None:
    """What in a JSON value could not be written to a run again, or `None`."""
    if isinstance(value, str):
        return None if value.isascii() or _encodable(value) else "half of a character (a lone surrogate)"
    if isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        return "a whole number beyond 64 bits"
    if isinstance(value, dict):
        return next(filter(None, map(_unusable, (*value, *value.values()))), None)
    if isinstance(value, list):
        return next(filter(None, map(_unusable, value)), None)
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any, limit: int = 60) -> str:
    text = ascii(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
