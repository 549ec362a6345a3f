"""Our own format, written by anybody's agent: `trajectories.jsonl`, with `questions.jsonl` beside it.

The JSON Schemas ship with the package (`looseleaf/schemas/trajectory.schema.json`, `question.schema.json`). FILE is a
trajectories file or a folder that holds `trajectories.jsonl`; questions come from `questions.jsonl` in the same
folder, or from `--questions`, or else from the trajectories themselves, without gold answers. Pages are physical and
1-based.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.adapters.imports.fields import as_mapping
from looseleaf.adapters.imports.json_file import json_records
from looseleaf.adapters.imports.source import Gold, Rejected, RowProblem, SourceFormat, SourceRow, converted
from looseleaf.errors import DataError
from looseleaf.question import Question
from looseleaf.trajectory import TRAJECTORY_VERSION, Trajectory

__all__ = ["TRAJECTORIES", "gold_of", "row_of", "trajectory_of"]


def _read(path: Path, options: Mapping[str, str]) -> Iterable[SourceRow | Rejected]:
    file = _file(path)
    questions = {question.question_id: question for question in _questions(path)}

    def convert(where: str, record: Any) -> SourceRow:
        made = trajectory_of(record)
        return row_of(where, made, questions.get(made.question_id))

    return converted(json_records(file), convert)


def trajectory_of(record: Any) -> Trajectory:
    """The record as a trajectory.

    Raises:
        RowProblem: it does not fit the schema, or a later looseleaf wrote it.
    """
    try:
        made = msgspec.convert(as_mapping(record, "the row"), Trajectory)
    except msgspec.ValidationError as problem:
        raise RowProblem(f"it does not fit the schema of a trajectory ({problem})") from problem
    if made.version > TRAJECTORY_VERSION:
        raise RowProblem(f"it is of version {made.version}; this looseleaf reads {TRAJECTORY_VERSION}")
    return made


def row_of(where: str, made: Trajectory, question: Question | None) -> SourceRow:
    """A trajectory with what is known of its question."""
    return SourceRow(
        where=where,
        question=made.question,
        doc_id=made.doc_id,
        native_id=question.native_id if question is not None else made.question_id,
        steps=made.steps,
        memory=made.memory,
        answer=made.answer,
        stop_reason=made.stop_reason,
        undefined=made.undefined,
        gold=Gold() if question is None else gold_of(question),
        raw_pages=None,
        sample_index=made.sample_index,
        seed=made.seed,
        usage=made.usage,
        seconds=made.seconds,
        error=made.error,
        known=question,
    )


def gold_of(question: Question) -> Gold:
    """The gold of a question of ours."""
    return Gold(
        references=question.references,
        answer_format=question.answer_format,
        evidence_pages=question.evidence_pages,
        raw_evidence=question.raw_evidence,
        sources=question.sources,
        doc_type=question.doc_type,
        tags=question.tags,
        unanswerable=question.unanswerable,
    )


def _file(path: Path) -> Path:
    return path / "trajectories.jsonl" if path.is_dir() else path


def _questions(path: Path) -> list[Question]:
    """The selected questions, whether anything came of them or not."""
    file = _file(path).with_name("questions.jsonl")
    if not file.is_file():
        return []
    found = []
    for where, record in json_records(file):
        try:
            found.append(msgspec.convert(as_mapping(record, "the row"), Question))
        except (msgspec.ValidationError, RowProblem) as problem:
            raise DataError(
                f"{where}: it does not fit the schema of a question ({problem}); repair it."
            ) from problem
    return found


TRAJECTORIES = SourceFormat(
    name="trajectories",
    title="our own trajectories.jsonl (JSON Schema in looseleaf/schemas)",
    upstream="looseleaf, trajectory version 1",
    pages="1-based",
    read=_read,
    questions=_questions,
)
"""Trajectories in our own format, from any agent."""
