"""The labelling file: what people get to see, and reading what they wrote.

The judge's verdict and the stratum are not in it, and rows are shuffled, so that nobody labels towards them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from looseleaf.errors import ConfigError, DataError, RunError
from looseleaf.lab.human_audit_record import AuditDesign, Label
from looseleaf.question import Question
from looseleaf.runstore import Run, write_atomically
from looseleaf.trajectory import Trajectory

__all__ = ["LABELS", "read_design", "read_labels", "write_sample"]

LABELS = ("final_right", "memory_sufficient")
"""The two labels of a row: is the final answer right; are the notes alone enough to answer the question?"""
YES = frozenset({"1", "yes", "y", "true", "right", "sufficient"})
NO = frozenset({"0", "no", "n", "false", "wrong", "insufficient"})
FORMATS = (".jsonl", ".csv")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make spreadsheet programs calculate a cell."""


def write_sample(run: Run, design: AuditDesign, path: Path | None = None) -> Path:
    """Write the labelling file and, into the run, the design that the estimate needs.

    Args:
        run: the run.
        design: the drawn sample.
        path: `.jsonl` or `.csv`; `RUN/audit/<audit id>.jsonl` by default.

    Returns:
        The labelling file.

    Raises:
        ConfigError: the file's name has another ending.
        RunError: the file is there already; it may hold labels.
    """
    path = path or run.path / "audit" / f"{design.audit_id}.jsonl"
    if path.suffix not in FORMATS:
        raise ConfigError(f"{path} is neither .jsonl nor .csv; choose --out with one of these endings.")
    if path.exists():
        raise RunError(f"{path} is there already and may hold labels; choose another --out or --seed.")
    for folder in (path.parent, run.path / "audit"):
        folder.mkdir(parents=True, exist_ok=True)
    rows = _rows(run, design)
    content = _jsonl(rows) if path.suffix == ".jsonl" else _csv(rows)
    write_atomically(
        _design_path(run, design.audit_id), msgspec.json.format(msgspec.json.encode(design), indent=2)
    )
    write_atomically(path, content.encode())
    return path


def _design_path(run: Run, audit_id: str) -> Path:
    return run.path / "audit" / f"{audit_id}.json"


def _rows(run: Run, design: AuditDesign) -> list[dict[str, Any]]:
    questions = {question.question_id: question for question in run.questions()}
    trajectories = run.trajectories()
    drawn = sorted(design.drawn)
    order = np.random.default_rng(design.seed).permutation(len(drawn))
    rows = [trajectories[drawn[place]] for place in order]
    return [_row(design.audit_id, row, questions[row.question_id]) for row in rows]


def _row(audit_id: str, trajectory: Trajectory, question: Question) -> dict[str, Any]:
    return {
        "audit_id": audit_id,
        "trajectory_id": trajectory.trajectory_id,
        **dict.fromkeys(LABELS, ""),
        "question": question.question,
        "gold_answer": [str(reference) for reference in question.references],
        "final_answer": trajectory.answer or "",
        "memory": trajectory.working_memory.as_text().splitlines(),
        "document": trajectory.doc_id,
        "evidence_pages": list(question.evidence_pages or ()),
    }


def _jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: Any) -> str:
    """As one cell of text, which no spreadsheet program takes for a formula."""
    text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def read_design(run: Run, audit_id: str) -> AuditDesign:
    """The design of a sample that was drawn from this run.

    Raises:
        RunError: there is none of that name.
    """
    path = _design_path(run, audit_id) if audit_id == Path(audit_id).name else None
    if path is None or not path.exists():
        raise RunError(
            f"{run.path} has no sample {audit_id!r}; give the run that the labels were drawn from."
        )
    try:
        return msgspec.json.decode(path.read_bytes(), type=AuditDesign)
    except msgspec.DecodeError as problem:
        raise RunError(f"{path} cannot be read ({problem}); draw the sample again.") from problem


def read_labels(path: Path) -> tuple[str, dict[str, Label]]:
    """The sample's id, and the labels of the rows that have both; rows without any label are passed over.

    Raises:
        DataError: the file cannot be read, mixes samples, or a label cannot be understood.
    """
    labels: dict[str, Label] = {}
    samples: set[str] = set()
    for line, row in _read(path):
        samples.add(str(row.get("audit_id", "")))
        label = _label(row, f"Line {line} of {path}")
        trajectory_id = str(row.get("trajectory_id", ""))
        if label is not None and labels.setdefault(trajectory_id, label) != label:
            raise DataError(
                f"Line {line} of {path} labels {trajectory_id} again and otherwise; keep one of the two."
            )
    if len(samples) != 1:
        raise DataError(
            f"{path} holds rows of {len(samples)} samples; give the labelling file of one sample."
        )
    return samples.pop(), labels


def _read(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".csv":
            yield from enumerate(csv.DictReader(io.StringIO(text, newline="")), start=2)
            return
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield number, msgspec.json.decode(line, type=dict[str, Any])
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, csv.Error) as problem:
        raise DataError(f"{path} cannot be read as labels ({problem}); give the labelling file.") from problem


def _label(row: Mapping[str, Any], where: str) -> Label | None:
    said = [_yes_or_no(row.get(name), name, where) for name in LABELS]
    if said == [None, None]:
        return None
    if said[0] is None or said[1] is None:
        raise DataError(f"{where} has one of its two labels; fill in both or neither.")
    return Label(said[0], said[1])


def _yes_or_no(value: Any, name: str, where: str) -> bool | None:
    text = str("" if value is None else value).strip().lower()
    if not text:
        return None
    if text not in YES | NO:
        raise DataError(f"{where} has {name} = {text[:40]!r}; write yes or no.")
    return text in YES
