"""One's own questions: a JSONL file beside a folder of documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from looseleaf.benchmarks.benchmark import Conversion, assemble
from looseleaf.benchmarks.literals import page_list, text_list
from looseleaf.benchmarks.question_set import QuestionSet
from looseleaf.benchmarks.rows import Row, read_annotation, readable
from looseleaf.errors import DataError
from looseleaf.question import NOT_ANSWERABLE, Question

__all__ = ["KNOWN_KEYS", "load_questions"]

KNOWN_KEYS = frozenset(
    {
        *(
            "doc_id",
            "document",
            "question",
            "question_id",
            "answer",
            "answers",
            "references",
            "answer_format",
        ),
        *("evidence_pages", "evidence_sources", "doc_type", "unanswerable", "tags"),
    }
)
"""Keys that are read; others are kept as tags."""


def load_questions(path: Path, docs: Path) -> QuestionSet:
    """Read questions, one JSON object a line, and find their documents below `docs`; none is opened.

    `doc_id` (or `document`) and `question` are required. `answer` (one value), or `answers` or `references`
    (a list) give the gold answers; without them a row runs but stays unscored. `evidence_pages` are physical
    1-based pages, and undefined where absent. A row is unanswerable if `unanswerable` says so, or its answer
    is "Not answerable". A JSON array in a `.json` file is read as well.

    Raises:
        DataError: a broken line, a missing key or an empty question (with the line number), or no document.
    """
    path, docs = Path(path), Path(docs)
    if not docs.is_dir():
        raise DataError(f"{readable(str(docs))} is not a folder; give the folder that holds the documents.")
    annotation = read_annotation(path)
    name = readable(path.stem)
    conversion = Conversion(
        questions=tuple(_question(row, name) for row in annotation.rows),
        places=tuple(row.where for row in annotation.rows),
        version=f"own ({len(annotation.rows)} rows)",
        split="own",
    )
    loaded = assemble(
        name=name, data=docs, annotation=annotation, conversion=conversion, folders=(docs,), options={}
    )
    if not loaded.documents:
        raise DataError(
            f"none of the documents named in {readable(path.name)} is in {docs}; check the names."
        )
    _refuse_repeated_ids(annotation.rows, loaded.questions)
    return loaded


def _question(row: Row, name: str) -> Question:
    references = _references(row)
    return Question(
        question_id=f"{name}:{row.index}",
        native_id=_native_id(row),
        benchmark=name,
        split="own",
        doc_id=row.text("doc_id", "document"),
        question=row.text("question"),
        references=references,
        answer_format=row.optional_text("answer_format") or _format_of(references),
        evidence_pages=page_list(row, "evidence_pages")
        if row.fields.get("evidence_pages") is not None
        else None,
        raw_evidence=row.raw("evidence_pages"),
        sources=text_list(row, "evidence_sources"),
        doc_type=row.optional_text("doc_type"),
        tags=_tags(row),
        unanswerable=_unanswerable(row, references),
    )


def _references(row: Row) -> tuple[Any, ...]:
    for key in ("references", "answers"):
        value = row.fields.get(key)
        if value is not None:
            if not isinstance(value, list):
                row.fail(f'"{key}" must be a list of accepted answers; use "answer" for a single one.')
            return tuple(value)
    answer = row.fields.get("answer")
    return () if answer is None else (answer,)


def _format_of(references: Sequence[Any]) -> str:
    """The label that MMLongBench-Doc's scorer expects for a value of this type."""
    if not references:
        return ""
    first = references[0]
    if first == NOT_ANSWERABLE:
        return "None"
    for kind, label in ((bool, "Str"), (int, "Int"), (float, "Float"), (list, "List")):
        if isinstance(first, kind):
            return label
    return "Str"


def _unanswerable(row: Row, references: Sequence[Any]) -> bool:
    said = row.fields.get("unanswerable")
    if said is None:
        return bool(references) and references[0] == NOT_ANSWERABLE
    if not isinstance(said, bool):
        row.fail('"unanswerable" must be true or false.')
    return said


def _native_id(row: Row) -> str:
    value = row.fields.get("question_id")
    if value is None:
        return str(row.index)
    if not isinstance(value, str | int) or isinstance(value, bool):
        row.fail('"question_id" must be text or a whole number.')
    return str(value)


def _tags(row: Row) -> dict[str, Any]:
    given = row.fields.get("tags", {})
    if not isinstance(given, dict):
        row.fail('"tags" must be an object.')
    return {**{key: value for key, value in row.fields.items() if key not in KNOWN_KEYS}, **given}


def _refuse_repeated_ids(rows: Sequence[Row], questions: Sequence[Question]) -> None:
    seen: dict[str, str] = {}
    for row, question in zip(rows, questions, strict=True):
        if "question_id" not in row.fields:
            continue
        if question.native_id in seen:
            row.fail(f'the question_id "{question.native_id}" was used before at {seen[question.native_id]}.')
        seen[question.native_id] = row.where
