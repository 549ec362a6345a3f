"""Running an agent over selected questions: bounded, resumable, nothing lost and nothing twice."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from looseleaf import __version__
from looseleaf.agent import run_agent
from looseleaf.benchmarks import QuestionSet, load_benchmark, load_questions
from looseleaf.document import PageStore, default_store
from looseleaf.environment import Environment
from looseleaf.errors import ConfigError, DocumentError
from looseleaf.models.chat.policy import ChatPolicy
from looseleaf.models.prompts import prompt_hashes
from looseleaf.models.registry import make_policy
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleSpec
from looseleaf.question import Question
from looseleaf.roles import Policy
from looseleaf.runner.config import DataConfig, RunConfig, check_same_config
from looseleaf.runner.interrupt import Interrupt
from looseleaf.runner.library import Library
from looseleaf.runstore import Run, config_id
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["RunOutcome", "execute", "load_data", "select"]

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


def load_data(config: DataConfig) -> QuestionSet:
    """The questions and documents of a data configuration.

    Raises:
        UserError: they cannot be used.
    """
    own = Path(config.benchmark)
    if own.suffix in {".jsonl", ".json"}:
        return load_questions(own, Path(config.path))
    return load_benchmark(config.benchmark, Path(config.path), **config.options)


def select(question_set: QuestionSet, config: RunConfig) -> list[Question]:
    """The selected questions, in order: the denominator of every result.

    Raises:
        ConfigError: an id is unknown, or nothing is left.
    """
    pool = question_set.questions if config.strict else question_set.runnable
    if config.ids:
        by_id = {name: question for question in pool for name in (question.question_id, question.native_id)}
        unknown = [wanted for wanted in config.ids if wanted not in by_id]
        if unknown:
            raise ConfigError(f"There is no question {unknown[0]!r} with a document here; check --ids.")
        chosen = {by_id[wanted].question_id for wanted in config.ids}
        pool = tuple(question for question in pool if question.question_id in chosen)
    selected = list(pool if config.limit is None else pool[: config.limit])
    if not selected:
        raise ConfigError("No question is left to run; check --limit and --ids.")
    return selected


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
    policy = make_policy(config.policy)
    question_set = load_data(config.data)
    library = Library(question_set, config.retriever, store)
    selected = select(question_set, config)
    run = Run.create(out)
    with run.writing():
        _freeze(run, config, question_set, selected, library)
        session = _Session(run, config, policy, library, question_set, progress)
        outcome = asyncio.run(session.run(selected))
        _update_manifest(run, outcome, store, policy)
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
            opened = await asyncio.to_thread(self._library.open, job.question)
            environment = Environment(
                job.question,
                opened.document,
                opened.retriever,
                self._config.protocol,
                window=self._window(job.question),
            )
        except DocumentError as problem:
            return self._document_error(job, str(problem))
        return await run_agent(
            self._policy,
            environment,
            run_id=self._run_id,
            sample_index=job.sample,
            seed=self._config.seed + job.sample,
            step_of_training=self._config.step_of_training,
        )

    def _window(self, question: Question) -> tuple[int, int] | None:
        return question.window if "page_window" in self._question_set.oracle else None

    def _document_error(self, job: _Job, error: str) -> Trajectory:
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
            stop_reason=StopReason.DOCUMENT_ERROR,
            error=error,
        )


def _freeze(
    run: Run, config: RunConfig, question_set: QuestionSet, selected: list[Question], library: Library
) -> None:
    stored = run.config
    tables = config.as_tables()
    if stored:
        check_same_config(stored, tables, str(run.path))
        was = run.manifest.get("data", {}).get("sha256", question_set.sha256)
        if was != question_set.sha256:
            check_same_config(
                {"data": {"sha256": was}}, {"data": {"sha256": question_set.sha256}}, str(run.path)
            )
        prompts = _prompts(config.policy)
        check_same_config(
            {"prompts": run.manifest.get("prompts", prompts)}, {"prompts": prompts}, str(run.path)
        )
        return
    run.write_questions(selected)
    run.write_manifest(_manifest(config, question_set, selected, library))
    run.write_config(tables)


def _manifest(
    config: RunConfig, question_set: QuestionSet, selected: list[Question], library: Library
) -> dict[str, Any]:
    return {
        "run_id": config_id("run", config.as_tables()),
        "versions": _versions(),
        "data": question_set.describe(),
        "counts": {
            "n_set": len(question_set.questions),
            "n_selected": len(selected),
            "n_without_document": len(question_set.questions) - len(question_set.runnable),
        },
        "retriever": {"name": config.retriever, "family": str(library.family)},
        "protocol": config.protocol.name,
        "prompts": _prompts(config.policy),
    }


def _prompts(policy: RoleSpec) -> dict[str, str]:
    """Hashes of the prompts that the policy may be given; none where it reads no prompts."""
    if policy.backend not in CHAT_BACKENDS:
        return {}
    return prompt_hashes(policy.options.get("prompt", ""))


def _versions() -> dict[str, str]:
    packages = ("pypdfium2", "bm25s", "numpy", "pillow", "openai")
    return {"looseleaf": __version__, "python": platform.python_version()} | {
        package: metadata.version(package) for package in packages
    }


def _update_manifest(run: Run, outcome: RunOutcome, store: PageStore, policy: Policy) -> None:
    manifest = run.manifest
    manifest["last_session"] = {
        "finished_before": outcome.finished_before,
        "finished_now": outcome.finished_now,
        "faults": outcome.faults,
        "documents_opened": store.documents_opened,
        "pages_extracted": store.pages_extracted,
        "pages_rendered": store.pages_rendered,
    }
    if isinstance(policy, ChatPolicy):
        manifest["last_session"]["model_calls"] = msgspec.to_builtins(policy.client.counters)
    run.write_manifest(manifest)
