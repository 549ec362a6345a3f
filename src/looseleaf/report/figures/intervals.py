"""Values with their intervals, one line a label: breakdowns, and differences of two runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from looseleaf.report.figures.markup import Markup, tag
from looseleaf.report.figures.palette import INK, LINE, MUTED, SERIES

__all__ = ["Mark", "intervals_figure", "shape"]

WIDTH = 720
LABEL = 210
"""Width of the column of labels."""
RIGHT = 24
ROW = 16
"""Height of one series within a label."""
GAP = 12
LONGEST_LABEL = 32

Place = Callable[[float], float]
"""From a value to where it stands on the axis."""


class Mark(NamedTuple):
    """One value with its interval, in the units of the axis; `None` where undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


def intervals_figure(
    title: str,
    names: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Mark]]],
    *,
    low: float = 0.0,
    high: float = 100.0,
    unit: str = "%",
) -> Markup | None:
    """A dot and a line for every value; `None` where there is none.

    Args:
        title: what it shows, for those who cannot see it.
        names: of the series, one a mark.
        rows: label and marks of each series.
        low: left end of the axis.
        high: right end of the axis.
        unit: of the axis.
    """
    if not any(mark.value is not None for _, marks in rows for mark in marks):
        return None
    step = ROW * len(names) + GAP
    bottom = step * len(rows) + 4
    scale = (WIDTH - LABEL - RIGHT) / (high - low)

    def x(value: float) -> float:
        return LABEL + (min(max(value, low), high) - low) * scale

    parts = [*_axis(x, low, high, bottom, unit)]
    for place, (label, marks) in enumerate(rows):
        top = place * step + GAP / 2
        parts.append(_label(label, top + ROW * len(names) / 2))
        for series, mark in enumerate(marks):
            parts += _mark(mark, series, top + ROW * (series + 0.5), x)
    svg = tag("svg", tag("title", title), *parts, viewBox=f"0 0 {WIDTH} {bottom + 24}", role="img")
    return tag("figure", _key(names), svg)


def _label(label: str, y: float) -> Markup:
    short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    return tag(
        "text",
        short,
        x=LABEL - 12,
        y=f"{y:.1f}",
        text_anchor="end",
        dominant_baseline="middle",
        font_size=12,
        fill=INK,
    )


def _axis(x: Place, low: float, high: float, bottom: float, unit: str) -> list[Markup]:
    parts: list[Markup] = []
    for quarter in range(5):
        value = low + (high - low) * quarter / 4
        parts.append(tag("line", x1=f"{x(value):.1f}", x2=f"{x(value):.1f}", y1=0, y2=bottom, stroke=LINE))
        parts.append(
            tag("text", f"{value:g} {unit}".strip(), x=f"{x(value):.1f}", y=bottom + 16, text_anchor="middle",
                font_size=11, fill=MUTED)
        )  # fmt: skip
    if low < 0 < high:
        parts.append(
            tag("line", x1=f"{x(0):.1f}", x2=f"{x(0):.1f}", y1=0, y2=bottom, stroke=INK, stroke_width=1.5)
        )
    return parts


def _mark(mark: Mark, series: int, y: float, x: Place) -> list[Markup]:
    if mark.value is None:
        return [
            tag(
                "text",
                "undefined",
                x=LABEL + 4,
                y=f"{y + 3:.1f}",
                font_size=10,
                fill=MUTED,
                font_style="italic",
            )
        ]
    parts: list[Markup] = []
    colour = SERIES[series % len(SERIES)]
    if mark.low is not None and mark.high is not None:
        parts.append(
            tag("line", x1=f"{x(mark.low):.1f}", x2=f"{x(mark.high):.1f}", y1=f"{y:.1f}", y2=f"{y:.1f}",
                stroke=colour, stroke_width=2)
        )  # fmt: skip
    return [*parts, shape(series, x(mark.value), y, colour)]


def shape(series: int, x: float, y: float, colour: str) -> Markup:
    """The mark of a series: circle, square, triangle or diamond."""
    points = {
        1: ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        2: ((0, -5), (5, 4), (-5, 4)),
        3: ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
    }.get(series % len(SERIES))
    if points is None:
        return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=4.5, fill=colour)
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)
    return tag("polygon", points=corners, fill=colour)


def _key(names: Sequence[str]) -> Markup | None:
    if len(names) < 2:
        return None
    return tag(
        "ul",
        *(
            tag(
                "li",
                tag("svg", shape(place, 7, 7, SERIES[place % len(SERIES)]), viewBox="0 0 14 14", class_="key",
                    aria_hidden="true"),
                name,
            )
            for place, name in enumerate(names)
        ),
        class_="legend",
    )  # fmt: skip
