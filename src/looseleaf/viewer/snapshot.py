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
from looseleaf.runstore import Ledger, ReadingRow, Run, ScoreRow
from looseleaf.scoring.thresholds import binarise
from looseleaf.trajectory import Trajectory

__all__ = ["Item", "Snapshot", "signature"]

FILES = ("config.toml", "manifest.json", "questions.jsonl", "trajectories.jsonl")
LEDGERS = ("readings", "scores", "audits")


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
        samples = self.run.samples
        rows: Mapping[str, Row] = {}
        if self.scored is not None:
            found = self.scored.rows(self.reading_id, threshold=self.threshold)
            keyed = zip(self.scored.items, found, strict=True)
            rows = {item.key: row for item, row in keyed}
        known = {f"{q.question_id}#{sample}": q for q in stored for sample in range(samples)}
        by_id = {question.question_id: question for question in stored}
        for key, record in self.trajectories.items():
            if key not in known:
                known[key] = by_id.get(record.question_id) or _question_of(record)
        return [Item(key, q, self.trajectories.get(key), rows.get(key)) for key, q in known.items()]

    @cached_property
    def disagreeing(self) -> frozenset[str]:
        """Trajectory ids where some other scorer of the run gives another verdict than the chosen one."""
        others = [name for name in self.run.sidecars("scores") if name != self.score_id]
        if self.scored is None:
            return frozenset()
        return frozenset(
            row.trajectory_id
            for other in others
            for row in self.run.scores(other).read()
            if self._differs(row)
        )

    def _differs(self, score: ScoreRow) -> bool:
        """Whether a score of another scorer is of what the chosen one scored, and says otherwise."""
        item = self.by_key.get(score.trajectory_id)
        own = score.variant == "own" and score.sample_index == 0
        if item is None or item.row is None or score.value is None or not own:
            return False
        if score.target == "answer":
            mine = item.row.answer_correct
        elif score.target == "memory" and score.reading_id == self.reading_id:
            mine = item.row.memory_correct
        else:
            return False
        return mine is not None and mine != binarise(score.value, self.threshold)

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
        return {
            path.stem: _grounding(path)
            for path in sorted((self.run.path / "audits").glob("grounding-*.jsonl"))
        }


def _grounding(path: Path) -> dict[str, list[GroundingRow]]:
    last = {row.key: row for row in Ledger(path, GroundingRow).read()}
    found: dict[str, list[GroundingRow]] = {}
    for row in sorted(last.values(), key=lambda row: row.finding):
        found.setdefault(row.trajectory_id, []).append(row)
    return found


def _chosen(run: Run) -> tuple[str | None, str | None]:
    """The scores and readings to look at; no scores where the run has none, or none any more."""
    try:
        score_id, reading_id = chosen_ledgers(run, None, None)
    except RunError:
        return None, None
    there = score_id is not None and run.scores(score_id).path.exists()
    return (score_id if there else None), reading_id


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
