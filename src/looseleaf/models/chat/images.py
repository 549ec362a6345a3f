"""Page images for a conversation: made small enough, encoded once, off the event loop."""

from __future__ import annotations

import asyncio
import io
import math
import weakref
from collections.abc import Sequence

from looseleaf.document import PageImage
from looseleaf.document.facts import JPEG_QUALITY
from looseleaf.models.chat.image_tokens import ImageFamily
from looseleaf.models.chat.message import ImagePart
from looseleaf.models.chat.options import ChatOptions
from looseleaf.roles import PolicyView

__all__ = ["OPENING_TOKEN_BUDGET", "PageImages", "page_scale", "shrink"]

OPENING_TOKEN_BUDGET = 96_000
"""Most tokens of the pages that a protocol shows all at once: they fit a context of 128k with room for the rest."""

MIN_PAGE_TOKENS = 16
"""A page is never made smaller than this, whatever the budget: below it there is nothing to see."""


class PageImages:
    """Encodes the pages that a view shows, each once for a trajectory.

    Args:
        options: size limits.
        family: how to count tokens.
    """

    def __init__(self, options: ChatOptions, family: ImageFamily) -> None:
        self._options = options
        self._family = family
        self._encoded: weakref.WeakKeyDictionary[PolicyView, dict[tuple[int, int | None], ImagePart]] = (
            weakref.WeakKeyDictionary()
        )

    async def parts(self, view: PolicyView, pages: Sequence[int], *, opening: bool) -> list[ImagePart]:
        """The images of pages that one observation shows, in order.

        Args:
            view: where the pages come from.
            pages: physical pages, shown by this observation.
            opening: whether it is the opening observation of a protocol that shows pages first.

        Raises:
            DocumentError: a page cannot be rendered.
        """
        known = self._known(view)
        cap = self._cap(len(pages), opening)
        for page in pages:
            if (page, cap) not in known:
                known[page, cap] = await asyncio.to_thread(self._encode, view, page, cap)
        return [known[page, cap] for page in pages]

    def _known(self, view: PolicyView) -> dict[tuple[int, int | None], ImagePart]:
        """What was encoded for this view; a view that cannot be remembered has its pages encoded anew every turn."""
        try:
            return self._encoded.setdefault(view, {})
        except TypeError:
            return {}

    def _cap(self, pages: int, opening: bool) -> int | None:
        """Most pixels of each page of an observation with so many pages."""
        budget = self._options.image_token_budget or (OPENING_TOKEN_BUDGET if opening else None)
        caps = [self._options.max_image_pixels] if self._options.max_image_pixels else []
        if budget is not None and pages:
            caps.append(self._family.pixels(max(MIN_PAGE_TOKENS, budget // pages)))
        return min(caps, default=None)

    def _encode(self, view: PolicyView, page: int, cap: int | None) -> ImagePart:
        image = shrink(view.page_image(page), cap, self._options.max_image_side)
        return ImagePart.of_jpeg(image.jpeg, self._family.tokens(image.width, image.height))


def shrink(image: PageImage, max_pixels: int | None, max_side: int | None) -> PageImage:
    """The image with at most so many pixels and no longer side, resampled by Lanczos; unchanged if it fits."""
    scale = page_scale(image.width, image.height, max_pixels, max_side)
    if scale >= 1:
        return image
    from PIL import Image

    width, height = (max(1, math.floor(side * scale)) for side in (image.width, image.height))
    with Image.open(io.BytesIO(image.jpeg)) as opened:
        small = opened.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return PageImage(buffer.getvalue(), width, height)


def page_scale(width: int, height: int, max_pixels: int | None, max_side: int | None) -> float:
    """By how much an image of that size is made smaller; 1 where it fits."""
    scales = [1.0]
    if max_pixels is not None:
        scales.append(math.sqrt(max_pixels / (width * height)))
    if max_side is not None:
        scales.append(max_side / max(width, height))
    return min(scales)
