"""`ScoredRun`: the questions, trajectories and scores of a stored run, read once and joined as the lab needs them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from looseleaf.errors import RunError
from looseleaf.metrics import Row, rows_of
from looseleaf.question import Question
from looseleaf.runstore import Run, ScoreRow
from looseleaf.score import Score, Unscored
from looseleaf.trajectory import Trajectory

__all__ = ["INTERVENTION", "Item", "ScoredRun"]

INTERVENTION = "intervention"
"""Target of scores of final answers that were given anew under another memory."""


class Item(NamedTuple):
    """One selected question and sample.

    Attributes:
        key: trajectory id that it has or would have.
        question: the question.
        trajectory: what happened, or `None`.
    """

    key: str
    question: Question
    trajectory: Trajectory | None

    @property
    def ran(self) -> Trajectory | None:
        """The trajectory, unless there is none or a fault ended it."""
        return None if self.trajectory is None or self.trajectory.stop_reason.is_fault else self.trajectory

    @property
    def noted(self) -> Trajectory | None:
        """`ran`, unless its source records no memory, so that there is none to examine."""
        return None if self.ran is None or "memory" in self.ran.undefined else self.ran


class ScoredRun:
    """A run under one scorer.

    Args:
        run: the run.
        score_id: ledger of the scores.

    Raises:
        RunError: there is no such ledger.
    """

    def __init__(self, run: Run, score_id: str) -> None:
        self.run = run
        self.score_id = score_id
        self.questions = run.questions()
        self.trajectories = run.trajectories()
        self.samples = run.samples
        ledger = run.scores(score_id)
        if not ledger.path.exists():
            raise RunError(
                f"{run.path} has no scores {score_id!r}; make them with `looseleaf score {run.path}`."
            )
        self._by_source: dict[tuple[str, str | None, str, int], dict[str, ScoreRow]] = {}
        for row in ledger.read():
            source = (row.target, row.reading_id, row.variant, row.sample_index)
            self._by_source.setdefault(source, {})[row.trajectory_id] = row

    @cached_property
    def items(self) -> list[Item]:
        """Every selected question and sample, in the order of every list of rows."""
        keys = [(f"{q.question_id}#{sample}", q) for q in self.questions for sample in range(self.samples)]
        return [Item(key, question, self.trajectories.get(key)) for key, question in keys]

    @property
    def protocol(self) -> Mapping[str, object]:
        """Rules that the run was made under; empty for an imported run."""
        found: Mapping[str, object] = self.run.config.get("protocol", {})
        return found

    def scores(
        self, target: str, reading_id: str | None, variant: str = "own", sample: int = 0
    ) -> Mapping[str, ScoreRow]:
        """Score rows of one source, by trajectory id."""
        return self._by_source.get((target, reading_id, variant, sample), {})

    @cached_property
    def answers(self) -> Mapping[str, ScoreRow]:
        """Scores of the final answers, by trajectory id."""
        return self.scores("answer", None)

    def variants(self, reading_id: str) -> list[str]:
        """Variants that a reader has scored readings of, in order of first appearance."""
        return list(
            dict.fromkeys(v for target, r, v, _ in self._by_source if target == "memory" and r == reading_id)
        )

    def sample_count(self, reading_id: str, variant: str = "own") -> int:
        """Samples of a reader that are scored."""
        sources = [
            s for target, r, v, s in self._by_source if (target, r, v) == ("memory", reading_id, variant)
        ]
        return 1 + max(sources, default=-1)

    def memory_score(
        self, item: Item, reading_id: str, variant: str = "own", sample: int = 0
    ) -> Score | None:
        """Score of one reading; `None` where the variant is undefined for the question."""
        row = self.scores("memory", reading_id, variant, sample).get(item.key)
        if row is not None:
            return row.score
        if item.ran is not None and item.noted is None:
            return None
        if item.ran is None or (variant == "own" and sample == 0):
            return Score(unscored=Unscored.AGENT_FAULT)
        return None

    def rows(
        self,
        reading_id: str | None,
        variant: str = "own",
        sample: int = 0,
        *,
        threshold: str = ">0",
    ) -> list[Row]:
        """One row for each of `items`; the memory is `None` where the variant is undefined."""
        memories = {} if reading_id is None else self.scores("memory", reading_id, variant, sample)
        made = rows_of(
            self.questions,
            self.trajectories,
            {key: row.score for key, row in self.answers.items()},
            None,
            samples=self.samples,
            threshold=threshold,
            upstream={key: row.upstream_value for key, row in self.answers.items()},
            predictions={key: _text(row) for key, row in self.answers.items()},
            readings={key: _text(row) for key, row in memories.items()},
            keeps_memory=self.run.keeps_memory,
        )
        if reading_id is None or not self.run.keeps_memory:
            return made
        return [
            _with_memory(row, self.memory_score(item, reading_id, variant, sample))
            for row, item in zip(made, self.items, strict=True)
        ]

    def prediction(self, key: str) -> str:
        """The short final answer that was scored, as text."""
        row = self.answers.get(key)
        return "" if row is None else _text(row)


def _with_memory(row: Row, memory: Score | None) -> Row:
    return msgspec.structs.replace(row, memory=memory)


def _text(row: ScoreRow) -> str:
    return "" if row.prediction is None else str(row.prediction)
