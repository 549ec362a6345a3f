"""A few SVG elements as text. Figures are drawn without a plotting library: they must be there in the core install,
stand inside one HTML file, and cost milliseconds."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["document", "line", "path", "rect", "text"]

FONT = "font-family='system-ui, sans-serif'"


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A whole figure with a title for screen readers."""
    name = escape(title, quote=True)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' width='{width:g}' "
        f"height='{height:g}' role='img' aria-label='{name}' {FONT}><title>{name}</title>"
        f"<rect width='{width:g}' height='{height:g}' fill='white'/>{''.join(parts)}</svg>\n"
    )


def text(
    x: float, y: float, words: str, *, size: float = 11, anchor: str = "start", fill: str = "#222"
) -> str:
    """Words, escaped."""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size:g}' text-anchor='{anchor}' fill='{fill}'>"
        f"{escape(words)}</text>"
    )


def line(
    x1: float, y1: float, x2: float, y2: float, *, stroke: str = "#888", width: float = 1, dash: str = ""
) -> str:
    """A straight line."""
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{stroke}' "
        f"stroke-width='{width:g}'{dashes}/>"
    )


def rect(x: float, y: float, width: float, height: float, *, fill: str, stroke: str = "none") -> str:
    """A rectangle."""
    return f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' fill='{fill}' stroke='{stroke}'/>"


def path(
    points: Iterable[tuple[float, float]],
    *,
    stroke: str = "none",
    fill: str = "none",
    width: float = 1.6,
    opacity: float = 1.0,
    dash: str = "",
) -> str:
    """A line through points, or a filled area."""
    data = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    return (
        f"<path d='M{data}' stroke='{stroke}' fill='{fill}' stroke-width='{width:g}' "
        f"opacity='{opacity:g}' stroke-linejoin='round'{dashes}/>"
    )
