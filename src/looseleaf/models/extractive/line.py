"""`Line`: the lines of a page with their kinds, and the lines that are table rows."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from looseleaf.models.extractive.number import Number, parse_number
from looseleaf.models.extractive.words import stem_set, word_list

__all__ = ["Line", "LineKind", "Row", "read_lines"]

LineKind = str
_BULLET: Final = re.compile(r"^\s*(?:[•●▪■◦‣▶►○◆❖✓✔➢§·\ue000-\uf8ff]|[-–*o]\s)\s*(?=\S)")
_NUMBERED: Final = re.compile(
    r"^\s*(?:\(?\d{1,2}[.)]|\(?[a-z][.)]|(?:step|phase)\s+\d+[:.]?)\s+(?=\S)", re.IGNORECASE
)
_MARKED: Final = re.compile(r"^\s*([^\w\s$(]|o|\(?\w{1,2}[.)])\t\s*")
"""A bullet or item number with the tab after it, which parts no cells."""
_CAPTION: Final = re.compile(
    r"^\s*(?:fig(?:ure)?|table|chart|exhibit|box)\.?\s*(?:\d+|[ivx]+)\b", re.IGNORECASE
)
_SECTION: Final = re.compile(r"^\s*(?:(?:[A-Z]|\d{1,2})(?:\.\d{1,2}){0,3}\.?|[IVX]+\.)\s+[A-Z]")
_COLUMNS: Final = re.compile(r"\t+| {2,}")
_NUMERIC_TOKEN: Final = re.compile(r"^[($€£¥+\-−–]*\d[\d,.]*\)?%?\)?[*†‡]*$|^[—–-]+%?$")
_CURRENCY: Final = frozenset("$€£¥%)(")
_SMALL: Final = frozenset(word_list("a an the of in on at to for from by with and or as vs per"))


class Row(msgspec.Struct, frozen=True):
    """A table row: a label and the cells after it.

    Attributes:
        label: text before the first cell.
        cells: texts of the cells.
        numbers: their numbers (`None` where a cell holds none).
    """

    label: str
    cells: tuple[str, ...]
    numbers: tuple[Number | None, ...]


class Line(msgspec.Struct, frozen=True):
    """One line.

    Attributes:
        index: position on the page, from 0.
        text: the line, stripped.
        stems: distinct content stems.
        kind: `heading`, `bullet`, `numbered`, `caption` or `text`.
        row: the line as a table row, if it looks like one.
        tabbed_page: whether the page parts cells by tabs anywhere.
    """

    index: int
    text: str
    stems: frozenset[str]
    kind: LineKind
    row: Row | None
    tabbed_page: bool = False


def read_lines(text: str) -> list[Line]:
    """The lines of a text that are not empty, in order."""
    lines: list[Line] = []
    tabbed = "\t" in text
    for raw in (_MARKED.sub(r"\1 ", line) for line in text.splitlines()):
        stripped = raw.strip()
        if stripped:
            row = _row(raw, tabbed)
            lines.append(Line(len(lines), stripped, stem_set(stripped), _line_kind(stripped), row, tabbed))
    return lines


def _line_kind(text: str) -> LineKind:
    if _CAPTION.match(text):
        return "caption"
    if _BULLET.match(text):
        return "bullet"
    if _NUMBERED.match(text):
        return "numbered"
    words = text.split()
    if len(words) > 14 or text[-1:] in ".,;" or not any(c.isalpha() for c in text):
        return "text"
    letters = [c for c in text if c.isalpha()]
    capitals = sum(w[0].isupper() or w.lower() in _SMALL for w in words if w[0].isalpha())
    starts = [w for w in words if w[0].isalpha()]
    if (
        _SECTION.match(text)
        or (len(letters) > 3 and text.isupper())
        or (text.endswith(":") and text[0].isupper())
    ):
        return "heading"
    if starts and starts[0][0].isupper() and capitals == len(starts) and len(starts) > 1:
        return "heading"
    return "text"


def _row(text: str, tabbed_page: bool) -> Row | None:
    parts = [part.strip() for part in _COLUMNS.split(text.strip())]
    if len(parts) >= 2 and any(c.isalpha() for c in parts[0]):
        cells = _merge_currency(parts[1:])
        return Row(parts[0], tuple(cells), tuple(parse_number(cell) for cell in cells)) if cells else None
    return None if tabbed_page else _trailing_numbers(text)


def _merge_currency(cells: list[str]) -> list[str]:
    merged: list[str] = []
    for cell in cells:
        if merged and (merged[-1] in _CURRENCY or cell in {"%", ")"}):
            merged[-1] += cell
        else:
            merged.append(cell)
    return [cell for cell in merged if cell not in _CURRENCY]


def _trailing_numbers(text: str) -> Row | None:
    words = text.split()
    cut = len(words)
    while cut > 0 and (_NUMERIC_TOKEN.match(words[cut - 1]) or words[cut - 1] in _CURRENCY):
        cut -= 1
    label = " ".join(words[:cut])
    cells = _merge_currency(words[cut:])
    if not cells or not any(c.isalpha() for c in label) or cut > 20:
        return None
    return Row(label, tuple(cells), tuple(parse_number(cell) for cell in cells))
