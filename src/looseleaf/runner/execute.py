"""Running an agent over selected questions: bounded, resumable, nothing lost and nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from looseleaf.benchmarks import QuestionSet
from looseleaf.document import PageStore, default_store, require_ocr
from looseleaf.models.registry import make_policy
from looseleaf.question import Question
from looseleaf.runner.answering import AnswerStage, Job
from looseleaf.runner.config import RunConfig
from looseleaf.runner.executor import Executor, LocalExecutor, Shape
from looseleaf.runner.executor.counting import added, since
from looseleaf.runner.interrupt import Interrupt
from looseleaf.runner.library import Library
from looseleaf.runner.manifest import freeze, record_session
from looseleaf.runner.selection import load_data, select
from looseleaf.runner.stage import grouped
from looseleaf.runstore import Run, config_id

__all__ = ["RunOutcome", "execute"]

Progress = Callable[[int, int], None]
"""Called with (finished, total) after every trajectory."""


class RunOutcome(NamedTuple):
    """What a session of a run did.

    Attributes:
        run: the run on disk.
        finished_before: trajectories that earlier sessions had finished.
        finished_now: trajectories that this session finished.
        faults: trajectories that ended on a fault and will be tried again.
        interrupted: whether the session stopped early on request.
    """

    run: Run
    finished_before: int
    finished_now: int
    faults: int
    interrupted: bool


def execute(
    config: RunConfig,
    out: Path,
    *,
    store: PageStore | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> RunOutcome:
    """Run what is not finished yet.

    Args:
        config: everything that decides the results.
        out: the RUN folder, new or to be continued.
        store: page store; the process-wide one by default.
        progress: called after every trajectory.
        executor: where the agent runs; in this process by default. No result depends on it.

    Raises:
        UserError: the data, the configuration or the folder cannot be used; nothing was started.
    """
    store = store or default_store()
    executor = executor or LocalExecutor()
    if config.ocr:
        require_ocr()
    policy = make_policy(config.policy)
    question_set = load_data(config.data)
    library = Library(question_set, config.retriever_in_force, store, ocr=config.ocr)
    selected = select(question_set, config)
    run = Run.create(out)
    with run.writing():
        freeze(run, config, question_set, selected, library)
        run_id = str(run.manifest.get("run_id") or config_id("run", config.as_tables()))
        stage = AnswerStage(config, run_id, policy, library, question_set, store)
        before = stage.counts()
        session = _Session(run, stage, executor, executor.shape(config.concurrency), progress)
        outcome = asyncio.run(session.run(_jobs(config, question_set, selected)))
        counts = added(since(before, stage.counts()), executor.elsewhere(stage.kind))
        record_session(run, (outcome.finished_before, outcome.finished_now, outcome.faults), counts)
    return outcome


def _jobs(config: RunConfig, question_set: QuestionSet, selected: Iterable[Question]) -> list[Job]:
    return [
        Job(question, sample)
        for question in selected
        if question.doc_id in question_set.documents
        for sample in range(config.samples)
    ]


class _Session:
    """The mutable state of one call of `execute`."""

    def __init__(
        self, run: Run, stage: AnswerStage, executor: Executor, shape: Shape, progress: Progress | None
    ) -> None:
        self._run = run
        self._stage = stage
        self._executor = executor
        self._shape = shape
        self._progress = progress
        self._interrupt = Interrupt()
        self._finished = 0
        self._faults = 0

    async def run(self, jobs: list[Job]) -> RunOutcome:
        """Work off the jobs that no earlier session finished."""
        done = {key for key, found in self._run.trajectories().items() if not found.stop_reason.is_fault}
        open_jobs = [job for job in jobs if job.trajectory_id not in done]
        before = len(jobs) - len(open_jobs)
        groups = grouped(open_jobs, self._shape.group, lambda job: job.question.doc_id)
        with self._interrupt.listening():
            queue = iter(groups)
            workers = min(self._shape.groups, len(groups))
            await asyncio.gather(*(self._work(queue, before, len(jobs)) for _ in range(workers)))
        return RunOutcome(self._run, before, self._finished, self._faults, self._interrupt.asked)

    async def _work(self, queue: Iterator[Sequence[Job]], before: int, total: int) -> None:
        for group in queue:
            if self._interrupt.asked:
                return
            for trajectory in await self._executor.run(self._stage, group):
                self._run.trajectory_ledger.append(trajectory)
                self._finished += not trajectory.stop_reason.is_fault
                self._faults += trajectory.stop_reason.is_fault
                if self._progress:
                    self._progress(before + self._finished + self._faults, total)
