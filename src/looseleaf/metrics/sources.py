"""Evidence sources: the source's own labels, several a question, and the AWM paper's exclusive categories.

The exclusive rule reproduces all nine published counts on MMLongBench-Doc's 1,082 rows (135 text, 143 table, 107 chart,
187 figure, 32 layout, 180 mixed, 3 visual-multi, 62 text-multi, 233 none): figures and charts are *visual*; text,
tables and layout are *textual*; one label stands for itself, several of one family are multi, both families mixed.
AWM, arXiv 2608.25618, Table 7; the rule is inferred from the counts, the paper does not state it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from looseleaf.question import Question

__all__ = ["SourceCategory", "source_category", "source_name", "source_names"]


class SourceCategory(StrEnum):
    """Where the evidence of a question is, each question in one category only."""

    TEXT = "text"
    TABLE = "table"
    CHART = "chart"
    FIGURE = "figure"
    LAYOUT = "layout"
    MIXED = "mixed"
    """Visual and textual evidence."""
    VISUAL_MULTI = "visual-multi"
    """Several visual sources."""
    TEXT_MULTI = "text-multi"
    """Several textual sources."""
    NONE = "none"
    """No label. Not the same as unanswerable: 19 of the 233 rows of MMLongBench-Doc are answerable."""
    OTHER = "other"
    """A label that is none of the five."""


NAMES = {
    "pure-text (plain-text)": SourceCategory.TEXT,
    "text": SourceCategory.TEXT,
    "table": SourceCategory.TABLE,
    "chart": SourceCategory.CHART,
    "figure": SourceCategory.FIGURE,
    "generalized-text (layout)": SourceCategory.LAYOUT,
    "layout": SourceCategory.LAYOUT,
}
"""Labels of MMLongBench-Doc and LongDocURL."""
VISUAL = frozenset({SourceCategory.FIGURE, SourceCategory.CHART})
TEXTUAL = frozenset({SourceCategory.TEXT, SourceCategory.TABLE, SourceCategory.LAYOUT})


def source_name(label: str) -> SourceCategory:
    """A source label in the bench's own words; `OTHER` for one that no benchmark here uses."""
    return NAMES.get(label.strip().lower(), SourceCategory.OTHER)


def source_names(question: Question) -> tuple[SourceCategory, ...]:
    """The sources of a question, each once; slices by them overlap and must never be summed."""
    return tuple(dict.fromkeys(map(source_name, question.sources))) or (SourceCategory.NONE,)


def source_category(question: Question) -> SourceCategory:
    """The exclusive category of a question."""
    return _category(source_names(question))


def _category(names: Iterable[SourceCategory]) -> SourceCategory:
    found = frozenset(names)
    if len(found) == 1:
        return next(iter(found))
    if SourceCategory.OTHER in found:
        return SourceCategory.OTHER
    if found <= VISUAL:
        return SourceCategory.VISUAL_MULTI
    return SourceCategory.TEXT_MULTI if found <= TEXTUAL else SourceCategory.MIXED
