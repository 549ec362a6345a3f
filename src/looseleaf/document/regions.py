"""Parts of a PDF page that show pictures without text of their own. Used by the page worker only."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from .raster import Box

__all__ = ["MIN_REGION_SHARE", "image_regions"]

MIN_REGION_SHARE = 0.05
"""Least share of the page that a picture must cover to be read by OCR; logos and icons stay below."""

MIN_REGION_CHARACTERS = 20
"""Characters of the text layer over a picture from which it counts as having text (a background, a scan)."""

_MAX_OBJECTS = 5_000
"""How many page objects are looked at; a page of more is a drawing, and its pictures are not looked for."""

_MAX_DEPTH = 4
"""How deep pictures are looked for in forms; 8 % of 1,010 real pages have theirs in one."""

_TOUCHING = 2.0
"""Pictures that are at most so many points apart are one: scanners and printers cut pictures into strips."""

_Rectangle = tuple[float, float, float, float]
"""Left, bottom, right and top in the page's own coordinates."""


def image_regions(page: Any) -> list[Box]:
    """Boxes of the pictures that cover at least `MIN_REGION_SHARE` of a page and have no text over them."""
    width, height = page.get_size()
    found = _merged(list(_pictures(page)))
    if not found:
        return []
    boxes: list[Box] = []
    with closing(page.get_textpage()) as textpage:
        for rectangle in found:
            box = _on_page(page, rectangle)
            large = (box[2] - box[0]) * (box[3] - box[1]) >= MIN_REGION_SHARE * width * height
            if large and len(textpage.get_text_bounded(*rectangle).strip()) < MIN_REGION_CHARACTERS:
                boxes.append(box)
    return boxes


def _pictures(page: Any) -> Iterator[_Rectangle]:
    """Rectangles of all pictures of a page, also those inside forms."""
    waiting: list[tuple[Any, pypdfium2.PdfMatrix, int]] = [(page, pypdfium2.PdfMatrix(), 0)]
    seen = 0
    while waiting:
        parent, matrix, depth = waiting.pop()
        count, get = _access(parent, depth)
        for index in range(count):
            seen += 1
            if seen > _MAX_OBJECTS:
                return
            item = get(parent, index)
            kind = pdfium.FPDFPageObj_GetType(item)
            if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                yield _bounds(item, matrix)
            elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
                waiting.append((item, _matrix(item).multiply(matrix), depth + 1))


def _access(parent: Any, depth: int) -> tuple[int, Any]:
    """Number of the objects of a page or form, and the function that gets one."""
    if depth == 0:
        return pdfium.FPDFPage_CountObjects(parent), pdfium.FPDFPage_GetObject
    return pdfium.FPDFFormObj_CountObjects(parent), pdfium.FPDFFormObj_GetObject


def _matrix(form: Any) -> pypdfium2.PdfMatrix:
    raw = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(form, raw)
    return pypdfium2.PdfMatrix.from_raw(raw)


def _bounds(item: Any, matrix: pypdfium2.PdfMatrix) -> _Rectangle:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top)
    bounds: _Rectangle = matrix.on_rect(left.value, bottom.value, right.value, top.value)
    return bounds


def _merged(rectangles: list[_Rectangle]) -> list[_Rectangle]:
    """Rectangles with those that touch joined into one."""
    merged: list[_Rectangle] = []
    for rectangle in rectangles:
        joined = rectangle
        for other in [other for other in merged if _touch(other, rectangle)]:
            merged.remove(other)
            joined = (
                min(joined[0], other[0]),
                min(joined[1], other[1]),
                max(joined[2], other[2]),
                max(joined[3], other[3]),
            )
        merged.append(joined)
    return merged


def _touch(one: _Rectangle, other: _Rectangle) -> bool:
    return (
        one[0] <= other[2] + _TOUCHING
        and other[0] <= one[2] + _TOUCHING
        and one[1] <= other[3] + _TOUCHING
        and other[1] <= one[3] + _TOUCHING
    )


def _on_page(page: Any, rectangle: _Rectangle) -> Box:
    """A rectangle as it is seen: within the crop box, turned as the page is, from its upper left corner."""
    width, height = page.get_size()
    corners = [_device(page, x, y) for x in rectangle[::2] for y in rectangle[1::2]]
    across = sorted(min(max(x, 0.0), width) for x, _ in corners)
    down = sorted(min(max(y, 0.0), height) for _, y in corners)
    return across[0], down[0], across[-1], down[-1]


_FINE = 16
"""Device units a point: pdfium gives whole numbers."""


def _device(page: Any, x: float, y: float) -> tuple[float, float]:
    width, height = page.get_size()
    across, down = ctypes.c_int(), ctypes.c_int()
    size = (round(width * _FINE), round(height * _FINE))
    pdfium.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, across, down)
    return across.value / _FINE, down.value / _FINE
