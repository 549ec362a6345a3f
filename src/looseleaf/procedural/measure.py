"""Widths of text, and texts with slots broken into lines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from reportlab.pdfbase.pdfmetrics import stringWidth

from looseleaf.procedural.blocks import Ref, Rich
from looseleaf.procedural.page import Box, Mark
from looseleaf.procedural.slots import Slot

__all__ = ["Flat", "Span", "break_lines", "fitted", "flatten", "line_marks", "width_of"]

HOLD = "\xa0"
"""Stands for a blank inside a slot's value while lines are broken, so that a value is never split."""
ASCENT, DESCENT = 0.75, 0.22
"""Height above and below the base line that a box of text takes, in units of the font size."""


class Span(NamedTuple):
    """Characters `start` to `end` of a flat text show the slot."""

    start: int
    end: int
    slot_id: str


class Flat(NamedTuple):
    """A text with its slots filled in."""

    text: str
    spans: tuple[Span, ...]


@cache
def _unit_width(text: str, font: str) -> float:
    return float(stringWidth(text, font, 1.0))


def width_of(text: str, font: str, size: float) -> float:
    """Width of a text in points; words are measured once and remembered."""
    blank = _unit_width(" ", font)
    words = text.split(" ")
    return size * (sum([_unit_width(word, font) for word in words]) + blank * (len(words) - 1))


def flatten(text: Rich, values: Mapping[str, Slot]) -> Flat:
    """Fill the slots in."""
    out, spans, at = [], [], 0
    for part in text:
        piece = values[part.slot].shown.replace(" ", HOLD) if isinstance(part, Ref) else part
        if isinstance(part, Ref):
            spans.append(Span(at, at + len(piece), part.slot))
        out.append(piece)
        at += len(piece)
    return Flat("".join(out), tuple(spans))


def break_lines(text: str, font: str, size: float, width: float) -> list[tuple[int, int]]:
    """Greedy line breaking: start and end of each line in the text."""
    blank = size * _unit_width(" ", font)
    lines: list[tuple[int, int]] = []
    start, at, used = 0, 0, 0.0
    for word in text.split(" "):
        length = size * _unit_width(word, font)
        if at > start and used + blank + length > width:
            lines.append((start, at - 1))
            start, used = at, 0.0
        used += length + (blank if at > start else 0.0)
        at += len(word) + 1
    lines.append((start, max(start, at - 1)))
    return lines


def line_marks(
    flat: Flat, line: tuple[int, int], x: float, y: float, font: str, size: float, space: float = 0.0
) -> list[Mark]:
    """Boxes of the slots that stand in one line whose base line starts at (x, y)."""
    marks = []
    for span in flat.spans:
        if span.start >= line[0] and span.end <= line[1]:
            before, value = flat.text[line[0] : span.start], flat.text[span.start : span.end]
            left = x + _run(before, font, size, space)
            right = left + _run(value, font, size, space)
            marks.append(Mark(span.slot_id, Box(left, y - DESCENT * size, right, y + ASCENT * size)))
    return marks


def _run(text: str, font: str, size: float, space: float) -> float:
    plain = text.replace(HOLD, " ")
    return width_of(plain, font, size) + space * plain.count(" ")


def fitted(text: str, font: str, size: float, width: float) -> float:
    """The font size, at most `size`, at which the text fits the width."""
    taken = width_of(text, font, size)
    return size if taken <= width else size * width / taken
