"""Writes laid-out pages as a PDF; scanned pages and pictures pass through pdfium and come back as images.

reportlab writes (BSD; https://docs.reportlab.com, `Canvas(invariant=1)` fixes dates and identifiers). pdfium
draws the pages that shall look scanned: it is already a dependency of the core. It runs in this process,
on one thread, on PDF bytes that were written a moment ago, never on anybody else's file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import cos, radians, sin
from typing import Any

import pypdfium2 as pdfium
from PIL import Image, ImageChops, ImageFilter
from reportlab import rl_config
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from looseleaf.procedural.dice import dice
from looseleaf.procedural.page import Box, Colour, Line, Mark, Oval, Polygon, Raster, Rect, Shape, Sheet, Text

__all__ = ["PageLabels", "Painter", "rotated"]

SCAN_DPI = 100
PICTURE_DPI = 130
SCAN_QUALITY = 60
PICTURE_QUALITY = 85
PAPER = 246
"""Grey level of the paper of a scanned page."""

PageLabels = Sequence[tuple[int, str, int]]
"""Ranges of printed labels: first physical page from 0, `ROMAN_LOWER` or `ARABIC`, first number."""


class Painter:
    """Writes documents, keeping the images of pages that do not change between twins."""

    def __init__(self) -> None:
        self._images: dict[tuple[Any, ...], bytes] = {}

    def write(self, sheets: Sequence[Sheet], title: str, labels: PageLabels) -> bytes:
        """The bytes of a PDF with these pages."""
        out = io.BytesIO()
        with _binary_streams():
            self._write(Canvas(out, invariant=1, pageCompression=1), sheets, title, labels)
        return out.getvalue()

    def _write(self, canvas: Any, sheets: Sequence[Sheet], title: str, labels: PageLabels) -> None:
        canvas.setTitle(title)
        canvas.setAuthor("looseleaf procedural documents")
        for first, style, start in labels:
            canvas.addPageLabel(first, style=style, start=start)
        for sheet in sheets:
            canvas.setPageSize((sheet.width, sheet.height))
            if sheet.scanned:
                self._image(canvas, self._scan(sheet), Box(0, 0, sheet.width, sheet.height))
            else:
                self._shapes(canvas, sheet.shapes)
            canvas.showPage()
        canvas.save()

    def _image(self, canvas: Canvas, jpeg: bytes, box: Box) -> None:
        reader = ImageReader(io.BytesIO(jpeg))
        canvas.drawImage(reader, box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0)

    def _shapes(self, canvas: Canvas, shapes: Sequence[Shape]) -> None:
        for shape in shapes:
            if isinstance(shape, Raster):
                self._image(canvas, self._picture(shape), shape.box)
            else:
                _draw(canvas, shape)

    def _picture(self, raster: Raster) -> bytes:
        """JPEG of a figure that has no text layer."""
        key = (raster,)
        if key not in self._images:
            width, height = raster.box.x1 - raster.box.x0, raster.box.y1 - raster.box.y0
            image = _render(raster.shapes, width, height, PICTURE_DPI, (raster.box.x0, raster.box.y0))
            self._images[key] = _jpeg(image.convert("RGB"), PICTURE_QUALITY)
        return self._images[key]

    def _scan(self, sheet: Sheet) -> bytes:
        """JPEG of a whole page: grey, a little crooked, a little blurred, with specks."""
        key = (sheet.width, sheet.height, sheet.skew, tuple(sheet.shapes))
        if key not in self._images:
            image = _render(sheet.shapes, sheet.width, sheet.height, SCAN_DPI).convert("L")
            image = image.rotate(sheet.skew, Image.Resampling.BILINEAR, fillcolor=255)
            image = ImageChops.multiply(image, _paper(image.size, str(sheet.skew)))
            self._images[key] = _jpeg(image.filter(ImageFilter.GaussianBlur(0.45)), SCAN_QUALITY)
        return self._images[key]


@contextmanager
def _binary_streams() -> Iterator[None]:
    """Without reportlab's base-85 coat around every stream: a fifth smaller, and a third of the time."""
    before, rl_config.useA85 = rl_config.useA85, 0
    try:
        yield
    finally:
        rl_config.useA85 = before


def rotated(mark: Mark, sheet: Sheet) -> Mark:
    """The mark of an upright page as it lies on the scanned page."""
    if not sheet.scanned:
        return mark
    angle = radians(sheet.skew)
    cx, cy = sheet.width / 2, sheet.height / 2
    corners = [(x - cx, y - cy) for x in (mark.box.x0, mark.box.x1) for y in (mark.box.y0, mark.box.y1)]
    xs = [cx + x * cos(angle) - y * sin(angle) for x, y in corners]
    ys = [cy + x * sin(angle) + y * cos(angle) for x, y in corners]
    return Mark(mark.slot_id, Box(min(xs), min(ys), max(xs), max(ys)), text=False)


def _paper(size: tuple[int, int], seed: str) -> Image.Image:
    """Paper of an old copier: a grey ground with specks."""
    rng = dice(seed)
    small = Image.frombytes("L", (size[0] // 2, size[1] // 2), rng.randbytes((size[0] // 2) * (size[1] // 2)))
    ground = small.point([PAPER - 90 if level == 0 else PAPER - level // 40 for level in range(256)])
    return ground.resize(size, Image.Resampling.BILINEAR)


def _jpeg(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def _render(
    shapes: Sequence[Shape], width: float, height: float, dpi: int, origin: tuple[float, float] = (0.0, 0.0)
) -> Image.Image:
    """Shapes as pixels."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(width, height), invariant=1, pageCompression=0)
    canvas.translate(-origin[0], -origin[1])
    for shape in _flat(shapes):
        _draw(canvas, shape)
    canvas.save()
    document = pdfium.PdfDocument(out.getvalue())
    image: Image.Image = document[0].render(scale=dpi / 72).to_pil().copy()
    document.close()
    return image


def _flat(shapes: Sequence[Shape]) -> list[Shape]:
    """Shapes with pictures opened: on a scanned page everything is one picture anyway."""
    found: list[Shape] = []
    for shape in shapes:
        found.extend(_flat(shape.shapes) if isinstance(shape, Raster) else [shape])
    return found


def _draw(canvas: Any, shape: Shape) -> None:
    match shape:
        case Text():
            _text(canvas, shape)
        case Line():
            _pen(canvas, shape.colour, shape.width)
            canvas.line(shape.x0, shape.y0, shape.x1, shape.y1)
        case Rect():
            x0, y0, x1, y1 = shape.box
            fill, stroke = _pens(canvas, shape.fill, shape.stroke, shape.width)
            canvas.rect(x0, y0, x1 - x0, y1 - y0, stroke=stroke, fill=fill)
        case Polygon():
            fill, stroke = _pens(canvas, shape.fill, shape.stroke, shape.width)
            path = canvas.beginPath()
            path.moveTo(*shape.points[0])
            for point in shape.points[1:]:
                path.lineTo(*point)
            path.close()
            canvas.drawPath(path, stroke=stroke, fill=fill)
        case Oval():
            fill, stroke = _pens(canvas, shape.fill, shape.stroke, 0.6)
            if shape.extent >= 360:
                canvas.ellipse(*shape.box, stroke=stroke, fill=fill)
            else:
                canvas.wedge(*shape.box, shape.start, shape.extent, stroke=stroke, fill=fill)


def _text(canvas: Any, shape: Text) -> None:
    run = canvas.beginText(shape.x, shape.y)
    run.setFont(shape.font, shape.size)
    run.setFillColorRGB(*shape.colour)
    if shape.space:
        run.setWordSpace(round(shape.space, 3))
    run.textOut(shape.text)
    if shape.space:
        run.setWordSpace(0)
    canvas.drawText(run)


def _pen(canvas: Any, colour: Colour, width: float) -> None:
    canvas.setStrokeColorRGB(*colour)
    canvas.setLineWidth(width)


def _pens(canvas: Any, fill: Colour | None, stroke: Colour | None, width: float) -> tuple[int, int]:
    if fill:
        canvas.setFillColorRGB(*fill)
    if stroke:
        _pen(canvas, stroke, width)
    return int(fill is not None), int(stroke is not None)
