"""Cells of a line: by tabs where it has them, else where the kind of token changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from looseleaf.models.extractive.line import Line

__all__ = [
    "CURRENCY",
    "YEAR",
    "by_capitals",
    "has_figures",
    "is_code",
    "is_tabbed",
    "is_value",
    "split_cells",
    "value_columns",
]

CURRENCY: Final = frozenset("$€£¥")
YEAR: Final = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?!\d|,\d{3}|\.\d)")
"""A year that is no part of a longer number."""
_COLUMNS: Final = re.compile(r"\t+| {2,}")
_VALUE: Final = re.compile(r"^[($€£¥+\-−–~<>≤≥]*\d[\d.,:/]*\)?%?[)*†‡]*$")
_CODE: Final = re.compile(r"^(?=.*\d)[A-Z]+[A-Z0-9]*(?:-[A-Z0-9]+)*$")
_DASH: Final = re.compile(r"^[—–-]+%?$")
_UNIT: Final = re.compile(
    r"^(?:[a-zµ°]{1,3}|°[CF]|[kMG]?(?:Hz|W|B|V|A)|%|MB|GB|mAh?|x|million|billion|years?|days?|hours?|MCs)$"
)
_DATE: Final = re.compile(
    r"^(?:as of |at )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s", re.IGNORECASE
)
_RULE: Final = re.compile(r"\s*[–—-]{2,}\s*$")
"""Dashes that a form draws behind an entry."""
_LINKS: Final = frozenset(["of", "the", "and", "for", "in", "de", "&", "to", "by", "with", "vs"])


def is_tabbed(line: Line) -> bool:
    """Whether the text parts this line's cells by tabs."""
    return "\t" in line.text


def is_value(word: str) -> bool:
    """Whether a word is a number, a code or a dash that stands for one."""
    return bool(_VALUE.match(word) or _CODE.match(word) or _DASH.match(word))


def is_code(word: str) -> bool:
    """Whether a word is a code of capitals and digits."""
    return bool(_CODE.match(word))


def value_columns(cells: Sequence[str]) -> set[int]:
    """Columns whose cell starts or ends with a value."""
    return {i for i, cell in enumerate(cells) if is_value(cell.split()[0]) or is_value(cell.split()[-1])}


def has_figures(cells: Sequence[str]) -> bool:
    """Whether a cell after the first holds a number other than a year or date: such a line is no header."""
    return any(
        any(_VALUE.match(word) and not YEAR.fullmatch(word) for word in cell.split())
        and not _DATE.match(cell)
        for cell in cells[1:]
    )


def split_cells(text: str) -> list[str]:
    """Cells of one line."""
    parts = [
        _RULE.sub("", part).strip() or part.strip() for part in _COLUMNS.split(text.strip()) if part.strip()
    ]
    if "\t" in text:
        return parts
    if len(parts) > 1:
        return parts[:1] + [cell for part in parts[1:] for cell in _by_kind(part)]
    return _by_kind(text)


def by_capitals(text: str) -> list[str]:
    """A header line split before every capital letter or number."""
    cells: list[list[str]] = []
    for word in text.split():
        if cells and not (word[0].isupper() or is_value(word) or word[0] in "#%"):
            cells[-1].append(word)
        else:
            cells.append([word])
    return [" ".join(cell) for cell in cells]


def _by_kind(text: str) -> list[str]:
    cells: list[list[str]] = []
    for word in text.split():
        if cells and not _starts_cell(cells[-1], word):
            cells[-1].append(word)
        else:
            cells.append([word])
    return [" ".join(cell) for cell in cells]


def _is_in_remark(cell: list[str]) -> bool:
    """Whether a cell has an open bracket with words in it ("LSTM (Verne,")."""
    opened = next((word for word in reversed(cell) if word.startswith("(")), "")
    return opened[1:2].isalpha() and " ".join(cell).count("(") > " ".join(cell).count(")")


def _starts_cell(cell: list[str], word: str) -> bool:
    """Whether a word starts the next cell: where words turn to numbers, numbers to words, or a capital follows."""
    last = cell[-1]
    if last in CURRENCY or last in {"(", "to", "of", "x", "±"} or _is_in_remark(cell):
        return False
    if word in CURRENCY:
        return True
    if is_value(word):
        return not (last in {"-", "–"} and len(cell) > 1)
    if is_value(last):
        return not _UNIT.match(word) and word not in {")", "to", "±"}
    if _UNIT.match(last) and any(is_value(part) for part in cell[:-1]):
        return word != "to"
    return word[0].isupper() and not last[0].isupper() and len(last) > 1 and last.lower() not in _LINKS
