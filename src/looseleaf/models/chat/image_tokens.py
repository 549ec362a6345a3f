"""How many tokens a page image takes, by model family: stated formulas, for estimates before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from looseleaf.errors import ConfigError

__all__ = ["FAMILIES", "ImageFamily", "estimate_text_tokens", "family_of"]

CHARACTERS_PER_TOKEN = 3.5
"""Characters of English text a token, on the low side of usual tokenisers (about 4), so that estimates are high."""


def estimate_text_tokens(characters: int) -> int:
    """Tokens of a text of that many characters, estimated on the high side."""
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


class ImageFamily(NamedTuple):
    """One way of counting image tokens.

    Attributes:
        name: what `image_family` calls it.
        formula: the formula in words, for the preflight report.
        tokens: from width and height in pixels to tokens.
        pixels: most pixels of an image that takes at most so many tokens (an inverse of `tokens`, by area).
    """

    name: str
    formula: str
    tokens: Callable[[int, int], int]
    pixels: Callable[[int], int]


def _patches(side: int, most: int | None = None) -> ImageFamily:
    def tokens(width: int, height: int) -> int:
        count = max(1, round(width / side)) * max(1, round(height / side))
        return count if most is None else min(count, most)

    return ImageFamily(
        f"patches-{side}", f"round(w/{side}) × round(h/{side})", tokens, lambda count: count * side * side
    )


def _openai_tiles(width: int, height: int) -> int:
    """85 + 170 a 512-pixel tile, after fitting into 2,048² and a shorter side of 768 (OpenAI, images guide, gpt-4o)."""
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    return 85 + 170 * tiles


def _openai_patches(width: int, height: int) -> int:
    """32-pixel patches, at most 1,536, times 1.62 (OpenAI, images guide, gpt-4.1-mini)."""
    patches = min(1536, math.ceil(width / 32) * math.ceil(height / 32))
    return math.ceil(patches * 1.62)


def _anthropic(width: int, height: int) -> int:
    """w × h / 750 after fitting the longer side into 1,568 (Anthropic, vision guide)."""
    scale = min(1.0, 1568 / max(width, height))
    return math.ceil(width * scale * height * scale / 750)


def _gemini(width: int, height: int) -> int:
    """258 a 768-pixel tile, one tile where both sides are at most 384 (Gemini API, image understanding)."""
    if max(width, height) <= 384:
        return 258
    return 258 * math.ceil(width / 768) * math.ceil(height / 768)


def _internvl(width: int, height: int) -> int:
    """256 a 448-pixel tile, at most 12, and one thumbnail (InternVL, dynamic high resolution)."""
    tiles = min(12, max(1, round(width / 448)) * max(1, round(height / 448)))
    return 256 * (tiles + (tiles > 1))


FAMILIES: dict[str, ImageFamily] = {
    family.name: family
    for family in (
        _patches(28),
        _patches(32),
        ImageFamily(
            "openai-tiles",
            "85 + 170 a 512-px tile",
            _openai_tiles,
            lambda count: max(1, (count - 85) // 170) * 512 * 512,
        ),
        ImageFamily(
            "openai-patches",
            "1.62 × ceil(w/32) × ceil(h/32), at most 1,536 patches",
            _openai_patches,
            lambda count: int(count / 1.62) * 32 * 32,
        ),
        ImageFamily("anthropic", "w × h / 750", _anthropic, lambda count: count * 750),
        ImageFamily("gemini", "258 a 768-px tile", _gemini, lambda count: max(1, count // 258) * 768 * 768),
        ImageFamily(
            "internvl",
            "256 a 448-px tile, at most 12, and a thumbnail",
            _internvl,
            lambda count: max(1, count // 256 - 1) * 448 * 448,
        ),
    )
}
"""Families by name. Qwen2-VL and Qwen2.5-VL merge 2 × 2 patches of 14 pixels (28), Qwen3-VL of 16 (32)."""

_BY_MODEL: tuple[tuple[str, str], ...] = (
    ("qwen3", "patches-32"),
    ("qwen", "patches-28"),
    ("internvl", "internvl"),
    ("gpt-4.1-mini", "openai-patches"),
    ("gpt-4.1-nano", "openai-patches"),
    ("gpt-5-mini", "openai-patches"),
    ("gpt-5-nano", "openai-patches"),
    ("gpt", "openai-tiles"),
    ("claude", "anthropic"),
    ("gemini", "gemini"),
    ("gemma", "gemini"),
)
"""Family by a part of the model's name, first match wins; others count in 28-pixel patches, the dearest usual way."""


def family_of(model: str, named: str = "") -> ImageFamily:
    """The family to count with.

    Args:
        model: the model's name.
        named: the user's choice, or empty to guess from the model's name.

    Raises:
        ConfigError: there is no family of that name.
    """
    if named:
        if named not in FAMILIES:
            raise ConfigError(f"There is no image family {named!r}; use one of {', '.join(FAMILIES)}.")
        return FAMILIES[named]
    lowered = model.lower()
    guessed = next((family for part, family in _BY_MODEL if part in lowered), "patches-28")
    return FAMILIES[guessed]
