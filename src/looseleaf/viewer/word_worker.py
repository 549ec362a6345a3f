"""Where the words of one page are. Runs in a process of its own, as pdfium may break on a hostile file.

`python -m looseleaf.viewer.word_worker FILE INDEX` prints a JSON list of `[word, left, top, right, bottom]`, the places
as shares of the page's width and height from its upper left corner, as it is drawn.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from looseleaf.document.guard import limit_cpu, limit_memory
from looseleaf.document.limits import Limits
from looseleaf.document.rows import Word
from looseleaf.document.words import read_lines

__all__ = ["main"]

GRID = 10_000
"""Device units across the page: pdfium converts places to whole units."""


def main() -> None:
    """Print the words of the page that the arguments name."""
    limits = Limits()
    limit_memory(limits)
    limit_cpu(limits)
    page = pypdfium2.PdfDocument(sys.argv[1])[int(sys.argv[2])]
    words = [word for line in read_lines(page.get_textpage()) for word in line]
    sys.stdout.write(json.dumps([[word.text, *_place(page, word)] for word in words]))


def _place(page: Any, word: Word) -> tuple[float, ...]:
    corners = [_on_the_drawing(page, x, y) for x, y in _corners(word)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def _corners(word: Word) -> tuple[tuple[float, float], tuple[float, float]]:
    """Two opposite corners in points, y upwards."""
    if word.turn == 0:
        return (word.left, word.base), (word.right, word.base + word.height)
    if word.turn > 0:
        return (-word.base - word.height, word.left), (-word.base, word.right)
    return (word.base, -word.right), (word.base + word.height, -word.left)


def _on_the_drawing(page: Any, x: float, y: float) -> tuple[float, float]:
    """A point as shares of the drawn page; pdfium knows how it is turned and cropped."""
    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDF_PageToDevice(page, 0, 0, GRID, GRID, 0, x, y, across, down)
    return across.value / GRID, down.value / GRID


if __name__ == "__main__":
    main()
