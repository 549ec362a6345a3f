"""Cleaning of a page's text layer."""

from __future__ import annotations

import re

__all__ = ["tidy"]

_LINE_END_HYPHEN = "\ufffe"
"""What pdfium emits for a hyphen that divides a word at a line end; it drops the line break with it."""

_LINE_BREAK = re.compile(r"\r\n?")


def tidy(text: str) -> str:
    """Join words divided at line ends and use `\\n` for line breaks."""
    return _LINE_BREAK.sub("\n", text.replace(_LINE_END_HYPHEN, ""))
