"""Gold answers that foreign result files carry beside their predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from looseleaf.adapters.imports.source import Gold, RowProblem
from looseleaf.benchmarks.literals import page_list, text_list
from looseleaf.benchmarks.rows import Row
from looseleaf.errors import DataError
from looseleaf.question import NOT_ANSWERABLE

__all__ = ["own_gold", "sample_gold"]

FURTHER_ANSWERS = ("answer_2", "answer_3")
"""Further references of PaperTab and PaperText in MDocAgent's shape; a blank stands for none."""


def sample_gold(record: Mapping[str, Any], base: int = 1) -> Gold:
    """The gold of a row in MMLongBench-Doc's or MDocAgent's shape (`samples.json`).

    Args:
        record: the row.
        base: number that it gives to the first page.

    Raises:
        RowProblem: a field has a wrong type.
    """
    further = [record.get(key) for key in FURTHER_ANSWERS]
    answers = [record.get("answer"), *(a for a in further if not isinstance(a, str) or a.strip())]
    return _gold(record, tuple(answer for answer in answers if answer is not None), base)


def own_gold(record: Mapping[str, Any], base: int = 1) -> Gold:
    """The gold of a row with `references` or `answers` (lists), or `answer`, as in one's own question files.

    Raises:
        RowProblem: a field has a wrong type.
    """
    for key in ("references", "answers"):
        value = record.get(key)
        if value is not None and not isinstance(value, list):
            raise RowProblem(f'"{key}" is no list')
        if value is not None:
            return _gold(record, tuple(value), base)
    answer = record.get("answer")
    return _gold(record, () if answer is None else (answer,), base)


def _gold(record: Mapping[str, Any], references: tuple[Any, ...], base: int) -> Gold:
    row = Row(0, "the row", record)
    try:
        has_pages = record.get("evidence_pages") is not None
        pages = page_list(row, "evidence_pages", base) if has_pages else None
        sources = text_list(row, "evidence_sources")
        answer_format, doc_type = row.optional_text("answer_format"), row.optional_text("doc_type")
    except DataError as problem:
        raise RowProblem(str(problem).removeprefix("the row: ").rstrip(".")) from problem
    said = record.get("unanswerable")
    return Gold(
        references=references,
        answer_format=answer_format,
        evidence_pages=pages,
        raw_evidence=record.get("evidence_pages"),
        sources=sources,
        doc_type=doc_type,
        unanswerable=said if isinstance(said, bool) else _refuses(references),
    )


def _refuses(references: tuple[Any, ...]) -> bool:
    first = references[0] if references else None
    return isinstance(first, str) and first.startswith(NOT_ANSWERABLE)
