"""Elements of HTML and SVG in which every text and attribute is escaped."""

from __future__ import annotations

import re
from html import escape

__all__ = ["Markup", "tag"]

VOID = frozenset({"meta", "br", "hr"})
"""Elements without an end tag that the report uses."""


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that HTML does not allow."""


class Markup(str):
    """Text that is markup already; everything else is escaped."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: object) -> Markup:
    """One element.

    Args:
        name: of the element.
        children: markup as it is, other text escaped, `None` left out.
        attributes: `class_` stands for `class` and `_` for `-`; `None` is left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{given}>")
    inner = "".join(
        child if isinstance(child, Markup) else _escaped(child) for child in children if child is not None
    )
    return Markup(f"<{name}{given}>{inner}</{name}>")


def _escaped(text: str) -> str:
    return escape(_CONTROL.sub(" ", text))
