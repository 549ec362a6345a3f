"""Values that annotation files hold as text: lists in Python's notation, page numbers."""

from __future__ import annotations

import ast
from typing import Any

from looseleaf.benchmarks.rows import Row

__all__ = ["list_literal", "page_list", "text_list"]

MAX_LITERAL = 100_000
"""Longest text that is tried as a literal, in characters; Python's parser may exhaust its stack beyond."""

MAX_DIGITS = 12
"""Longest page number that is read from text; longer ones are no page number at all."""


def list_literal(text: str) -> list[Any] | None:
    """The list that `text` spells in Python's or JSON's notation, or `None` where it spells none.

    Only literals are read (`ast.literal_eval`); names, calls and operators are not evaluated.
    """
    if not text.lstrip().startswith("[") or len(text) > MAX_LITERAL:
        return None
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def page_list(row: Row, key: str, base: int = 1) -> tuple[int, ...]:
    """Page numbers of `row[key]`, moved from the source's base to the physical 1-based numbering.

    The order, repeats and impossible numbers of the source are kept: they are faults that `check` reports.

    Args:
        row: the record.
        key: its field, a list of whole numbers or such a list spelled as text.
        base: number that the source gives to the first page.

    Raises:
        DataError: the field is not a list of whole numbers.
    """
    value = row.require(key)
    listed = list_literal(value) if isinstance(value, str) else value
    if not isinstance(listed, list):
        row.fail(f'"{key}" must be a list of page numbers, not {ascii(value)[:60]}.')
    return tuple(_page(row, key, item) + 1 - base for item in listed)


def text_list(row: Row, key: str) -> tuple[str, ...]:
    """Words of `row[key]`: a list of texts, or such a list spelled as text; empty where absent.

    Raises:
        DataError: the field is not a list of texts.
    """
    value = row.fields.get(key)
    if value is None or value == "":
        return ()
    listed = list_literal(value) if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        row.fail(f'"{key}" must be a list of texts, not {ascii(value)[:60]}.')
    return tuple(listed)


def _page(row: Row, key: str, item: Any) -> int:
    if isinstance(item, str) and len(item) <= MAX_DIGITS and item.strip().removeprefix("-").isdecimal():
        item = int(item)
    if isinstance(item, bool) or not isinstance(item, int):
        row.fail(f'"{key}" holds {ascii(item)[:40]}, which is not a page number.')
    return item
