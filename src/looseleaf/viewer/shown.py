"""What the pages get to see of a run, as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from looseleaf.lab.carriers import row_carriers
from looseleaf.lab.findings import was_shown
from looseleaf.lab.history import row_history, turns_written
from looseleaf.lab.records import Item as ScoredItem
from looseleaf.metrics import Row
from looseleaf.metrics.memory import outcome_cell
from looseleaf.metrics.navigation import page_recall
from looseleaf.score import Score
from looseleaf.scoring.thresholds import binarise
from looseleaf.trajectory import Trajectory
from looseleaf.viewer.snapshot import Item, Snapshot

__all__ = ["list_rows", "run_summary", "trajectory_page"]


def run_summary(name: str, snapshot: Snapshot, page_problem: str, audits: Sequence[str]) -> dict[str, Any]:
    """A run in the list of runs."""
    ran = sum(item.trajectory is not None for item in snapshot.items)
    roles = snapshot.config.get("roles", {})
    return {
        "name": name,
        "path": str(snapshot.run.path),
        "n": len(snapshot.items),
        "with_trajectory": ran,
        "torn": snapshot.torn,
        "policy": _role(roles.get("policy")),
        "protocol": str(snapshot.config.get("protocol", {}).get("name", "")),
        "data": str(snapshot.manifest.get("data", {}).get("name", "")),
        "score_id": snapshot.score_id,
        "reading_id": snapshot.reading_id,
        "threshold": snapshot.threshold,
        "scorers": sorted(snapshot.run.sidecars("scores")),
        "page_problem": page_problem,
        "audits": list(audits),
    }


def _role(spec: Any) -> str:
    if not isinstance(spec, dict):
        return ""
    return ":".join(str(spec[key]) for key in ("backend", "argument") if spec.get(key))


def list_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """One short record for every question and sample, run or not."""
    return [_list_row(snapshot, item) for item in snapshot.items]


def _list_row(snapshot: Snapshot, item: Item) -> dict[str, Any]:
    question, record, row = item.question, item.trajectory, item.row
    gold = question.evidence_pages
    shown = record.shown_pages if record else ()
    lacks = record.undefined if record else ()
    return {
        "id": item.key,
        "question": question.question,
        "doc": question.doc_id,
        "type": question.doc_type,
        "format": question.answer_format,
        "sources": list(question.sources),
        "unanswerable": question.unanswerable,
        "cell": None if row is None else outcome_cell(row),
        "answer_score": None if row is None else row.answer.value,
        "memory_score": None if row is None or row.memory is None else row.memory.value,
        "answer": (record.answer or "") if record else "",
        "stop": str(record.stop_reason) if record else "not run",
        "error": (record.error or "") if record else "",
        "turns": None if "steps" in lacks else record.turns if record else 0,
        "invalid": None if "steps" in lacks else record.invalid_turns if record else 0,
        "pages": None if "pages" in lacks else len(shown),
        "findings": None if "memory" in lacks else len(record.memory) if record else 0,
        "recall": page_recall(frozenset(shown), frozenset(gold))
        if record and gold and "pages" not in lacks
        else None,
        "seconds": record.seconds if record else None,
        "tokens": _tokens(record) if record else None,
        "step_of_training": record.step_of_training if record else None,
        "scorers_differ": item.key in snapshot.disagreeing,
    }


def _tokens(record: Trajectory) -> int:
    return record.usage.prompt_tokens + record.usage.completion_tokens


def trajectory_page(snapshot: Snapshot, item: Item) -> dict[str, Any]:
    """Everything about one question."""
    question, record, row = item.question, item.trajectory, item.row
    return {
        "id": item.key,
        "question": {
            "text": question.question,
            "doc": question.doc_id,
            "references": [_shown(reference) for reference in question.references],
            "format": question.answer_format,
            "gold_pages": None if question.evidence_pages is None else list(question.evidence_pages),
            "sources": list(question.sources),
            "type": question.doc_type,
            "unanswerable": question.unanswerable,
        },
        "trajectory": None if record is None else msgspec.to_builtins(record),
        "memory": [] if record is None else _memory(snapshot, item, record),
        "cell": None if row is None else outcome_cell(row),
        "answer_score": _score(row, None if row is None else row.answer),
        "memory_score": _score(row, None if row is None else row.memory),
        "prediction": "" if row is None else row.prediction,
        "reading": "" if row is None else row.reading,
        "reading_id": snapshot.reading_id,
        "readings": _readings(snapshot, item.key),
        "history": _history(snapshot, item),
        "scorers_differ": item.key in snapshot.disagreeing,
    }


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _score(row: Row | None, score: Score | None) -> dict[str, Any] | None:
    if row is None or score is None:
        return None
    return {
        "value": score.value,
        "unscored": None if score.unscored is None else str(score.unscored),
        "upstream_raises": score.upstream_raises,
        "correct": row.correct(score),
    }


def _memory(snapshot: Snapshot, item: Item, record: Trajectory) -> list[dict[str, Any]]:
    gold = item.question.evidence_pages
    carrying = _carriers(snapshot, item)
    verdicts = {name: rows.get(item.key, []) for name, rows in snapshot.groundings.items()}
    turns, shown = turns_written(record), was_shown(record)
    return [
        {
            "number": number,
            "text": finding.text,
            "page": finding.source_page,
            "flags": list(finding.flags),
            "turn": turn,
            "page_was_shown": None if "pages" in record.undefined else seen,
            "cites_gold": None if gold is None else finding.source_page in gold,
            "sufficient": _among(number, carrying["sufficient"]),
            "necessary": _among(number, carrying["necessary"]),
            "grounding": [
                {"check": name} | msgspec.to_builtins(verdict)
                for name, found in verdicts.items()
                for verdict in found
                if verdict.finding == number
            ],
        }
        for number, (finding, turn, seen) in enumerate(zip(record.memory, turns, shown, strict=True), start=1)
    ]


def _among(number: int, numbers: tuple[int, ...] | None) -> bool | None:
    return None if numbers is None else number in numbers


def _carriers(snapshot: Snapshot, item: Item) -> dict[str, tuple[int, ...] | None]:
    if snapshot.scored is None or snapshot.reading_id is None:
        return {"sufficient": None, "necessary": None}
    found = row_carriers(snapshot.scored, snapshot.reading_id, _scored_item(item), snapshot.threshold)
    return {"sufficient": found.sufficient, "necessary": found.necessary}


def _scored_item(item: Item) -> ScoredItem:
    return ScoredItem(item.key, item.question, item.trajectory)


def _readings(snapshot: Snapshot, key: str) -> list[dict[str, Any]]:
    found = []
    for name, rows in snapshot.readings.items():
        row = rows.get(key)
        if row is not None:
            score = snapshot.scored.scores("memory", name).get(key) if snapshot.scored else None
            value = None if score is None else score.value
            found.append(
                {
                    "reader": name,
                    "text": row.text,
                    "unscored": None if row.unscored is None else str(row.unscored),
                    "error": row.error,
                    "value": value,
                    "correct": None if value is None else binarise(value, snapshot.threshold),
                    "tokens": row.usage.prompt_tokens + row.usage.completion_tokens,
                }
            )
    return found


def _history(snapshot: Snapshot, item: Item) -> list[float | None] | None:
    """Memory-only scores with 0, 1, … findings, where the reader read prefixes."""
    if snapshot.scored is None or snapshot.reading_id is None:
        return None
    found = row_history(snapshot.scored, snapshot.reading_id, _scored_item(item))
    if found is None or all(value is None for value in found.values[1:]):
        return None
    return list(found.values)
