"""Typed access to the fields of foreign records: a wrong type is a `RowProblem` that names the field."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from looseleaf.adapters.imports.source import RowProblem
from looseleaf.roles import Usage
from looseleaf.trajectory import storable_value

__all__ = [
    "as_mapping",
    "clean",
    "items",
    "mapping",
    "number",
    "optional_text",
    "page_of",
    "pages_of",
    "shown_value",
    "text",
    "usage_of",
    "whole",
]

MAX_PAGE = 1_000_000
"""Largest page number that is believed: no document that looseleaf opens has as many."""
LONGEST_SHOWN = 60
"""Characters of a foreign value that a message repeats."""


def clean(value: Any) -> Any:
    """The value with whatever JSON storage cannot hold (lone surrogates, NaN, endless nesting) made readable."""
    return storable_value(value)


def shown_value(value: Any) -> str:
    """The value for a message: ASCII, and not longer than `LONGEST_SHOWN`."""
    said = ascii(value)
    return said if len(said) <= LONGEST_SHOWN else f"{said[:LONGEST_SHOWN]}…"


def as_mapping(value: Any, what: str) -> dict[str, Any]:
    """The value, if it is an object.

    Raises:
        RowProblem: it is none.
    """
    if not isinstance(value, dict):
        raise RowProblem(f"{what} is {shown_value(value)} and not an object")
    return value


def mapping(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key; empty where it is absent or null.

    Raises:
        RowProblem: it is something else.
    """
    value = record.get(key)
    return {} if value is None else as_mapping(value, f'"{key}"')


def items(record: Mapping[str, Any], key: str) -> list[Any]:
    """The list under a key; empty where it is absent or null.

    Raises:
        RowProblem: it is something else.
    """
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RowProblem(f'"{key}" is {shown_value(value)} and not a list')
    return value


def text(record: Mapping[str, Any], *keys: str) -> str:
    """The non-empty text under the first of the keys that is there.

    Raises:
        RowProblem: none is there, or it is no text, or it is empty.
    """
    found = optional_text(record, *keys)
    if not found.strip():
        raise RowProblem(f'"{keys[0]}" is missing or empty')
    return found


def optional_text(record: Mapping[str, Any], *keys: str) -> str:
    """The text under the first of the keys that is neither absent nor null; numbers as text; else empty.

    Raises:
        RowProblem: it is something else.
    """
    for key in keys:
        value = record.get(key)
        if value is None:
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise RowProblem(f'"{key}" is {shown_value(value)} and not text')
        return value
    return ""


def number(record: Mapping[str, Any], key: str) -> float:
    """The finite number under a key; 0 for anything else."""
    value = record.get(key)
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable and value is not None else 0.0


def whole(record: Mapping[str, Any], key: str) -> int | None:
    """The whole number of at most 53 bits under a key; `None` for anything else."""
    value = record.get(key)
    usable = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return value if usable else None


def usage_of(record: Mapping[str, Any]) -> Usage:
    """Tokens as OpenAI and most others name them; nothing where there are none."""
    first = {
        name: next((max(0, int(number(record, key))) for key in keys if key in record), 0)
        for name, keys in _USAGE.items()
    }
    return Usage(
        prompt_tokens=first["prompt"], completion_tokens=first["completion"], calls=int(any(first.values()))
    )


_USAGE = {
    "prompt": ("prompt_tokens", "input_tokens"),
    "completion": ("completion_tokens", "output_tokens"),
}


def page_of(raw: Any, base: int) -> int:
    """A source's page number as a physical 1-based page; what lies below page 1 is left for the range check.

    Args:
        raw: a whole number, or its digits.
        base: number that the source gives to the first page.

    Raises:
        RowProblem: it is no page number.
    """
    if isinstance(raw, str):
        digits = raw.strip()
        is_number = (
            digits.removeprefix("-").isascii() and digits.removeprefix("-").isdigit() and len(digits) < 9
        )
        raw = int(digits) if is_number else raw
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or abs(raw) > MAX_PAGE:
        raise RowProblem(f"{shown_value(raw)} is not a page number")
    return raw - base + 1


def pages_of(raw: Sequence[Any], base: int) -> tuple[int, ...]:
    """Page numbers in order, each once; see `page_of`."""
    return tuple(dict.fromkeys(page_of(value, base) for value in raw))
