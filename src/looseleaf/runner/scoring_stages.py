"""The stages of scoring one item at a time: a reader on a memory, an extractor on a response, a scorer on both."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from looseleaf.errors import AgentError, FaultError, boundary
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.models.chat.sampling import sampling
from looseleaf.models.registry import make_extractor, make_judge, make_reader
from looseleaf.models.role_spec import RoleSpec
from looseleaf.roles import Extraction, Extractor, Reader, Reading
from looseleaf.runner.answers import Response
from looseleaf.runner.checked import role_result
from looseleaf.runner.executor.stage import Counts
from looseleaf.runner.executor.wire import enter, here
from looseleaf.runner.scorers import ScoringRule, rule_named, score_row
from looseleaf.runstore import ExtractionRow, ReadingRow, ScoreRow
from looseleaf.score import Unscored

__all__ = [
    "ExtractStage",
    "ReadStage",
    "ReadingTask",
    "Response",
    "ScoreStage",
    "ToRead",
    "ToScore",
    "reading_row",
]


class ReadingTask(NamedTuple):
    """One memory that a reader is to answer from.

    Attributes:
        trajectory_id: whose question.
        question: the question as asked.
        memory: all that the reader gets.
        variant: which memory it is, e.g. `own`.
        sample_index: 0-based sample of a stochastic reader.
        seed: seed of the sample, for servers that take one.
    """

    trajectory_id: str
    question: str
    memory: WorkingMemory
    variant: str = "own"
    sample_index: int = 0
    seed: int | None = None

    @property
    def key(self) -> str:
        """Identity of the reading inside its ledger."""
        return f"{self.trajectory_id}|{self.variant}|{self.sample_index}"


class ToRead(msgspec.Struct, frozen=True):
    """A `ReadingTask` as it travels: its memory as findings."""

    trajectory_id: str
    question: str
    findings: tuple[Finding, ...]
    variant: str
    sample_index: int
    seed: int | None

    @classmethod
    def of(cls, task: ReadingTask) -> ToRead:
        """The task as it travels."""
        findings = task.memory.findings
        return cls(task.trajectory_id, task.question, findings, task.variant, task.sample_index, task.seed)

    @property
    def task(self) -> ReadingTask:
        """The task again."""
        memory = WorkingMemory(self.findings)
        return ReadingTask(
            self.trajectory_id, self.question, memory, self.variant, self.sample_index, self.seed
        )


class ToScore(NamedTuple):
    """A response, and what the extractor made of it."""

    response: Response
    extraction: ExtractionRow | None


class _RoleContext(msgspec.Struct, frozen=True):
    spec: RoleSpec
    here: str


class _ScoreContext(msgspec.Struct, frozen=True):
    scorer: str
    benchmark: str
    judge: RoleSpec
    extraction_id: str | None
    here: str


class _ScoringStage:
    """Common to the three: none of them counts anything."""

    def counts(self) -> Counts:
        """Nothing."""
        return {}


class ReadStage(_ScoringStage):
    """A reader over memories."""

    kind = "read"

    def __init__(self, spec: RoleSpec, reader: Reader) -> None:
        self._spec = spec
        self._reader = reader

    @classmethod
    def of(cls, context: bytes) -> ReadStage:
        """The same stage in another process."""
        given = _role_of(context)
        return cls(given.spec, make_reader(given.spec))

    def context(self) -> bytes:
        """All that another process makes the same stage from."""
        return msgspec.json.encode(_RoleContext(self._spec, here()))

    async def one(self, item: ToRead) -> ReadingRow:
        """The reading of one memory."""
        return await reading_row(self._reader, item.task)

    def failed(self, item: ToRead, why: str) -> ReadingRow:
        """The row of a reading that was lost."""
        return ReadingRow(**_reading_fields(item.task), unscored=Unscored.READER_FAULT, error=why)


class ExtractStage(_ScoringStage):
    """An extractor over responses."""

    kind = "extract"

    def __init__(self, spec: RoleSpec, extractor: Extractor) -> None:
        self._spec = spec
        self._extractor = extractor

    @classmethod
    def of(cls, context: bytes) -> ExtractStage:
        """The same stage in another process."""
        given = _role_of(context)
        extractor = make_extractor(given.spec)
        assert extractor is not None, "a run without an extractor has no such stage"
        return cls(given.spec, extractor)

    def context(self) -> bytes:
        """All that another process makes the same stage from."""
        return msgspec.json.encode(_RoleContext(self._spec, here()))

    async def one(self, item: Response) -> ExtractionRow:
        """The extraction of one response; a fault becomes an unscored row."""
        try:
            with boundary(AgentError, "The extractor failed"):
                asked = self._extractor.extract(item.question.question, item.text)
                extraction = await role_result(asked, Extraction, "extractor")
        except FaultError as problem:
            return self.failed(item, str(problem))
        return ExtractionRow(**_response_fields(item), text=extraction.text, usage=extraction.usage)

    def failed(self, item: Response, why: str) -> ExtractionRow:
        """The row of an extraction that failed or was lost."""
        return ExtractionRow(**_response_fields(item), unscored=Unscored.EXTRACTOR_FAULT, error=why)


class ScoreStage(_ScoringStage):
    """A scorer over responses and their extractions."""

    kind = "score"

    def __init__(
        self, rule: ScoringRule, scorer: str, benchmark: str, judge: RoleSpec, extraction_id: str | None
    ) -> None:
        self._rule = rule
        self._context = _ScoreContext(scorer, benchmark, judge, extraction_id, here())

    @classmethod
    def of(cls, context: bytes) -> ScoreStage:
        """The same stage in another process."""
        given = msgspec.json.decode(context, type=_ScoreContext)
        enter(given.here)
        rule = rule_named(given.scorer, given.benchmark, make_judge(given.judge))
        return cls(rule, given.scorer, given.benchmark, given.judge, given.extraction_id)

    def context(self) -> bytes:
        """All that another process makes the same stage from."""
        return msgspec.json.encode(self._context)

    async def one(self, item: ToScore) -> ScoreRow:
        """The score of one response."""
        return await score_row(self._rule, item.response, self._context.extraction_id, item.extraction)

    def failed(self, item: ToScore, why: str) -> ScoreRow:
        """The row of a score that was lost."""
        return ScoreRow(
            **_response_fields(item.response),
            extraction_id=self._context.extraction_id,
            unscored=Unscored.JUDGE_FAULT,
            error=why,
        )


async def reading_row(reader: Reader, task: ReadingTask) -> ReadingRow:
    """One reading; a fault becomes an unscored row."""
    fields = _reading_fields(task)
    try:
        with boundary(AgentError, "The reader failed"), sampling(task.seed, task.sample_index):
            reading = await role_result(reader.read(task.question, task.memory), Reading, "reader")
    except FaultError as problem:
        return ReadingRow(**fields, unscored=Unscored.READER_FAULT, error=str(problem))
    return ReadingRow(**fields, text=reading.text, usage=reading.usage)


def _role_of(context: bytes) -> _RoleContext:
    given = msgspec.json.decode(context, type=_RoleContext)
    enter(given.here)
    return given


def _reading_fields(task: ReadingTask) -> dict[str, Any]:
    return {
        "trajectory_id": task.trajectory_id,
        "variant": task.variant,
        "sample_index": task.sample_index,
    }


def _response_fields(response: Response) -> dict[str, Any]:
    return {
        "trajectory_id": response.trajectory_id,
        "target": response.target,
        "reading_id": response.reading_id,
        "variant": response.variant,
        "sample_index": response.sample_index,
    }
