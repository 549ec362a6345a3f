"""Pages as windows of tokens, each short enough for an encoder that reads only so many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["token_windows"]


def token_windows(tokens: Sequence[int], size: int, overlap: int) -> Iterator[Sequence[int]]:
    """Windows of at most `size` tokens; each begins `overlap` tokens before the end of the last one.

    A page's score is that of its best window, so that what one paragraph says is not averaged away. The last window
    ends with the last token and begins earlier rather than being short.

    Args:
        tokens: tokens of a page.
        size: most tokens of a window.
        overlap: tokens that neighbours share, below `size`.
    """
    if not tokens:
        return
    last = max(len(tokens) - size, 0)
    for start in range(0, last + size - overlap, size - overlap):
        yield tokens[min(start, last) : min(start, last) + size]
        if start >= last:
            return
