"""A laid-out page as data: what is drawn where, and which slot stands in which box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = [
    "BLACK",
    "Box",
    "Colour",
    "Line",
    "Mark",
    "Oval",
    "Polygon",
    "Raster",
    "Rect",
    "Shape",
    "Sheet",
    "Text",
]

Colour = tuple[float, float, float]
BLACK: Colour = (0.0, 0.0, 0.0)


class Box(NamedTuple):
    """A rectangle in points; the origin is the lower left corner of the page."""

    x0: float
    y0: float
    x1: float
    y1: float


class Text(NamedTuple):
    """One run of text; `space` is added to the width of every blank (justified lines)."""

    x: float
    y: float
    text: str
    font: str
    size: float
    colour: Colour = BLACK
    space: float = 0.0


class Rect(NamedTuple):
    """A rectangle, filled, outlined or both."""

    box: Box
    fill: Colour | None = None
    stroke: Colour | None = None
    width: float = 0.6


class Line(NamedTuple):
    """A straight line."""

    x0: float
    y0: float
    x1: float
    y1: float
    colour: Colour = BLACK
    width: float = 0.6


class Polygon(NamedTuple):
    """A closed polygon."""

    points: tuple[tuple[float, float], ...]
    fill: Colour | None = None
    stroke: Colour | None = BLACK
    width: float = 0.8


class Oval(NamedTuple):
    """An ellipse in a box; with `extent` a pie slice from `start`, in degrees counter-clockwise."""

    box: Box
    fill: Colour | None = None
    stroke: Colour | None = BLACK
    start: float = 0.0
    extent: float = 360.0


class Raster(NamedTuple):
    """Shapes that are shown as a picture: nothing of them reaches the text layer."""

    box: Box
    shapes: tuple[Shape, ...]


Shape = Text | Rect | Line | Polygon | Oval | Raster


class Mark(NamedTuple):
    """Where a slot's value is to be seen; `text` tells whether the value is printed there as text."""

    slot_id: str
    box: Box
    text: bool = True


@dataclass
class Sheet:
    """One page.

    Attributes:
        width, height: size in points.
        label: the printed page number.
        chapter: position of the chapter in the document, -1 in the front matter.
        scanned: whether the whole page is shown as a picture without a text layer.
        skew: rotation of a scanned page in degrees, counter-clockwise.
    """

    width: float
    height: float
    label: str = ""
    chapter: int = -1
    scanned: bool = False
    skew: float = 0.0
    shapes: list[Shape] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The text of the page that a text layer would hold, scanned or not, one run a line."""
        return "\n".join(shape.text for shape in self.shapes if isinstance(shape, Text))

    @property
    def visible_words(self) -> str:
        """All text that an eye sees, pictures included."""
        return "\n".join(_texts(self.shapes))


def _texts(shapes: list[Shape] | tuple[Shape, ...]) -> list[str]:
    found: list[str] = []
    for shape in shapes:
        if isinstance(shape, Text):
            found.append(shape.text)
        elif isinstance(shape, Raster):
            found.extend(_texts(shape.shapes))
    return found
