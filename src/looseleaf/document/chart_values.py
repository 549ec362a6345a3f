"""Values printed in a chart, paired with the labels under them by their place across the chart.

A column chart prints each value at the height of its column and each label under the axis, so that neither
the order of the content nor common lines bring them together. Here a row of labels at even distances takes
the numbers that stand above each of them, up to the next text. (Values that stand beside their labels, as
in a bar chart, are on one line with them, and `rows.lay_out` joins them.) A wrong pair is worse than none,
so numbers in a grid are left to the table that they are, and a row of plain numbers is no row of labels.

Our own rules; on 25 printed points of raster charts they must find at least the 22 that pairing by place
across the chart was measured to give, and none wrong (`tests/test_ocr.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from .rows import CELL_SEPARATOR, SAME_BASE, Word, starts_cell

__all__ = ["chart_rows"]

MIN_LABELS = 3
"""Fewest labels of a chart; two texts beside each other are usually no axis."""

MAX_LABEL_CHARACTERS = 24
"""Longest label."""

_EVEN = 1.35
"""Largest ratio of a distance between neighbouring labels to the median distance, and of that to it."""

_BESIDE = 0.5
"""How far a value may stand from its label's middle, in distances between labels: half way to the next one."""

_CENTRED = 0.25
"""The same for a label that has only one value."""

_MAX_CELLS = 2_000
"""Most cells of a page on which charts are looked for; bounds the work on a hostile page."""

_VALUE = re.compile(r"[~≈<>+−–-]?[$€£¥]?\d[\d., ]*(?:[KkMBT]|bn|mn|[KMB]n)?\s?%?[*†]?")
_YEAR = re.compile(r"(?:(?:FY)?\s?'?(?:19|20)\d\d|(?:FY\s?'?|['’])\d\d)[EeFfAa]?")


class _Cell(NamedTuple):
    """A text and its place."""

    text: str
    left: float
    right: float
    base: float
    height: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def is_value(self) -> bool:
        return _VALUE.fullmatch(self.text) is not None


class _Axis(NamedTuple):
    """A row of labels from left to right, and the median distance of their middles."""

    labels: list[_Cell]
    step: float


def chart_rows(lines: Iterable[Sequence[Word]]) -> list[str]:
    """For each label of a chart a row of cells, the label and its values; empty without charts."""
    cells = [cell for line in lines for cell in _cells(line)]
    if len(cells) > _MAX_CELLS:
        return []
    rows: list[str] = []
    for axis in _axes(cells):
        found = [_values_over(label, axis.step, cells) for label in axis.labels]
        if _is_chart(axis, found):
            for label, values in zip(axis.labels, found, strict=True):
                rows += (
                    [CELL_SEPARATOR.join([label.text, *(value.text for value in values)])] if values else []
                )
    return rows


def _cells(line: Sequence[Word]) -> Iterable[_Cell]:
    """The cells of an upright line."""
    words = list(line)
    if not words or words[0].turn:
        return
    height = words[0].height or 1.0
    start = 0
    for end in range(1, len(words) + 1):
        if end == len(words) or starts_cell(words, end, height):
            part = words[start:end]
            text = " ".join(word.text for word in part)
            yield _Cell(text, part[0].left, max(word.right for word in part), part[0].base, height)
            start = end


def _axes(cells: list[_Cell]) -> Iterable[_Axis]:
    """Rows of short texts at even distances."""
    labels = [cell for cell in cells if len(cell.text) <= MAX_LABEL_CHARACTERS]
    for row in _by_base(labels):
        row.sort(key=lambda cell: cell.left)
        if len(row) < MIN_LABELS or any(cell.is_value and not _YEAR.fullmatch(cell.text) for cell in row):
            continue
        steps = sorted(right.middle - left.middle for left, right in pairwise(row))
        median = steps[len(steps) // 2]
        if median > 0 and steps[-1] <= _EVEN * median and steps[0] * _EVEN >= median:
            yield _Axis(row, median)


def _by_base(cells: list[_Cell]) -> list[list[_Cell]]:
    """Cells by the line they stand on."""
    rows: list[list[_Cell]] = []
    for cell in sorted(cells, key=lambda cell: -cell.base):
        if rows and rows[-1][0].base - cell.base < SAME_BASE * max(cell.height, rows[-1][0].height):
            rows[-1].append(cell)
        else:
            rows.append([cell])
    return rows


def _values_over(label: _Cell, step: float, cells: list[_Cell]) -> list[_Cell]:
    """The numbers over a label, up to the next text, from left to right and down."""
    over = [
        cell
        for cell in cells
        if cell.base > label.base + SAME_BASE * label.height
        and abs(cell.middle - label.middle) < _BESIDE * step
    ]
    values: list[_Cell] = []
    for cell in sorted(over, key=lambda cell: cell.base):
        if not cell.is_value or _YEAR.fullmatch(cell.text):
            break
        values.append(cell)
    if len(values) == 1 and abs(values[0].middle - label.middle) > _CENTRED * step:
        return []
    return sorted(values, key=lambda cell: (round(cell.middle - label.middle), -cell.base))


def _is_chart(axis: _Axis, found: list[list[_Cell]]) -> bool:
    """Whether the numbers over labels are those of a chart: most labels have some, and they form no table."""
    values = [value for over in found for value in over]
    if (
        sum(map(bool, found)) < max(MIN_LABELS, len(found) * 2 / 3)
        or len(set(map(len, filter(None, found)))) > 1
    ):
        return False
    levels = len(_by_base(values))
    if levels == 1:
        return not any(_YEAR.fullmatch(label.text) for label in axis.labels)
    return levels > len(values) / 2
