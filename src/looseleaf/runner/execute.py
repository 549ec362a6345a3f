"""Running an agent over selected questions: bounded, resumable, nothing lost and nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from looseleaf.agent import run_agent
from looseleaf.benchmarks import QuestionSet
from looseleaf.document import PageStore, default_store, require_ocr
from looseleaf.environment import Environment
from looseleaf.errors import DocumentError, FaultError
from looseleaf.models.chat.sampling import about
from looseleaf.models.registry import make_policy
from looseleaf.question import Question
from looseleaf.roles import Policy
from looseleaf.runner.config import RunConfig
from looseleaf.runner.interrupt import Interrupt
from looseleaf.runner.library import Library
from looseleaf.runner.manifest import StoreCounts, freeze, record_session
from looseleaf.runner.selection import load_data, select
from looseleaf.runstore import Run, config_id
from looseleaf.trajectory import StopReason, Trajectory

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


class _Job(NamedTuple):
    question: Question
    sample: int

    @property
    def trajectory_id(self) -> str:
        return f"{self.question.question_id}#{self.sample}"


def execute(
    config: RunConfig, out: Path, *, store: PageStore | None = None, progress: Progress | None = None
) -> RunOutcome:
    """Run what is not finished yet.

    Args:
        config: everything that decides the results.
        out: the RUN folder, new or to be continued.
        store: page store; the process-wide one by default.
        progress: called after every trajectory.

    Raises:
        UserError: the data, the configuration or the folder cannot be used; nothing was started.
    """
    store = store or default_store()
    if config.ocr:
        require_ocr()
    policy = make_policy(config.policy)
    question_set = load_data(config.data)
    library = Library(question_set, config.retriever_in_force, store, ocr=config.ocr)
    selected = select(question_set, config)
    run = Run.create(out)
    with run.writing():
        freeze(run, config, question_set, selected, library)
        session = _Session(run, config, policy, library, question_set, progress)
        before = StoreCounts.of(store)
        outcome = asyncio.run(session.run(selected))
        finished = (outcome.finished_before, outcome.finished_now, outcome.faults)
        record_session(run, finished, before, store, policy)
    return outcome


class _Session:
    """The mutable state of one call of `execute`."""

    def __init__(
        self,
        run: Run,
        config: RunConfig,
        policy: Policy,
        library: Library,
        question_set: QuestionSet,
        progress: Progress | None,
    ) -> None:
        self._run = run
        self._config = config
        self._policy = policy
        self._library = library
        self._question_set = question_set
        self._progress = progress
        self._interrupt = Interrupt()
        self._run_id = str(run.manifest.get("run_id") or config_id("run", config.as_tables()))
        self._finished = 0
        self._faults = 0

    async def run(self, selected: list[Question]) -> RunOutcome:
        """Work off the jobs that no earlier session finished."""
        jobs = [
            _Job(question, sample)
            for question in selected
            if question.doc_id in self._question_set.documents
            for sample in range(self._config.samples)
        ]
        done = {key for key, found in self._run.trajectories().items() if not found.stop_reason.is_fault}
        open_jobs = [job for job in jobs if job.trajectory_id not in done]
        before = len(jobs) - len(open_jobs)
        with self._interrupt.listening():
            queue = iter(open_jobs)
            workers = min(self._config.concurrency, len(open_jobs))
            await asyncio.gather(*(self._work(queue, before, len(jobs)) for _ in range(workers)))
        return RunOutcome(self._run, before, self._finished, self._faults, self._interrupt.asked)

    async def _work(self, queue: Iterator[_Job], before: int, total: int) -> None:
        for job in queue:
            if self._interrupt.asked:
                return
            trajectory = await self._trajectory(job)
            self._run.trajectory_ledger.append(trajectory)
            self._finished += not trajectory.stop_reason.is_fault
            self._faults += trajectory.stop_reason.is_fault
            if self._progress:
                self._progress(before + self._finished + self._faults, total)

    async def _trajectory(self, job: _Job) -> Trajectory:
        try:
            environment = await asyncio.to_thread(self._environment, job.question)
        except DocumentError as problem:
            return self._unstarted(job, StopReason.DOCUMENT_ERROR, str(problem))
        except FaultError as problem:
            return self._unstarted(job, StopReason.PROVIDER_ERROR, str(problem))
        with about(job.question.doc_id):
            return await run_agent(
                self._policy,
                environment,
                run_id=self._run_id,
                sample_index=job.sample,
                seed=self._config.seed + job.sample,
                step_of_training=self._config.step_of_training,
            )

    def _environment(self, question: Question) -> Environment:
        """The environment of a question. Reading, encoding and a first search may take long."""
        opened = self._library.open(question)
        return Environment(
            question,
            opened.document,
            opened.retriever,
            self._config.protocol,
            window=self._window(question),
        )

    def _window(self, question: Question) -> tuple[int, int] | None:
        return question.window if "page_window" in self._question_set.oracle else None

    def _unstarted(self, job: _Job, reason: StopReason, error: str) -> Trajectory:
        return Trajectory(
            run_id=self._run_id,
            trajectory_id=job.trajectory_id,
            question_id=job.question.question_id,
            benchmark=job.question.benchmark,
            doc_id=job.question.doc_id,
            question=job.question.question,
            protocol=self._config.protocol.name,
            seed=self._config.seed + job.sample,
            sample_index=job.sample,
            stop_reason=reason,
            error=error,
        )
