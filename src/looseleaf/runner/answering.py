"""`AnswerStage`: an agent on one question, whatever process it runs in."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import msgspec

from looseleaf.agent import run_agent
from looseleaf.benchmarks import QuestionSet
from looseleaf.document import PageStore
from looseleaf.document.cache import cache_place
from looseleaf.environment import Environment
from looseleaf.errors import DocumentError, FaultError
from looseleaf.models.chat.policy import ChatPolicy
from looseleaf.models.chat.sampling import about
from looseleaf.models.chat.servers import ChatServers
from looseleaf.models.registry import make_policy
from looseleaf.question import Question
from looseleaf.roles import Policy
from looseleaf.runner.config import RunConfig
from looseleaf.runner.executor.stage import Counts
from looseleaf.runner.executor.wire import enter, here
from looseleaf.runner.library import Library
from looseleaf.runner.manifest import StoreCounts
from looseleaf.runner.selection import load_data
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["AnswerStage", "Job"]


class Job(NamedTuple):
    """One trajectory to be made: a question, and which of its samples."""

    question: Question
    sample: int

    @property
    def trajectory_id(self) -> str:
        """Identity of the trajectory inside its run."""
        return f"{self.question.question_id}#{self.sample}"


class _Context(msgspec.Struct, frozen=True):
    config: RunConfig
    run_id: str
    cache: str
    here: str


class AnswerStage:
    """Runs the policy on jobs.

    Args:
        config: of the run.
        run_id: id of the run, for its trajectories.
        policy: who acts.
        library: opens the documents.
        question_set: where questions and documents come from.
        store: reads the pages.
    """

    kind = "answer"

    def __init__(
        self,
        config: RunConfig,
        run_id: str,
        policy: Policy,
        library: Library,
        question_set: QuestionSet,
        store: PageStore,
    ) -> None:
        self._config = config
        self._run_id = run_id
        self._policy = policy
        self._library = library
        self._question_set = question_set
        self._store = store

    @classmethod
    def of(cls, context: bytes) -> AnswerStage:
        """The same stage in another process, which reads pages with one worker of its own.

        Raises:
            UserError: data, policy or retriever cannot be used there.
        """
        given = msgspec.json.decode(context, type=_Context)
        enter(given.here)
        config = given.config
        store = PageStore(cache_place(given.cache), workers=1)
        question_set = load_data(config.data)
        library = Library(question_set, config.retriever_in_force, store, ocr=config.ocr)
        return cls(config, given.run_id, make_policy(config.policy), library, question_set, store)

    def context(self) -> bytes:
        """All that another process makes the same stage from."""
        return msgspec.json.encode(_Context(self._config, self._run_id, self._store.place.word, here()))

    async def one(self, item: Job) -> Trajectory:
        """The trajectory of one job; a fault ends it and is recorded."""
        try:
            environment = await asyncio.to_thread(self._environment, item.question)
        except DocumentError as problem:
            return self._unstarted(item, StopReason.DOCUMENT_ERROR, str(problem))
        except FaultError as problem:
            return self._unstarted(item, StopReason.PROVIDER_ERROR, str(problem))
        with about(item.question.doc_id):
            return await run_agent(
                self._policy,
                environment,
                run_id=self._run_id,
                sample_index=item.sample,
                seed=self._config.seed + item.sample,
                step_of_training=self._config.step_of_training,
            )

    def failed(self, item: Job, why: str) -> Trajectory:
        """The trajectory of a job whose process was lost: a fault, which the same command tries again."""
        return self._unstarted(item, StopReason.PROVIDER_ERROR, f"{why}; run the same command again.")

    def counts(self) -> Counts:
        """Pages that were read, and calls that the policy made."""
        counts: Counts = dict(StoreCounts.of(self._store)._asdict())
        if isinstance(self._policy, ChatPolicy):
            client = self._policy.client
            counts["model_calls"] = msgspec.to_builtins(client.counters)
            if isinstance(client.server, ChatServers):
                counts["servers"] = msgspec.to_builtins(client.server.counts)
        return counts

    def _environment(self, question: Question) -> Environment:
        """The environment of a question. Reading, encoding and a first search may take long."""
        opened = self._library.open(question)
        return Environment(
            question,
            opened.document,
            opened.retriever,
            self._config.protocol,
            window=self._question_set.window_of(question),
        )

    def _unstarted(self, job: Job, reason: StopReason, error: str) -> Trajectory:
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
