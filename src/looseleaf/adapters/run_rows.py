"""The records of a RUN as flat rows, table by table, read one at a time: what Parquet, datasets and JSON lines share.

What an imported trajectory does not record is null, never 0 or an empty list. Values of any JSON type (references,
gold as annotated, predictions, tags, arguments) are JSON text, so that a column has one type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from looseleaf.question import Question
from looseleaf.roles import Usage
from looseleaf.runstore import Run
from looseleaf.trajectory import Trajectory

__all__ = ["TABLES", "as_json", "finding_rows", "question_row", "run_rows", "step_rows", "trajectory_row"]

Row = dict[str, Any]

TABLES = ("questions", "trajectories", "steps", "findings", "readings", "scores")
"""Tables of a run, besides `runs`."""


def as_json(value: Any) -> str | None:
    """JSON text; null for nothing."""
    return None if value is None else msgspec.json.encode(value).decode()


def run_rows(run: Run) -> Iterator[tuple[str, Row]]:
    """Every row of every table: (table, row). Trajectories, steps and findings come together.

    Raises:
        RunError: a record cannot be read.
    """
    for question in run.read_questions():
        yield "questions", question_row(question)
    for trajectory in run.read_trajectories():
        yield "trajectories", trajectory_row(trajectory)
        yield from (("steps", row) for row in step_rows(trajectory))
        yield from (("findings", row) for row in finding_rows(trajectory))
    for reading_id, config in run.sidecars("readings").items():
        reader = as_json(config.get("reader"))
        for reading in run.readings(reading_id).read_last(_key):
            yield "readings", {"reading_id": reading_id, "reader": reader, **_flat(reading)}
    for score_id, config in run.sidecars("scores").items():
        scorer = config.get("scorer")
        for score in run.scores(score_id).read_last(_key):
            row = _flat(score)
            row["prediction"] = as_json(score.prediction)
            yield "scores", {"score_id": score_id, "scorer": scorer, **row}


def _key(row: Any) -> str:
    key: str = row.key
    return key


def question_row(question: Question) -> Row:
    """One question."""
    row = _flat(question)
    for name in ("references", "raw_evidence", "tags"):
        row[name] = as_json(getattr(question, name))
    return row


def trajectory_row(made: Trajectory) -> Row:
    """One trajectory without its steps and findings, but with what is counted of them."""
    lacks = made.undefined
    row = {
        name: getattr(made, name)
        for name in (
            *(
                "trajectory_id",
                "question_id",
                "doc_id",
                "doc_sha256",
                "question",
                "protocol",
                "seed",
                "sample_index",
            ),
            *("step_of_training", "answer", "seconds", "error"),
        )
    }
    return row | {
        "version": made.version,
        "oracle": as_json(made.oracle),
        "stop_reason": str(made.stop_reason),
        "turns": None if "steps" in lacks else made.turns,
        "invalid_turns": None if "steps" in lacks else made.invalid_turns,
        "shown_pages": None if "pages" in lacks else list(made.shown_pages),
        "findings": None if "memory" in lacks else len(made.memory),
        "undefined": list(lacks),
        **_tokens(made.usage),
    }


def step_rows(made: Trajectory) -> Iterable[Row]:
    """The steps of a trajectory, in order."""
    for position, step in enumerate(made.steps):
        yield {
            "trajectory_id": made.trajectory_id,
            "question_id": made.question_id,
            "position": position,
            "turn": step.turn,
            "thought": step.thought,
            "action": None if step.action is None else step.action.name,
            "arguments": None if step.action is None else as_json(step.action.arguments),
            "notes": [{"text": note.text, "source_page": note.source_page} for note in step.notes],
            "observation": step.observation.text,
            "returned": [{"page": each.page, "score": each.score} for each in step.observation.returned],
            "shown": list(step.observation.shown),
            "model_text": step.model_text,
            "invalid": step.invalid,
            "seconds": step.seconds,
            **_tokens(step.usage),
        }


def finding_rows(made: Trajectory) -> Iterable[Row]:
    """The findings of the terminal memory, numbered from 1."""
    for number, finding in enumerate(made.memory, start=1):
        yield {
            "trajectory_id": made.trajectory_id,
            "question_id": made.question_id,
            "number": number,
            "text": finding.text,
            "source_page": finding.source_page,
            "words": finding.words,
            "flags": list(finding.flags),
        }


def _tokens(usage: Usage) -> Row:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "calls": usage.calls,
        "cost": usage.cost,
    }


def _flat(record: msgspec.Struct) -> Row:
    row: Row = {name: getattr(record, name) for name in record.__struct_fields__}
    usage = row.pop("usage", None)
    if isinstance(usage, Usage):
        row |= _tokens(usage)
    return {
        name: str(value) if _is_enum(value) else list(value) if isinstance(value, tuple) else value
        for name, value in row.items()
    }


def _is_enum(value: Any) -> bool:
    return isinstance(value, str) and type(value) is not str
