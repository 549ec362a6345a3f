"""Flow diagrams, part drawings, pictures of shapes, site plans and dials as shapes with marks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import cos, pi, sin
from random import Random

from looseleaf.procedural.blocks import FlowDiagram, Gauge, PartDrawing, ShapePicture, SitePlan
from looseleaf.procedural.dice import dice
from looseleaf.procedural.measure import DESCENT, fitted, width_of
from looseleaf.procedural.page import BLACK, Box, Colour, Line, Mark, Oval, Polygon, Rect, Shape, Text
from looseleaf.procedural.slots import Slot
from looseleaf.procedural.style import Style

__all__ = ["draw_figure"]

FONT = "Helvetica"
GREY: Colour = (0.75, 0.76, 0.78)
STEPS_A_ROW = 3
SHAPE_COLUMNS = 9
MOST_OF_A_KIND = 12
Drawing = tuple[list[Shape], list[Mark]]
Values = Mapping[str, Slot]


def draw_figure(
    figure: FlowDiagram | PartDrawing | ShapePicture | SitePlan | Gauge,
    values: Values,
    box: Box,
    style: Style,
) -> Drawing:
    """Shapes of a figure in a box, and where its slots are to be seen."""
    match figure:
        case FlowDiagram():
            return _flow(figure, values, box, style)
        case PartDrawing():
            return _parts(figure, values, box, style)
        case ShapePicture():
            return _shapes(figure, values, box, style)
        case SitePlan():
            return _plan(figure, values, box, style)
        case Gauge():
            return _gauge(figure, values, box, style)


def _label(text: str, x: float, y: float, room: float, style: Style, anchor: float = 0.5) -> tuple[Text, Box]:
    """A text of at most `room` points, and its box."""
    size = fitted(text, FONT, style.chart_size, room)
    length = width_of(text, FONT, size)
    left = x - anchor * length
    return Text(left, y, text, FONT, size), Box(left, y - DESCENT * size, left + length, y + 0.75 * size)


def _flow(figure: FlowDiagram, values: Values, box: Box, style: Style) -> Drawing:
    shapes: list[Shape] = []
    marks: list[Mark] = []
    rows = -(-len(figure.steps) // STEPS_A_ROW)
    width = (box.x1 - box.x0) / STEPS_A_ROW
    height = (box.y1 - box.y0) / rows
    centres = []
    for i in range(len(figure.steps)):
        row, place = divmod(i, STEPS_A_ROW)
        column = place if row % 2 == 0 else STEPS_A_ROW - 1 - place
        centres.append((box.x0 + width * (column + 0.5), box.y1 - height * (row + 0.5)))
    half, tall = 0.36 * width, min(0.28 * height, 16.0)
    for (x0, y0), (x1, y1) in pairwise(centres):
        shapes.extend(_arrow(x0, y0, x1, y1, half, tall))
    for slot, (x, y) in zip(figure.steps, centres, strict=True):
        shapes.append(Rect(Box(x - half, y - tall, x + half, y + tall), style.tint, style.accent, 0.9))
        text, place_box = _label(values[slot].shown, x, y - 2.5, 2 * half - 6, style)
        shapes.append(text)
        marks.append(Mark(slot, place_box))
    return shapes, marks


def _arrow(x0: float, y0: float, x1: float, y1: float, half: float, tall: float) -> list[Shape]:
    """An arrow between two boxes that are neighbours in a row or a column."""
    if abs(y0 - y1) < 1:
        way = 1 if x1 > x0 else -1
        a, b = x0 + way * half, x1 - way * half
        head = ((b, y0), (b - 6 * way, y0 + 3), (b - 6 * way, y0 - 3))
        return [Line(a, y0, b - 5 * way, y0, BLACK, 1.0), Polygon(head, BLACK)]
    a, b = y0 - tall, y1 + tall
    return [
        Line(x0, a, x0, b + 5, BLACK, 1.0),
        Polygon(((x0, b), (x0 - 3, b + 6), (x0 + 3, b + 6)), BLACK),
    ]


def _parts(figure: PartDrawing, values: Values, box: Box, style: Style) -> Drawing:
    """A casing with lettered parts on the left and the legend on the right."""
    rng = dice(f"figure/{figure.seed}")
    shapes: list[Shape] = []
    marks: list[Mark] = []
    middle = box.x0 + 0.52 * (box.x1 - box.x0)
    casing = Box(box.x0 + 8, box.y0 + 10, middle - 14, box.y1 - 10)
    shapes.append(Rect(casing, (0.96, 0.96, 0.96), BLACK, 1.2))
    pitch = (casing.y1 - casing.y0) / len(figure.parts)
    places = rng.sample(range(len(figure.parts)), len(figure.parts))
    for i, slot in enumerate(figure.parts):
        letter = chr(ord("A") + i)
        y = casing.y1 - pitch * (places[i] + 0.5)
        x = casing.x0 + rng.uniform(0.15, 0.6) * (casing.x1 - casing.x0)
        shapes.extend(_component(rng, x, y, 0.36 * pitch, style))
        side = 0.36 * pitch
        shapes.append(Line(x + side, y, x + side + 18, y, BLACK, 0.7))
        shapes.append(_label(letter, x + side + 25, y - 2.5, 12, style)[0])
        y = casing.y1 - pitch * (i + 0.5)
        text, place = _label(values[slot].shown, middle + 30, y - 2.5, box.x1 - middle - 34, style, 0.0)
        shapes.extend((_label(letter + ":", middle + 18, y - 2.5, 12, style)[0], text))
        marks.append(Mark(slot, place))
    return shapes, marks


def _component(rng: Random, x: float, y: float, r: float, style: Style) -> list[Shape]:
    if rng.random() < 0.5:
        return [
            Oval(Box(x - r, y - r, x + r, y + r), style.tint),
            Oval(Box(x - 2, y - 2, x + 2, y + 2), BLACK),
        ]
    return [
        Rect(Box(x - r, y - 0.6 * r, x + r, y + 0.6 * r), style.tint, BLACK, 0.8),
        Line(x, y - r, x, y + r, BLACK, 1.0),
    ]


def _shapes(figure: ShapePicture, values: Values, box: Box, style: Style) -> Drawing:
    """Shapes mixed on a grid without overlap; each keeps its place when another count changes."""
    rows = -(-len(figure.counts) * MOST_OF_A_KIND // SHAPE_COLUMNS)
    cells = [(c, r) for r in range(rows) for c in range(SHAPE_COLUMNS)]
    dice(f"figure/{figure.seed}").shuffle(cells)
    width, height = (box.x1 - box.x0) / SHAPE_COLUMNS, (box.y1 - box.y0) / rows
    radius = min(0.34 * width, 0.34 * height, 11.0)
    shapes: list[Shape] = [Rect(box, None, BLACK, 0.8)]
    for i, (kind, slot) in enumerate(figure.counts):
        for c, r in cells[i * MOST_OF_A_KIND :][: values[slot].units]:
            x, y = box.x0 + width * (c + 0.5), box.y0 + height * (r + 0.5)
            shapes.append(_one_shape(kind, x, y, radius, style))
    return shapes, [Mark(slot, box, text=False) for _, slot in figure.counts]


def _one_shape(kind: str, x: float, y: float, r: float, style: Style) -> Shape:
    around = Box(x - r, y - r, x + r, y + r)
    match kind:
        case "circles":
            return Oval(around, style.tint)
        case "squares":
            return Rect(around, GREY, BLACK, 0.8)
        case "crosses":
            a = 0.35 * r
            points = ((-a, r), (a, r), (a, a), (r, a), (r, -a), (a, -a), (a, -r), (-a, -r), (-a, -a), (-r, -a),
                      (-r, a), (-a, a))  # fmt: skip
            return Polygon(tuple((x + dx, y + dy) for dx, dy in points), style.accent)
        case _:
            return Polygon(((x - r, y - r), (x + r, y - r), (x, y + r)), style.accent)


def _plan(figure: SitePlan, values: Values, box: Box, style: Style) -> Drawing:
    shapes: list[Shape] = []
    marks: list[Mark] = []
    left, bottom = box.x0 + 16, box.y0 + 2
    width = (box.x1 - left) / figure.columns
    height = (box.y1 - 14 - bottom) / figure.rows
    for c in range(figure.columns):
        shapes.append(_label(chr(ord("A") + c), left + width * (c + 0.5), box.y1 - 9, 20, style)[0])
    for r in range(figure.rows):
        shapes.append(_label(str(r + 1), box.x0 + 6, box.y1 - 14 - height * (r + 0.5) - 3, 12, style)[0])
    filled = dict(figure.squares)
    for c in range(figure.columns):
        for r in range(figure.rows):
            x, y = left + width * c, box.y1 - 14 - height * (r + 1)
            slot = filled.get(f"{chr(ord('A') + c)}{r + 1}")
            fill = style.tint if slot else None
            shapes.append(Rect(Box(x, y, x + width, y + height), fill, BLACK, 0.6))
            if slot:
                text, place = _label(values[slot].shown, x + width / 2, y + height / 2 - 3, width - 6, style)
                shapes.append(text)
                marks.append(Mark(slot, place))
    return shapes, marks


def _gauge(figure: Gauge, values: Values, box: Box, style: Style) -> Drawing:
    """A half dial from 0 on the left to `top` on the right; the needle stands on a mark."""
    radius = min((box.x1 - box.x0) / 2 - 30, box.y1 - box.y0 - 40)
    cx, cy = (box.x0 + box.x1) / 2, box.y0 + 16
    shapes: list[Shape] = [
        Oval(
            Box(cx - radius - 16, cy - radius - 16, cx + radius + 16, cy + radius + 16),
            style.tint,
            BLACK,
            0,
            180,
        )
    ]
    slot = values[figure.value]
    for tick in range(0, figure.top + 1, slot.step):
        angle = pi * (1 - tick / figure.top)
        long = tick % (5 * slot.step) == 0
        inner = radius - (10 if long else 5)
        shapes.append(
            Line(
                cx + inner * cos(angle),
                cy + inner * sin(angle),
                cx + radius * cos(angle),
                cy + radius * sin(angle),
                BLACK,
                1.2 if long else 0.6,
            )
        )
        if long:
            at = radius + 8
            shapes.append(_label(str(tick), cx + at * cos(angle), cy + at * sin(angle) - 2.5, 30, style)[0])
    angle = pi * (1 - slot.units / figure.top)
    tip = (cx + (radius - 12) * cos(angle), cy + (radius - 12) * sin(angle))
    shapes.append(Line(cx, cy, *tip, (0.75, 0.1, 0.1), 1.8))
    shapes.append(Oval(Box(cx - 4, cy - 4, cx + 4, cy + 4), BLACK))
    return shapes, [Mark(figure.value, Box(cx - radius, cy, cx + radius, cy + radius), text=False)]
