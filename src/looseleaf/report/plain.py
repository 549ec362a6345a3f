"""Text of models, documents and data shown as text, never as markup or control codes."""

from __future__ import annotations

import re

__all__ = ["markdown_text", "printable", "terminal_lines"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NOT_LINES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKDOWN = re.compile(r"[\\|`*<>]|(?<!\w)_|_(?!\w)|\](?=\()")
"""What could begin a table cell, code, emphasis, HTML, or the target of a link or image."""


def printable(text: str) -> str:
    """One line without control characters, which could rewrite a terminal."""
    return " ".join(_CONTROL.sub(" ", text).split())


def terminal_lines(text: str) -> str:
    """Lines without control characters; unlike `printable`, line ends, tabs and blanks stay as they are."""
    return _NOT_LINES.sub(" ", text)


def markdown_text(text: str) -> str:
    """One line in which Markdown and HTML mean nothing."""
    return _MARKDOWN.sub(_escaped, printable(text))


def _escaped(found: re.Match[str]) -> str:
    return {"<": "&lt;", ">": "&gt;"}.get(found[0], f"\\{found[0]}")
