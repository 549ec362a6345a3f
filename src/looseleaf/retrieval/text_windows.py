"""Pages as windows of characters, for encoders whose tokenizer is not at hand."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["text_windows"]


def text_windows(text: str, size: int) -> Iterator[str]:
    """Pieces of at most `size` characters, cut at white space where there is any in the second half of a piece.

    Args:
        text: text of a page.
        size: most characters of a piece; 0 for no limit.
    """
    rest = text.strip()
    while size and len(rest) > size:
        cut = max(rest.rfind(" ", size // 2, size + 1), rest.rfind("\n", size // 2, size + 1))
        yield rest[: cut if cut > 0 else size].strip()
        rest = rest[cut if cut > 0 else size :].strip()
    if rest:
        yield rest
