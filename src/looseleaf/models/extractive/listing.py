"""`Listing`: items found together, and what several ways to find them share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from looseleaf.models.extractive.words import stem_set

__all__ = ["HEAD", "ITEM_WORDS", "LEAST_COVERAGE", "SHORT_ITEM", "Listing", "heads"]

LEAST_COVERAGE: Final = 0.3
"""Share of the question that a listing must cover to be looked at."""
SHORT_ITEM: Final = 8
"""Words of an item that names something rather than saying something about it."""
ITEM_WORDS: Final = stem_set("step item point part thing option reason")
"""Words for the items of any list, which need not call them so."""
HEAD_SHARE: Final = 0.7
HEAD: Final = re.compile(r"^(.{2,60}?)(?:\s+\(|:\s|\s[–—-]\s|\.\s)")
"""What an item names, before its explanation ("Name: …", "Name (…)")."""


class Listing(msgspec.Struct, frozen=True):
    """Items found together.

    Attributes:
        page: where they stand.
        items: their texts.
        introduction: the words that introduce them.
        score: how well they cover the question.
        kind: how they were found.
        implied: stems of what their sentence need not repeat, as the name that "we" stands for.
    """

    page: int
    items: tuple[str, ...]
    introduction: str
    score: float
    kind: str
    implied: frozenset[str] = frozenset()

    @property
    def evidence(self) -> str:
        """Introduction and items as one statement."""
        return f"{self.introduction.rstrip(':')}: {'; '.join(self.items)}"


def _is_name(item: str) -> bool:
    """Whether a whole item is short and closed by a full stop ("Harmful content.")."""
    return item.endswith(".") and len(item.split()) <= SHORT_ITEM


def heads(items: Sequence[str]) -> tuple[str, ...]:
    """What each item names, without its explanation, where most items have one."""
    matches = [HEAD.match(f"{item.rstrip('.')}. ") if _is_name(item) else HEAD.match(item) for item in items]
    found = [match[1] if match and len(match[1].split()) <= SHORT_ITEM else None for match in matches]
    if sum(head is not None for head in found) < HEAD_SHARE * len(items):
        return tuple(items)
    return tuple(head or item for head, item in zip(found, items, strict=True))
