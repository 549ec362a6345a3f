"""`Question`: one row of a benchmark, or one question of the user's own."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["NOT_ANSWERABLE", "Question"]

NOT_ANSWERABLE = "Not answerable"
"""The refusal string of MMLongBench-Doc and LongDocURL (upstream data and extraction prompts)."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that running, scoring and breaking down one question needs.

    Attributes:
        question_id: `"<benchmark>:<row index>"`, unique within a run.
        native_id: the source's own identifier, or the row index as text.
        benchmark: canonical benchmark name, e.g. `mmlongbench-doc`.
        split: name of the split the row belongs to.
        doc_id: the source's name of the document.
        question: the question as asked.
        references: gold answers as JSON values; the first is the one that official scorers use.
        answer_format: the source's own label (`Int`, `Str`, `Float`, `List`, `None`, `String`, …).
        evidence_pages: physical 1-based gold pages; `None` = undefined for this set, empty = none.
        raw_evidence: the source's own evidence value, unchanged.
        sources: evidence sources, e.g. `("Table", "Chart")`.
        doc_type: the source's document type, or empty.
        tags: further breakdown keys of the source, e.g. `{"task_tag": "Locating"}`.
        unanswerable: whether the gold answer is that the document does not say.
        window: inclusive physical 1-based page window of the official input, if the set has one.
    """

    question_id: str
    native_id: str
    benchmark: str
    split: str
    doc_id: str
    question: str
    references: tuple[Any, ...]
    answer_format: str
    evidence_pages: tuple[int, ...] | None = None
    raw_evidence: Any = None
    sources: tuple[str, ...] = ()
    doc_type: str = ""
    tags: dict[str, Any] = {}
    unanswerable: bool = False
    window: tuple[int, int] | None = None
