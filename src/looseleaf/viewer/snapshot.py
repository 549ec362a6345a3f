"""`Snapshot`: one reading of a run's files, joined as the pages need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from looseleaf.errors import RunError
from looseleaf.lab.grounding.audit import GroundingRow
from looseleaf.lab.ledgers import chosen_ledgers
from looseleaf.lab.records import ScoredRun
from looseleaf.metrics import Row
from looseleaf.question import Question
from looseleaf.runstore import Ledger, ReadingRow, Run
from looseleaf.trajectory import Trajectory

__all__ = ["Item", "Snapshot", "signature"]

FILES = ("config.toml", "manifest.json", "questions.jsonl", "trajectories.jsonl")
LEDGERS = ("readings", "scores", "grounding")


class Item(NamedTuple):
    """One question and sample.

    Attributes:
        key: trajectory id that it has or would have.
        question: the question; of a run that stores none, what the trajectory says of it.
        trajectory: what happened, or `None`.
        row: the row with its scores; `None` where the run is not scored.
    """

    key: str
    question: Question
    trajectory: Trajectory | None
    row: Row | None


class Snapshot:
    """A run as it was when it was read.

    Args:
        run: the run.
        threshold: name of the binarisation; the one of the last scoring by default.

    Raises:
        RunError: a record cannot be read.
    """

    def __init__(self, run: Run, threshold: str | None = None) -> None:
        self.run = run
        self.manifest = run.manifest
        self.config = run.config
        self.threshold = threshold or self.manifest.get("score", {}).get("threshold") or ">0"
        self.torn = _is_torn(run.path / "trajectories.jsonl")
        self.score_id, self.reading_id = _chosen(run)
        self.scored = ScoredRun(run, self.score_id) if self.score_id else None
        if self.scored is None:
            self.trajectories = run.trajectories()
            stored = run.questions()
        else:
            self.trajectories = self.scored.trajectories
            stored = self.scored.questions
        self.items = self._items(stored)
        self.by_key = {item.key: item for item in self.items}

    def _items(self, stored: Sequence[Question]) -> list[Item]:
        samples = int(self.config.get("run", {}).get("samples", 1))
        rows: Mapping[str, Row] = {}
        if self.scored is not None:
            keyed = zip(self.scored.items, self._rows(self.score_id), strict=True)
            rows = {item.key: row for item, row in keyed}
        known = {f"{q.question_id}#{sample}": q for q in stored for sample in range(samples)}
        by_id = {question.question_id: question for question in stored}
        for key, record in self.trajectories.items():
            if key not in known:
                known[key] = by_id.get(record.question_id) or _question_of(record)
        return [Item(key, q, self.trajectories.get(key), rows.get(key)) for key, q in known.items()]

    def _rows(self, score_id: str | None) -> list[Row]:
        if self.scored is None or score_id is None:
            return []
        scored = self.scored if score_id == self.score_id else ScoredRun(self.run, score_id)
        return scored.rows(self.reading_id, threshold=self.threshold)

    @cached_property
    def disagreeing(self) -> frozenset[str]:
        """Trajectory ids where some other scorer of the run gives another verdict than the chosen one."""
        found: set[str] = set()
        others = [name for name in self.run.sidecars("scores") if name != self.score_id]
        if self.scored is None:
            return frozenset()
        for other in others:
            for item, row in zip(self.scored.items, self._rows(other), strict=True):
                mine = self.by_key[item.key].row
                if mine is not None and _differ(mine, row):
                    found.add(item.key)
        return frozenset(found)

    @cached_property
    def readings(self) -> dict[str, dict[str, ReadingRow]]:
        """Readers' answers from the own memory, by ledger and trajectory id."""
        return {
            name: {
                row.trajectory_id: row
                for row in self.run.readings(name).read()
                if row.variant == "own" and row.sample_index == 0
            }
            for name in self.run.sidecars("readings")
        }

    @cached_property
    def groundings(self) -> dict[str, dict[str, list[GroundingRow]]]:
        """Verdicts on findings, by check and trajectory id, in the order of the findings; empty without any."""
        return {path.stem: _grounding(path) for path in sorted((self.run.path / "grounding").glob("*.jsonl"))}


def _grounding(path: Path) -> dict[str, list[GroundingRow]]:
    last = {row.key: row for row in Ledger(path, GroundingRow).read()}
    found: dict[str, list[GroundingRow]] = {}
    for row in sorted(last.values(), key=lambda row: row.finding):
        found.setdefault(row.trajectory_id, []).append(row)
    return found


def _chosen(run: Run) -> tuple[str | None, str | None]:
    try:
        return chosen_ledgers(run, None, None)
    except RunError:  # not scored yet
        return None, None


def _differ(first: Row, second: Row) -> bool:
    pairs = [
        (first.answer_correct, second.answer_correct),
        (first.memory_correct, second.memory_correct),
    ]
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def _question_of(record: Trajectory) -> Question:
    """What an imported trajectory says of its question."""
    return Question(
        question_id=record.question_id,
        native_id=record.question_id,
        benchmark=record.benchmark,
        split="",
        doc_id=record.doc_id,
        question=record.question,
        references=(),
        answer_format="",
    )


def _is_torn(path: Path) -> bool:
    """Whether the last line is incomplete: it is being written, or a crash cut it off."""
    if not path.exists() or not (size := path.stat().st_size):
        return False
    with path.open("rb") as content:
        content.seek(size - 1)
        return content.read(1) != b"\n"


def signature(run: Run) -> tuple[tuple[str, int, int], ...]:
    """Changes whenever a file of the run does."""
    paths = [run.path / name for name in FILES]
    for kind in LEDGERS:
        paths += sorted((run.path / kind).glob("*.jsonl"))
    found = [(path, path.stat()) for path in paths if path.exists()]
    return tuple((path.name, stat.st_mtime_ns, stat.st_size) for path, stat in found)
