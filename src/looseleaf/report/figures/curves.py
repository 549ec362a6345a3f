"""Lines over a number: anytime memory, training, pages opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from looseleaf.report.figures.intervals import shape
from looseleaf.report.figures.markup import Markup, tag
from looseleaf.report.figures.palette import INK, LINE, MUTED, SERIES

__all__ = ["Line", "curves_figure"]

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 150, 10, 40
MOST_MARKS = 16
"""Points of a line that get their shape."""
LABEL_HEIGHT = 14


class Line(NamedTuple):
    """A named series of points (x, share from 0 to 1)."""

    name: str
    points: Sequence[tuple[float, float]]


def curves_figure(title: str, unit: str, lines: Sequence[Line]) -> Markup | None:
    """Lines with their names at their ends; `None` without points.

    Args:
        title: what it shows, for those who cannot see it.
        unit: what the x axis counts.
        lines: the series.
    """
    lines = [line for line in lines if line.points]
    if not lines:
        return None
    xs = [x for line in lines for x, _ in line.points]
    low, high = min(0.0, min(xs)), max(xs)
    width = (WIDTH - LEFT - RIGHT) / ((high - low) or 1)

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + (x - low) * width, TOP + (HEIGHT - TOP - BOTTOM) * (1 - y)

    parts = _axes(low, high, unit, place(low, 0)[1])
    ends: list[float] = []
    for series, line in enumerate(lines):
        parts += _line(line, series, [place(x, y) for x, y in line.points], ends)
    svg = tag("svg", tag("title", title), *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img")
    return tag("figure", svg)


def _axes(low: float, high: float, unit: str, base: float) -> list[Markup]:
    parts: list[Markup] = []
    for quarter in range(5):
        y = base - (base - TOP) * quarter / 4
        parts.append(
            tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", stroke=LINE, stroke_width=1)
        )
        parts.append(
            tag(
                "text",
                f"{25 * quarter} %",
                x=LEFT - 8,
                y=f"{y + 4:.1f}",
                text_anchor="end",
                font_size=11,
                fill=MUTED,
            )
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    for value, x, anchor in ((low, LEFT, "start"), (high, WIDTH - RIGHT, "end")):
        parts.append(
            tag("text", f"{value:,.0f}", x=x, y=base + 16, text_anchor=anchor, font_size=11, fill=MUTED)
        )
    parts.append(tag("text", unit, x=middle, y=base + 32, text_anchor="middle", font_size=12, fill=INK))
    return parts


def _line(line: Line, series: int, points: Sequence[tuple[float, float]], ends: list[float]) -> list[Markup]:
    colour = SERIES[series % len(SERIES)]
    every = -(-len(points) // MOST_MARKS)
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    label = y
    while any(abs(label - other) < LABEL_HEIGHT for other in ends):
        label += LABEL_HEIGHT
    ends.append(label)
    return [
        tag("polyline", points=drawn, fill="none", stroke=colour, stroke_width=2),
        *(shape(series, px, py, colour) for px, py in points[::every]),
        tag("text", line.name, x=f"{x + 10:.1f}", y=f"{label + 4:.1f}", font_size=12, fill=colour),
    ]
