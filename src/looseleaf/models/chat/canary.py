"""The canary: a generated page with a code word, which only a model that gets the image can read."""

from __future__ import annotations

import io
import random
import re
from typing import NamedTuple

from looseleaf.models.chat.image_tokens import ImageFamily
from looseleaf.models.chat.message import ImagePart

__all__ = ["Canary", "blank_page"]

WORDS = ("MAPLE", "HARBOR", "COPPER", "VIOLIN", "GLACIER", "PEPPER", "LANTERN", "FALCON")
WIDTH, HEIGHT = 640, 448
"""Pixels: multiples of 28 and 32 at least nearly, so that families of both patch sizes count close to their formula."""
BLANK_SIDE = 64
"""Side of the images that probe counts and bytes: few tokens."""
COMMENT = b"\xff\xfe"
"""JPEG marker of a comment segment (ITU T.81, table B.1); decoders pass it over."""
MOST_COMMENT = 65_533
"""Most bytes of a comment: its length field of two bytes counts itself."""


class Canary(NamedTuple):
    """One canary page.

    Attributes:
        word: the code word.
        number: the code number.
        image: the page.
    """

    word: str
    number: str
    image: ImagePart

    @classmethod
    def draw(cls, family: ImageFamily, rng: random.Random) -> Canary:
        """A new page with a code that nobody can know."""
        from PIL import Image, ImageDraw, ImageFont

        word, number = rng.choice(WORDS), str(rng.randrange(1000, 10_000))
        page = Image.new("RGB", (WIDTH, HEIGHT), "white")
        drawing = ImageDraw.Draw(page)
        font = ImageFont.load_default(96)
        drawing.text((40, 80), word, fill="black", font=font)
        drawing.text((40, 240), number, fill="black", font=font)
        buffer = io.BytesIO()
        page.save(buffer, "JPEG", quality=90)
        return cls(word, number, ImagePart.of_jpeg(buffer.getvalue(), family.tokens(WIDTH, HEIGHT)))

    def read_in(self, reply: str) -> bool:
        """Whether a reply names word and number."""
        plain = re.sub(r"[^A-Z0-9]", "", reply.upper())
        return self.word in plain and self.number in plain


def blank_page(size: int, family: ImageFamily) -> ImagePart:
    """A white image of few tokens and at least `size` bytes: comment segments make it heavy."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (BLANK_SIDE, BLANK_SIDE), "white").save(buffer, "JPEG")
    jpeg = buffer.getvalue()
    missing = max(0, size - len(jpeg))
    whole, rest = divmod(missing, MOST_COMMENT)
    comments = [MOST_COMMENT] * whole + ([rest] if rest else [])
    padding = b"".join(COMMENT + (length + 2).to_bytes(2, "big") + bytes(length) for length in comments)
    return ImagePart.of_jpeg(jpeg[:2] + padding + jpeg[2:], family.tokens(BLANK_SIDE, BLANK_SIDE))
