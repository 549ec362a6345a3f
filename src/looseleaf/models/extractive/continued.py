"""Tables that run over pages, put together again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Passage
from looseleaf.models.extractive.table import Table, read_tables

__all__ = ["whole_tables"]

_CONTINUED: Final = re.compile(r"\s*[(\[]?\s*\b(?:continued|cont['’.]?d?)\b\.?\s*[)\]]?", re.IGNORECASE)


def whole_tables(passages: Iterable[Passage]) -> Iterator[tuple[int, Table]]:
    """The tables of some passages with the page that each begins on; parts of one table are joined.

    Parts are tables on the same page or the next one with the same header and, but for "(continued)", the same caption.
    """
    pending: dict[tuple[tuple[str, ...], str], tuple[int, int, Table]] = {}
    for passage in sorted(passages, key=lambda one: one.page):
        for table in read_tables(passage.text):
            caption = _CONTINUED.sub("", table.caption).strip()
            if table.chart or not caption or not any(table.header):
                yield passage.page, table
                continue
            first, last, known = pending.get((table.header, caption), (passage.page, passage.page, table))
            if known is not table and passage.page - last > 1:
                yield first, known
                first, known = passage.page, table
            elif known is not table:
                known = msgspec.structs.replace(known, rows=known.rows + table.rows)
            pending[table.header, caption] = (first, passage.page, known)
    for first, _, table in pending.values():
        yield first, table
