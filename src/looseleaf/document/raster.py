"""Pixels: how large a page is rendered, and how an image becomes a `PageImage`."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, cast

from .facts import DEFAULT_DPI, JPEG_QUALITY, PageImage, RenderSettings
from .limits import MAX_PIXELS, MAX_SIDE
from .messages import Scan
from .refusal import Refusal

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["OCR_SETTINGS", "POINTS_PER_INCH", "Box", "encode", "fitting_scale", "scan"]

POINTS_PER_INCH = 72
"""The PDF unit (ISO 32000-1, 8.3.2.3); pdfium ignores a page's UserUnit."""

OCR_SETTINGS = RenderSettings(2 * DEFAULT_DPI, 16_000_000)
"""How pages are rendered for OCR: twice what is read at first, for the lines that must be read again."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in points from the page's upper left corner."""


def fitting_scale(width: float, height: float, settings: RenderSettings) -> float:
    """Pixels a point for a page of `width` × `height` points.

    The asked resolution, or less where the image would exceed `settings.max_pixels`, `MAX_PIXELS` or
    `MAX_SIDE`: a page box may be anything from nothing to 2^31 points. Image sides are rounded up.

    Raises:
        Refusal: the page has no area, or a side would be less than a pixel.
    """
    if not (0 < width < math.inf and 0 < height < math.inf):
        raise Refusal("has no area, so it cannot be shown; its text can still be used")
    scale = min(settings.dpi / POINTS_PER_INCH, (MAX_SIDE - 1) / max(width, height))
    pixels = min(settings.max_pixels, MAX_PIXELS)
    if math.ceil(width * scale) * math.ceil(height * scale) > pixels:
        scale = _scale_for(width, height, pixels)
    if min(width, height) * scale < 1:
        raise Refusal("is less than a pixel high or wide, so it cannot be shown; its text can still be used")
    return scale


def _scale_for(width: float, height: float, pixels: int) -> float:
    """Largest scale at which (width * scale + 1) * (height * scale + 1) is at most `pixels`.

    The ones are for rounding up: pdfium's sides are the ceilings, and a cap is a cap.
    """
    half = (1 / width + 1 / height) / 2
    return math.sqrt(half * half + (pixels - 1) / width / height) - half


def encode(image: Image.Image) -> PageImage:
    """Encode an RGB image as JPEG."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return PageImage(buffer.getvalue(), image.width, image.height)


def scan(picture: Image.Image, scale: float, box: Box) -> Scan | None:
    """A part of a rendered page for OCR, or `None` where there is nothing on it."""
    left, top = max(math.floor(box[0] * scale), 0), max(math.floor(box[1] * scale), 0)
    right, bottom = (
        min(math.ceil(box[2] * scale), picture.width),
        min(math.ceil(box[3] * scale), picture.height),
    )
    part = picture.crop((left, top, right, bottom))
    if all(low == high for low, high in _extremes(part)):
        return None
    return Scan(part.tobytes(), part.width, part.height, scale, left / scale, top / scale)


def _extremes(picture: Image.Image) -> tuple[tuple[float, float], ...]:
    """Darkest and lightest value of each colour."""
    return cast("tuple[tuple[float, float], ...]", picture.getextrema())
