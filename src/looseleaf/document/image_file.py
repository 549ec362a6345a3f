"""`ImageFile`: one image file (PNG, JPEG, WebP, TIFF) as pages. Used by the worker only."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image, ImageOps

from .facts import DEFAULT_DPI, PageImage, RenderSettings
from .limits import MAX_PAGES
from .messages import Scan
from .raster import OCR_SETTINGS, POINTS_PER_INCH, encode, fitting_scale, scan
from .refusal import Refusal

__all__ = ["IMAGE_FORMATS", "ImageFile"]

IMAGE_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF")
"""The only decoders that a page image may reach."""

_POINTS_PER_PIXEL = POINTS_PER_INCH / DEFAULT_DPI
"""A page image counts as rendered at `DEFAULT_DPI`, so that the default resolution keeps its pixels."""

_TOO_LARGE = "has more pixels than are safe to decode; scale it down to at most {:,} pixels"
_DAMAGED = "is damaged or is not a PNG, JPEG, WebP or TIFF image; export it again"


class ImageFile:
    """An open image file; pages (the frames of a TIFF) are 0-based here."""

    def __init__(self, path: str) -> None:
        with _decoding():
            self._image = Image.open(path, formats=IMAGE_FORMATS)
            # Only a TIFF's frames are pages; those of a WebP or PNG are an animation.
            self.page_count = getattr(self._image, "n_frames", 1) if self._image.format == "TIFF" else 1
        if self.page_count > MAX_PAGES:
            raise Refusal(f"claims {self.page_count:,} pages; split it into files of at most {MAX_PAGES:,}")

    def close(self) -> None:
        """Close the file."""
        self._image.close()

    def labels(self) -> tuple[str, ...]:
        """Page images have no printed labels."""
        return ("",) * self.page_count

    def size(self, index: int) -> tuple[float, float]:
        """Width and height of a page in points, upright.

        Raises:
            Refusal: the image is damaged or too large.
        """
        with _decoding():
            self._image.seek(index)
            width, height = self._image.size
            if self._image.getexif().get(_ORIENTATION) in _ON_ITS_SIDE:
                width, height = height, width
        return width * _POINTS_PER_PIXEL, height * _POINTS_PER_PIXEL

    def text(self, index: int) -> str:
        """Images have no text layer."""
        return ""

    def render(self, index: int, settings: RenderSettings) -> PageImage:
        """Decode a page upright, flatten it on white, and scale it down where the settings ask for less.

        Raises:
            Refusal: the image is damaged or too large.
        """
        return encode(self._picture(index, settings))

    def scans(self, index: int, *, whole: bool) -> tuple[Scan, ...]:
        """The page, for OCR; an image has no text of its own, so all of it must be read.

        Raises:
            Refusal: the image is damaged or too large.
        """
        picture = self._picture(index, OCR_SETTINGS)
        width, height = self.size(index)
        found = scan(picture, picture.width / width, (0.0, 0.0, width, height))
        return (found,) if found else ()

    def _picture(self, index: int, settings: RenderSettings) -> Image.Image:
        with _decoding():
            self._image.seek(index)
            return _scaled(_flattened(ImageOps.exif_transpose(self._image)), settings)


@contextmanager
def _decoding() -> Iterator[None]:
    """Turn what Pillow raises into refusals. Its decoders raise exceptions of many types on damaged files."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            yield
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Refusal(_TOO_LARGE.format(Image.MAX_IMAGE_PIXELS)) from error
    except (MemoryError, Refusal):
        raise
    except Exception as error:
        raise Refusal(_DAMAGED) from error


_ORIENTATION = 0x0112
_ON_ITS_SIDE = (5, 6, 7, 8)
"""EXIF orientations that swap width and height (Exif 2.32, table 6)."""


def _flattened(image: Image.Image) -> Image.Image:
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    paper = Image.new("RGBA", layer.size, "white")
    return Image.alpha_composite(paper, layer).convert("RGB")


def _scaled(image: Image.Image, settings: RenderSettings) -> Image.Image:
    width, height = image.width * _POINTS_PER_PIXEL, image.height * _POINTS_PER_PIXEL
    scale = fitting_scale(width, height, settings)
    if scale >= 1 / _POINTS_PER_PIXEL:
        return image
    return image.resize((math.ceil(width * scale), math.ceil(height * scale)), Image.Resampling.LANCZOS)
