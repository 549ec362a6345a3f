"""What a document is made of before it is laid out: blocks of text with slots in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = [
    "Block", "Break", "Bullets", "Chart", "Checks", "FlowDiagram", "Gauge", "Heading", "Masthead", "NoteBox",
    "PartDrawing", "Prose", "Ref", "Rich", "ShapePicture", "SheetFields", "SitePlan", "TableBlock", "rich",
]  # fmt: skip


class Ref(NamedTuple):
    """Stands for the value of a slot inside a text."""

    slot: str


Rich = tuple[str | Ref, ...]
"""A text with slots in it."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")


def rich(template: str, slots: Mapping[str, str], words: Mapping[str, str] | None = None) -> Rich:
    """A text from a template: `{name}` becomes the slot of that name, or else the plain word."""
    parts: list[str | Ref] = []
    for i, piece in enumerate(PLACEHOLDER.split(template)):
        if i % 2:
            parts.append(Ref(slots[piece]) if piece in slots else (words or {})[piece])
        elif piece:
            parts.append(piece)
    return tuple(parts)


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 starts a chapter and stands in the contents."""

    level: int
    text: Rich


@dataclass(frozen=True)
class Prose:
    """A paragraph; `keep` holds it on one page, `note` is its footnote with its number."""

    text: Rich
    keep: bool = False
    note: tuple[int, Rich] | None = None
    small: bool = False


@dataclass(frozen=True)
class Bullets:
    """A titled list of points or numbered steps; with `count` only that many of the items are shown."""

    title: str
    items: tuple[Rich, ...]
    numbered: bool = False
    count: str = ""


@dataclass(frozen=True)
class TableBlock:
    """A table with a caption; the head is repeated on every page that it reaches."""

    number: int
    caption: Rich
    head: tuple[Rich, ...]
    rows: tuple[tuple[Rich, ...], ...]


ChartLook = Literal["bar", "hbar", "line", "pie"]


@dataclass(frozen=True)
class Chart:
    """A chart of slots. Without printed values every value lies on a grid line of the axis."""

    number: int
    caption: Rich
    look: ChartLook
    labels: tuple[str | Ref, ...]
    values: tuple[str, ...]
    top: int
    grid: int
    printed: bool
    raster: bool
    unit: str


@dataclass(frozen=True)
class FlowDiagram:
    """Boxes joined by arrows."""

    number: int
    caption: Rich
    steps: tuple[str, ...]
    raster: bool


@dataclass(frozen=True)
class PartDrawing:
    """A machine with lettered parts and a legend."""

    number: int
    caption: Rich
    parts: tuple[str, ...]
    raster: bool
    seed: int


@dataclass(frozen=True)
class ShapePicture:
    """A picture of circles, squares and triangles, as many as the count slots say."""

    number: int
    caption: Rich
    counts: tuple[tuple[str, str], ...]
    raster: bool
    seed: int


@dataclass(frozen=True)
class SitePlan:
    """A map with lettered columns and numbered rows and a facility in some squares."""

    number: int
    caption: Rich
    squares: tuple[tuple[str, str], ...]
    columns: int
    rows: int
    raster: bool


@dataclass(frozen=True)
class Gauge:
    """A dial whose needle points at a mark."""

    number: int
    caption: Rich
    value: str
    top: int
    raster: bool


@dataclass(frozen=True)
class NoteBox:
    """A shaded box with a heading of its own."""

    heading: Rich
    text: Rich


@dataclass(frozen=True)
class SheetFields:
    """A filled-in form: labels and entries in ruled boxes."""

    rows: tuple[tuple[str, Rich], ...]


@dataclass(frozen=True)
class Checks:
    """A question of a form with boxes to tick; a box is ticked where its slot reads `ticked`."""

    title: str
    options: tuple[Rich, ...]
    slots: tuple[str, ...]


@dataclass(frozen=True)
class Break:
    """Start a new page, with this many columns and running head; the pages after it may be scanned."""

    columns: int = 1
    scanned: bool = False
    head: Rich = ()


@dataclass(frozen=True)
class Masthead:
    """Title, authors and abstract of a paper, over all columns of its first page."""

    title: str
    authors: str
    abstract: str


Block = (
    Masthead | Heading | Prose | Bullets | TableBlock | Chart | FlowDiagram | PartDrawing | ShapePicture | SitePlan
    | Gauge | NoteBox | SheetFields | Checks | Break
)  # fmt: skip
