"""The stages of scoring, each with its own ledger: readers over memories, an extractor over responses, a scorer.

A stage works off what its ledger does not hold yet; a row that ended on a fault is tried again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from looseleaf.models.registry import make_extractor, make_judge
from looseleaf.models.role_spec import RoleSpec
from looseleaf.roles import Reader
from looseleaf.runner.answers import Response
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.executor import Executor, LocalExecutor, Stage
from looseleaf.runner.scorers import rule_named
from looseleaf.runner.scoring_stages import (
    ExtractStage,
    ReadingTask,
    ReadStage,
    ScoreStage,
    ToRead,
    ToScore,
    reading_row,
)
from looseleaf.runner.stage import StageProgress, work_off_stage
from looseleaf.runstore import ExtractionRow, Ledger, ReadingRow, Run, ScoreRow, config_id
from looseleaf.score import Unscored

__all__ = ["ReadingTask", "ScoredResponses", "Stages", "check_roles", "last_rows", "reading_row"]

CONCURRENCY = 16
"""Readings, extractions or judgements in flight."""


class ScoredResponses(NamedTuple):
    """Where the scores of some responses are.

    Attributes:
        score_id: ledger of the scores.
        extraction_id: ledger of the extractions, if the scorer wants them.
        unscored: responses among them without a value because something failed.
        asked: responses that this session put before the extractor, or before the judge of a judge scorer.
    """

    score_id: str
    extraction_id: str | None
    unscored: int
    asked: int = 0


class Stages:
    """Reads, extracts and scores under one configuration; the run must be locked for writing meanwhile.

    Raises:
        ConfigError: a role or the scorer cannot be made; nothing was started.
    """

    def __init__(
        self,
        run: Run,
        config: ScoreConfig,
        benchmark: str,
        progress: StageProgress | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._run = run
        self._benchmark = benchmark
        self._executor = executor or LocalExecutor()
        self._config = config
        self._rule = rule_named(config.scorer, benchmark, make_judge(config.judge))
        self._extractor = make_extractor(config.extractor) if self._rule.wants_extraction else None
        self._progress = progress
        self._asked = 0

    @property
    def scorer(self) -> str:
        """Canonical name of the scorer."""
        return self._rule.name

    async def read(
        self, spec: RoleSpec, reader: Reader, tasks: Iterable[ReadingTask]
    ) -> tuple[str, list[ReadingRow]]:
        """Let a reader answer; returns the ledger's id and all its rows, other variants and samples included."""
        reading_id = reading_id_of(spec)
        self._run.write_sidecar("readings", reading_id, reading_config(spec))
        ledger = self._run.readings(reading_id)
        rows = await self.read_into(ledger, f"reader {spec.name}", reader, tasks, spec)
        return reading_id, rows

    async def read_into(
        self,
        ledger: Ledger[ReadingRow],
        name: str,
        reader: Reader,
        tasks: Iterable[ReadingTask],
        spec: RoleSpec | None = None,
    ) -> list[ReadingRow]:
        """Let a reader answer into a ledger; equal memories of one question and sample are read once.

        Args:
            ledger: where the readings go.
            name: of the stage, for progress.
            reader: who reads.
            tasks: what is to be read.
            spec: what another process makes the same reader from; without it, the reader reads in this one.
        """
        done = {row.key: row for row in ledger.read() if row.unscored is None}
        groups = _grouped(tasks)
        known = {key: done[task.key] for key, group in groups.items() for task in group if task.key in done}
        work = [ToRead.of(group[0]) for key, group in groups.items() if key not in known]
        stage = ReadStage(spec or RoleSpec(backend="none"), reader)
        await self._work_off(name, work, stage, ledger, LocalExecutor() if spec is None else self._executor)
        _copy_to_equals(ledger, groups)
        ledger.close()
        return last_rows(ledger.read())

    async def extract(self, responses: Sequence[Response]) -> tuple[str | None, dict[str, ExtractionRow]]:
        """Extract the short answers of responses that have text; ledger id and all its rows by key."""
        if self._extractor is None:
            return None, {}
        config = {"extractor": self._config.extractor.identity()}
        extraction_id = config_id(self._config.extractor.name, config)
        self._run.write_sidecar("extractions", extraction_id, config)
        ledger = self._run.extractions(extraction_id)
        done = {row.key for row in ledger.read() if row.unscored is None}
        work = [r for r in responses if r.unscored is None and r.text and r.key not in done]
        self._asked = len(work)
        stage = ExtractStage(self._config.extractor, self._extractor)
        await self._work_off("extractor", work, stage, ledger, self._executor)
        ledger.close()
        return extraction_id, {row.key: row for row in ledger.read()}

    async def score(self, responses: Sequence[Response]) -> ScoredResponses:
        """Extract and score responses."""
        self._asked = 0
        extraction_id, extractions = await self.extract(responses)
        config = {
            "scorer": self._rule.name,
            "extraction_id": extraction_id,
            "judge": self._config.judge.identity(),
        }
        score_id = config_id(self._rule.name, config)
        self._run.write_sidecar("scores", score_id, config)
        ledger = self._run.scores(score_id)
        done = {row.key for row in ledger.read() if row.unscored is None}
        work = [response for response in responses if response.key not in done]
        if not self._rule.wants_extraction:
            self._asked = sum(response.unscored is None and bool(response.text) for response in work)
        stage = ScoreStage(
            self._rule, self._config.scorer, self._benchmark, self._config.judge, extraction_id
        )
        items = [ToScore(response, extractions.get(response.key)) for response in work]
        await self._work_off("scorer", items, stage, ledger, self._executor)
        ledger.close()
        wanted = {response.key for response in responses}
        return ScoredResponses(
            score_id,
            extraction_id,
            sum(_failed(row) for row in last_rows(ledger.read()) if row.key in wanted),
            self._asked,
        )

    async def _work_off(
        self,
        name: str,
        items: Sequence[Any],
        stage: Stage[Any, Any],
        ledger: Ledger[Any],
        executor: Executor,
    ) -> None:
        await work_off_stage(
            name, items, stage, ledger, executor, concurrency=CONCURRENCY, progress=self._progress
        )


def check_roles(config: ScoreConfig, benchmark: str) -> None:
    """Make scorers, judge and extractor once.

    Raises:
        ConfigError: one of them cannot be made.
    """
    rules = [rule_named(name, benchmark, make_judge(config.judge)) for name in config.scorers]
    if any(rule.wants_extraction for rule in rules):
        make_extractor(config.extractor)


def reading_config(spec: RoleSpec) -> dict[str, Any]:
    """What the ledger of a reader stands for. It holds every memory variant and sample that the reader answered."""
    return {"reader": spec.identity(), "variant": "own"}


def reading_id_of(spec: RoleSpec) -> str:
    """Ledger id of a reader."""
    return config_id(spec.name, reading_config(spec))


def last_rows(rows: Iterable[Any]) -> list[Any]:
    """The last row of each key, in order of first appearance."""
    return list({row.key: row for row in rows}.values())


def _failed(row: ScoreRow) -> bool:
    return row.unscored is not None and row.unscored is not Unscored.NO_GOLD


GroupKey = tuple[str, str, int, str]


def _grouped(tasks: Iterable[ReadingTask]) -> dict[GroupKey, list[ReadingTask]]:
    """Tasks whose reader is asked the very same thing, by question, sample and memory."""
    groups: dict[GroupKey, list[ReadingTask]] = {}
    for task in tasks:
        key = (task.trajectory_id, task.question, task.sample_index, task.memory.as_text())
        groups.setdefault(key, []).append(task)
    return groups


def _copy_to_equals(ledger: Ledger[ReadingRow], groups: dict[GroupKey, list[ReadingTask]]) -> None:
    """Write the reading of one task of each group for the others too."""
    rows = {row.key: row for row in ledger.read()}
    for group in groups.values():
        found = [rows[task.key] for task in group if task.key in rows]
        source = next((row for row in found if row.unscored is None), found[0] if found else None)
        for task in group:
            if source is not None and (task.key not in rows or rows[task.key].unscored is not None):
                ledger.append(_as_row_of(source, task))


def _as_row_of(source: ReadingRow, task: ReadingTask) -> ReadingRow:
    """The same reading under another variant; the tokens were spent once."""
    return ReadingRow(
        trajectory_id=task.trajectory_id,
        variant=task.variant,
        sample_index=task.sample_index,
        text=source.text,
        unscored=source.unscored,
        error=source.error,
    )
