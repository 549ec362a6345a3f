"""Scoring a stored run: readers over memories, extractor over responses, scorer over short answers.

None of it runs the agent. Every stage has its own ledger, so a new judge does not run the readers again, and a row
that ended on a fault is tried again by the same command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

from looseleaf.agent import resolved
from looseleaf.errors import AgentError, FaultError, RunError, boundary
from looseleaf.models.registry import make_extractor, make_judge, make_reader
from looseleaf.models.role_spec import RoleSpec
from looseleaf.roles import Extractor, Reader
from looseleaf.runner.answers import Response, responses_of
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.scorers import ScoringRule, rule_named, score_row
from looseleaf.runner.stage import StageProgress, work_off
from looseleaf.runstore import ExtractionRow, ReadingRow, Run, ScoreRow, config_id
from looseleaf.score import Unscored
from looseleaf.trajectory import Trajectory

__all__ = ["ScoreOutcome", "score_run"]

SCORE_CONCURRENCY = 16
"""Readings, extractions or judgements in flight."""


class ScoreOutcome(NamedTuple):
    """Where the results are.

    Attributes:
        score_id: ledger of the scores.
        reading_ids: ledgers of the readers, headline reader first.
        unscored: rows without a value because something failed.
    """

    score_id: str
    reading_ids: tuple[str, ...]
    unscored: int


def score_run(run: Run, config: ScoreConfig, *, progress: StageProgress | None = None) -> ScoreOutcome:
    """Read, extract and score what is not finished yet under this configuration.

    Raises:
        UserError: the run or the configuration cannot be used; nothing was started.
    """
    questions = run.questions()
    if not questions:
        raise RunError(
            f"{run.path} holds no questions.jsonl, so there is no gold to score against; run it again."
        )
    rule = rule_named(config.scorer, questions[0].benchmark, make_judge(config.judge))
    extractor = make_extractor(config.extractor) if rule.wants_extraction else None
    readers = [(spec, make_reader(spec)) for spec in config.readers]
    with run.writing():
        return asyncio.run(_Scoring(run, config, rule, extractor, progress).run(readers))


class _Scoring:
    """The state of one call of `score_run`."""

    def __init__(
        self,
        run: Run,
        config: ScoreConfig,
        rule: ScoringRule,
        extractor: Extractor | None,
        progress: StageProgress | None,
    ) -> None:
        self._run = run
        self._config = config
        self._rule = rule
        self._extractor = extractor
        self._progress = progress
        self._questions = run.questions()
        self._trajectories = run.trajectories()
        self._samples = int(run.config.get("run", {}).get("samples", 1))

    async def run(self, readers: Iterable[tuple[RoleSpec, Reader]]) -> ScoreOutcome:
        """All stages in order."""
        readings: dict[str, list[ReadingRow]] = {}
        if self._has_memory():
            for spec, reader in readers:
                reading_id, rows = await self._read(spec, reader)
                readings[reading_id] = rows
        responses = list(
            responses_of(
                self._questions, self._trajectories, readings, self._samples, self._without_document()
            )
        )
        extraction_id, extractions = await self._extract(responses)
        score_id, unscored = await self._score(responses, extraction_id, extractions)
        return ScoreOutcome(score_id, tuple(readings), unscored)

    def _has_memory(self) -> bool:
        memory: str = self._run.config.get("protocol", {}).get("memory", "mandatory")
        return memory != "none"

    def _without_document(self) -> frozenset[str]:
        if not self._run.config.get("run", {}).get("strict", False):
            return frozenset()
        run_questions = {trajectory.question_id for trajectory in self._trajectories.values()}
        return frozenset(q.question_id for q in self._questions if q.question_id not in run_questions)

    # -- readers ----------------------------------------------------------------------------------------------

    async def _read(self, spec: RoleSpec, reader: Reader) -> tuple[str, list[ReadingRow]]:
        config = {"reader": spec.identity(), "variant": "own"}
        reading_id = config_id(spec.name, config)
        self._run.write_sidecar("readings", reading_id, config)
        ledger = self._run.readings(reading_id)
        done = {row.key for row in ledger.read() if row.unscored is None}
        work = [
            t
            for t in self._trajectories.values()
            if not t.stop_reason.is_fault and f"{t.trajectory_id}|own|0" not in done
        ]

        async def read(trajectory: Trajectory) -> ReadingRow:
            return await _reading_row(reader, trajectory)

        await work_off(
            f"reader {spec.name}", work, read, ledger, concurrency=SCORE_CONCURRENCY, progress=self._progress
        )
        ledger.close()
        return reading_id, _last(ledger.read())

    # -- extractor --------------------------------------------------------------------------------------------

    async def _extract(self, responses: list[Response]) -> tuple[str | None, dict[str, ExtractionRow]]:
        if self._extractor is None:
            return None, {}
        config = {"extractor": self._config.extractor.identity()}
        extraction_id = config_id(self._config.extractor.name, config)
        self._run.write_sidecar("extractions", extraction_id, config)
        ledger = self._run.extractions(extraction_id)
        done = {row.key for row in ledger.read() if row.unscored is None}
        work = [r for r in responses if r.unscored is None and r.text and r.key not in done]
        extractor = self._extractor

        async def extract(response: Response) -> ExtractionRow:
            return await _extraction_row(extractor, response)

        await work_off(
            "extractor", work, extract, ledger, concurrency=SCORE_CONCURRENCY, progress=self._progress
        )
        ledger.close()
        return extraction_id, {row.key: row for row in ledger.read()}

    # -- scorer -----------------------------------------------------------------------------------------------

    async def _score(
        self, responses: list[Response], extraction_id: str | None, extractions: dict[str, ExtractionRow]
    ) -> tuple[str, int]:
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

        async def score(response: Response) -> ScoreRow:
            return await score_row(self._rule, response, extraction_id, extractions.get(response.key))

        await work_off("scorer", work, score, ledger, concurrency=SCORE_CONCURRENCY, progress=self._progress)
        ledger.close()
        faults = sum(
            row.unscored is not None and row.unscored is not Unscored.NO_GOLD for row in _last(ledger.read())
        )
        return score_id, faults


def _last(rows: Iterable[Any]) -> list[Any]:
    """The last row of each key, in order of first appearance."""
    return list({row.key: row for row in rows}.values())


async def _reading_row(reader: Reader, trajectory: Trajectory) -> ReadingRow:
    try:
        with boundary(AgentError, "The reader failed"):
            reading = await resolved(reader.read(trajectory.question, trajectory.working_memory))
    except FaultError as problem:
        return ReadingRow(
            trajectory_id=trajectory.trajectory_id, unscored=Unscored.READER_FAULT, error=str(problem)
        )
    return ReadingRow(trajectory_id=trajectory.trajectory_id, text=reading.text, usage=reading.usage)


async def _extraction_row(extractor: Extractor, response: Response) -> ExtractionRow:
    fields: dict[str, Any] = {
        "trajectory_id": response.trajectory_id,
        "target": response.target,
        "reading_id": response.reading_id,
        "variant": response.variant,
        "sample_index": response.sample_index,
    }
    try:
        with boundary(AgentError, "The extractor failed"):
            extraction = await resolved(extractor.extract(response.question.question, response.text))
    except FaultError as problem:
        return ExtractionRow(**fields, unscored=Unscored.EXTRACTOR_FAULT, error=str(problem))
    return ExtractionRow(**fields, text=extraction.text, usage=extraction.usage)
