"""The four outcome cells as a mosaic: every area is a share of the rows."""

from __future__ import annotations

from collections.abc import Mapping

from looseleaf.report.figures.markup import Markup, tag
from looseleaf.report.figures.palette import CELL_COLOURS, INK, MUTED

__all__ = ["NAMES", "cells_figure"]

NAMES = {
    "11": "memory-supported correct",
    "10": "memory-missing correct",
    "01": "answering error",
    "00": "unresolved error",
}
"""Names of the cells by (s_ans, s_mem)."""
WIDTH, HEIGHT, LEFT, TOP = 560, 250, 0, 26
LIGHT = frozenset({"10", "01", "00"})
"""Cells whose fill needs dark text."""
SMALL_WIDTH, SMALL_HEIGHT = 150, 36
"""A cell below this has no room for its label; the legend has it."""


def cells_figure(shares: Mapping[str, float | None]) -> Markup | None:
    """The mosaic and its legend; `None` where the shares are undefined.

    Args:
        shares: by cell, `11` to `00`.
    """
    known = {cell: share for cell, share in shares.items() if share is not None}
    if len(known) < len(NAMES) or not sum(known.values()):
        return None
    parts: list[Markup] = []
    x = float(LEFT)
    for answer, title in (("1", "answer right"), ("0", "answer wrong")):
        share = known[f"{answer}1"] + known[f"{answer}0"]
        width = WIDTH * share
        if share:
            last = answer == "0"
            parts.append(
                tag(
                    "text",
                    f"{title}: {100 * share:.1f} %",
                    x=WIDTH if last else 0,
                    y=16,
                    text_anchor="end" if last else "start",
                    fill=MUTED,
                    font_size=12,
                )
            )
            parts += _column(answer, known, x, width, share)
        x += width
    return tag(
        "figure",
        tag(
            "svg",
            tag("title", "Outcome cells: width is the answer, height is the memory"),
            *parts,
            viewBox=f"0 0 {WIDTH} {HEIGHT + TOP + 4}",
            role="img",
            class_="mosaic",
        ),
        _legend(known),
    )


def _column(answer: str, known: Mapping[str, float], x: float, width: float, share: float) -> list[Markup]:
    parts: list[Markup] = []
    y = float(TOP)
    for memory in "10":
        cell = answer + memory
        height = HEIGHT * known[cell] / share
        if height:
            parts.append(
                tag(
                    "rect",
                    x=f"{x + 1:.1f}",
                    y=f"{y + 1:.1f}",
                    width=f"{max(width - 2, 0.5):.1f}",
                    height=f"{max(height - 2, 0.5):.1f}",
                    fill=CELL_COLOURS[cell],
                )
            )
            parts += _label(cell, known[cell], x, y, width, height)
        y += height
    return parts


def _label(cell: str, share: float, x: float, y: float, width: float, height: float) -> list[Markup]:
    if width < SMALL_WIDTH or height < SMALL_HEIGHT:
        return []
    fill = INK if cell in LIGHT else "#ffffff"
    return [
        tag("text", f"{100 * share:.1f} %", x=f"{x + 10:.1f}", y=f"{y + 18:.1f}", fill=fill, font_size=14,
            font_weight=700),
        tag("text", NAMES[cell], x=f"{x + 10:.1f}", y=f"{y + 32:.1f}", fill=fill, font_size=11),
    ]  # fmt: skip


def _legend(known: Mapping[str, float]) -> Markup:
    entries = [
        tag(
            "li",
            tag("span", "", class_="swatch", style=f"background:{CELL_COLOURS[cell]}"),
            tag("b", f"{100 * known[cell]:.1f} %"),
            f" ({cell[0]}, {cell[1]}) {name}",
        )
        for cell, name in NAMES.items()
    ]
    return tag("figcaption", tag("ul", *entries, class_="legend"))
