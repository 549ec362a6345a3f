"""Bar, line and pie charts as shapes, with a mark where each value is to be read."""

from __future__ import annotations

from collections.abc import Mapping

from looseleaf.procedural.blocks import Chart, Ref
from looseleaf.procedural.measure import DESCENT, fitted, flatten, width_of
from looseleaf.procedural.page import BLACK, Box, Colour, Line, Mark, Oval, Rect, Shape, Text
from looseleaf.procedural.slots import Slot
from looseleaf.procedural.style import Style

__all__ = ["draw_chart"]

FONT = "Helvetica"
TICK_ROOM = 11.0
"""Points between two axis numbers on an upright axis; on a lying one the numbers' own width is added."""
GRID: Colour = (0.8, 0.8, 0.82)
SLICES: tuple[Colour, ...] = (
    (0.20, 0.40, 0.65), (0.85, 0.45, 0.15), (0.35, 0.60, 0.30), (0.70, 0.20, 0.25), (0.50, 0.40, 0.65),
    (0.55, 0.40, 0.30), (0.85, 0.55, 0.70), (0.45, 0.45, 0.45), (0.70, 0.70, 0.20),
)  # fmt: skip
Drawing = tuple[list[Shape], list[Mark]]


def draw_chart(chart: Chart, values: Mapping[str, Slot], box: Box, style: Style) -> Drawing:
    """Shapes of a chart in a box, and where its values and labels stand."""
    painter = Painter(chart, values, box, style)
    {"bar": painter.bars, "hbar": painter.flat_bars, "line": painter.line, "pie": painter.pie}[chart.look]()
    return painter.shapes, painter.marks


class Painter:
    """Collects the shapes and marks of one chart."""

    def __init__(self, chart: Chart, values: Mapping[str, Slot], box: Box, style: Style) -> None:
        self.chart = chart
        self.values = values
        self.box = box
        self.style = style
        self.size = style.chart_size
        self.shapes: list[Shape] = []
        self.marks: list[Mark] = []
        self.plot = Box(box.x0 + 5 * self.size, box.y0 + 3 * self.size, box.x1 - 10, box.y1 - 2.1 * self.size)

    def text(
        self,
        text: str,
        x: float,
        y: float,
        *,
        anchor: float = 0.0,
        size: float = 0.0,
        slot: str | None = None,
    ) -> None:
        """A short text; `anchor` 0, .5 or 1 puts its start, middle or end at x. With a slot, it is marked."""
        if not text:
            return
        size = size or self.size
        length = width_of(text, FONT, size)
        left = x - anchor * length
        self.shapes.append(Text(left, y, text, FONT, size))
        if slot:
            self.marks.append(Mark(slot, Box(left, y - DESCENT * size, left + length, y + 0.75 * size)))

    def value(self, slot: str, x: float, y: float, *, anchor: float, bar: Box) -> None:
        """The printed value, or without one the bar or point from which it is read."""
        if self.chart.printed:
            self.text(self.values[slot].shown, x, y, anchor=anchor, slot=slot)
        else:
            self.marks.append(Mark(slot, bar, text=False))

    def label(self, index: int, x: float, y: float, room: float, anchor: float) -> None:
        """The name of a category."""
        part = self.chart.labels[index]
        text = flatten((part,), self.values).text.replace("\xa0", " ")
        size = fitted(text, FONT, self.size, room)
        self.text(text, x, y, anchor=anchor, size=size, slot=part.slot if isinstance(part, Ref) else None)

    def axis(self, *, upright: bool) -> None:
        """Grid lines, axis numbers and unit."""
        plot = self.plot
        self.text(self.chart.unit, self.box.x0, self.box.y1 - self.size)
        small = 0.87 * self.size
        ticks = range(0, self.chart.top + 1, self.chart.grid)
        if upright:
            pitch, room = (plot.y1 - plot.y0) / (len(ticks) - 1), TICK_ROOM
        else:
            pitch = (plot.x1 - plot.x0) / (len(ticks) - 1)
            room = TICK_ROOM + width_of(str(self.chart.top), FONT, small)
        every = next(step for step in (1, 2, 4, 5, 10, 20) if pitch * step >= room or step == 20)
        for i, tick in enumerate(ticks):
            share = tick / self.chart.top
            number = str(tick) if i % every == 0 else ""
            if upright:
                y = plot.y0 + share * (plot.y1 - plot.y0)
                self.shapes.append(Line(plot.x0, y, plot.x1, y, GRID, 0.5))
                self.text(number, plot.x0 - 4, y - 2.5, anchor=1.0, size=small)
            else:
                x = plot.x0 + share * (plot.x1 - plot.x0)
                self.shapes.append(Line(x, plot.y0, x, plot.y1, GRID, 0.5))
                self.text(number, x, plot.y0 - 1.2 * self.size, anchor=0.5, size=small)
        self.shapes.append(Line(plot.x0, plot.y0, plot.x1, plot.y0, BLACK, 0.8))
        self.shapes.append(Line(plot.x0, plot.y0, plot.x0, plot.y1, BLACK, 0.8))

    def share(self, slot: str) -> float:
        """A value as a share of the axis."""
        return self.values[slot].units / self.chart.top

    def bars(self) -> None:
        """Upright bars."""
        self.axis(upright=True)
        plot, count = self.plot, len(self.chart.values)
        pitch = (plot.x1 - plot.x0) / count
        for i, slot in enumerate(self.chart.values):
            x = plot.x0 + pitch * (i + 0.5)
            top = plot.y0 + self.share(slot) * (plot.y1 - plot.y0)
            bar = Box(x - 0.32 * pitch, plot.y0, x + 0.32 * pitch, top)
            self.shapes.append(Rect(bar, self.style.accent, BLACK, 0.4))
            self.label(i, x, plot.y0 - 1.4 * self.size, pitch - 3, 0.5)
            self.value(slot, x, top + 3, anchor=0.5, bar=bar)

    def flat_bars(self) -> None:
        """Bars that lie on their side."""
        self.plot = Box(self.box.x0 + 10.4 * self.size, self.plot.y0, self.plot.x1 - 24, self.plot.y1)
        self.axis(upright=False)
        plot, count = self.plot, len(self.chart.values)
        pitch = (plot.y1 - plot.y0) / count
        for i, slot in enumerate(self.chart.values):
            y = plot.y1 - pitch * (i + 0.5)
            end = plot.x0 + self.share(slot) * (plot.x1 - plot.x0)
            bar = Box(plot.x0, y - 0.32 * pitch, end, y + 0.32 * pitch)
            self.shapes.append(Rect(bar, self.style.accent, BLACK, 0.4))
            self.label(i, plot.x0 - 4, y - 2.5, 10 * self.size, 1.0)
            self.value(slot, end + 3, y - 2.5, anchor=0.0, bar=bar)

    def line(self) -> None:
        """A line with a dot at every value."""
        self.axis(upright=True)
        plot, count = self.plot, len(self.chart.values)
        pitch = (plot.x1 - plot.x0) / count
        before: tuple[float, float] | None = None
        for i, slot in enumerate(self.chart.values):
            x = plot.x0 + pitch * (i + 0.5)
            y = plot.y0 + self.share(slot) * (plot.y1 - plot.y0)
            if before:
                self.shapes.append(Line(*before, x, y, self.style.accent, 1.4))
            dot = Box(x - 2.4, y - 2.4, x + 2.4, y + 2.4)
            self.shapes.append(Oval(dot, self.style.accent))
            self.label(i, x, plot.y0 - 1.4 * self.size, pitch - 3, 0.5)
            self.value(slot, x, y + 5, anchor=0.5, bar=dot)
            before = (x, y)

    def pie(self) -> None:
        """A pie with a legend that prints each label and its value."""
        box = self.box
        radius = (box.y1 - box.y0) / 2 - 14
        cx, cy = box.x0 + radius + 12, (box.y0 + box.y1) / 2
        circle = Box(cx - radius, cy - radius, cx + radius, cy + radius)
        total, start = sum(self.values[slot].units for slot in self.chart.values), 90.0
        pitch = 2 * self.size
        y, x = cy + 0.5 * pitch * len(self.chart.values) - 10, cx + radius + 24
        self.text(self.chart.unit, box.x0, box.y1 - self.size)
        for i, slot in enumerate(self.chart.values):
            extent = 360.0 * self.values[slot].units / total
            colour = SLICES[i % len(SLICES)]
            self.shapes.append(Oval(circle, colour, (1, 1, 1), start, extent))
            self.shapes.append(Rect(Box(x, y, x + 8, y + 8), colour))
            self.label(i, x + 14, y + 1, 12 * self.size, 0.0)
            self.value(slot, min(x + 14 + 13 * self.size, box.x1 - 20), y + 1, anchor=0.0, bar=circle)
            start += extent
            y -= pitch
