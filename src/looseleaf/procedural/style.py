"""`Style`: the look of one document, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from looseleaf.procedural.page import Colour

__all__ = ["FormKind", "Style", "draw_style"]

FormKind = Literal["report", "paper", "slides", "manual", "form"]
"""Kinds of generated documents."""

A4 = (595.0, 842.0)
LETTER = (612.0, 792.0)
SLIDE = (720.0, 405.0)
SERIF = ("Times-Roman", "Times-Bold", "Times-Italic")
SANS = ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique")
ACCENTS: tuple[Colour, ...] = (
    (0.11, 0.24, 0.42), (0.48, 0.13, 0.17), (0.10, 0.36, 0.28), (0.32, 0.18, 0.45), (0.55, 0.33, 0.05),
    (0.15, 0.15, 0.17), (0.02, 0.42, 0.53),
)  # fmt: skip
LABEL_FORMS = ("{}", "- {} -", "Page {}", "| {} |")

TableLook = Literal["ruled", "boxed", "striped"]


@dataclass(frozen=True)
class Style:
    """The look of one document.

    Attributes:
        page: width and height in points.
        margin: left, right, top and bottom margin.
        body, bold, italic, head: font names.
        size, leading: of the body text in points.
        accent: colour of headings and charts.
        look: rules of the tables.
        justify: whether body text fills the line.
        label_form: how the page number is printed at the foot.
        slide: whether every chapter heading sits in a band at the top.
    """

    page: tuple[float, float]
    margin: tuple[float, float, float, float]
    body: str
    bold: str
    italic: str
    head: str
    size: float
    leading: float
    accent: Colour
    look: TableLook
    justify: bool
    label_form: str
    slide: bool

    @property
    def chart_size(self) -> float:
        """Font size inside charts and figures."""
        return 10.5 if self.slide else 7.5

    @property
    def tint(self) -> Colour:
        """A light shade of the accent."""
        r, g, b = self.accent
        return (0.88 + 0.12 * r, 0.88 + 0.12 * g, 0.88 + 0.12 * b)


def draw_style(kind: FormKind, rng: Random) -> Style:
    """A look that suits the kind of document."""
    body, bold, italic = SERIF if kind == "paper" or rng.random() < 0.5 else SANS
    size = {"paper": 9.2, "slides": 15.0, "form": 9.8}.get(kind, rng.choice((9.8, 10.3, 10.8)))
    side = {"paper": 50.0, "slides": 44.0}.get(kind, rng.choice((56.0, 64.0, 74.0)))
    return Style(
        page=SLIDE if kind == "slides" else rng.choice((A4, LETTER)),
        margin=(side, side, 84.0 if kind == "slides" else 72.0, 40.0 if kind == "slides" else 64.0),
        body=body,
        bold=bold,
        italic=italic,
        head=rng.choice((SANS[1], bold)),
        size=size,
        leading=round(size * rng.choice((1.25, 1.32, 1.4)), 2),
        accent=rng.choice(ACCENTS),
        look=rng.choice(("ruled", "boxed", "striped")),
        justify=kind != "slides" and rng.random() < 0.6,
        label_form=rng.choice(LABEL_FORMS),
        slide=kind == "slides",
    )
