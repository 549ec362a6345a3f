"""`run_lab`: every stage of the lab over a stored run, each resumable; the agent is not run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from looseleaf.errors import ConfigError
from looseleaf.lab.donors import donor_questions
from looseleaf.lab.intervention import KINDS
from looseleaf.lab.question_only import QuestionOnlyReader
from looseleaf.lab.records import INTERVENTION, Item, ScoredRun
from looseleaf.lab.variants import Material, VariantKind, memories_of
from looseleaf.memory import WorkingMemory
from looseleaf.models.registry import make_judge, make_reader
from looseleaf.models.role_spec import RoleSpec
from looseleaf.question import Question
from looseleaf.roles import Reader
from looseleaf.runner.answers import Response
from looseleaf.runner.closing import closing
from looseleaf.runner.lab.answers import Answers, Swapped, answer_anew, answerer_of
from looseleaf.runner.lab.config import LabConfig
from looseleaf.runner.lab.documents import RunDocuments
from looseleaf.runner.lab.grounding import Grounded, check_groundings
from looseleaf.runner.lab.memories import MemoryRow, gold_texts, write_improved
from looseleaf.runner.score import has_memory, own_responses, own_task, scorable_questions
from looseleaf.runner.stage import StageProgress
from looseleaf.runner.stages import ReadingTask, Stages
from looseleaf.runstore import ReadingRow, Run
from looseleaf.score import Unscored

__all__ = ["LabOutcome", "run_lab"]


class LabOutcome(NamedTuple):
    """Where the results are.

    Attributes:
        score_id: ledger of the scores.
        reading_ids: ledgers of the readers, headline reader first.
        sampled_ids: ledgers of the sampled readers.
        answer_id: ledger of the answers under swapped memories, or empty.
        answerer: printable name of who gave them.
        grounding_id: ledger of the grounding verdicts, or empty.
        checker: printable name of the grounding check.
        unscored: rows without a value because something failed.
        notices: what could not be done, one sentence each.
    """

    score_id: str
    reading_ids: tuple[str, ...]
    sampled_ids: tuple[str, ...]
    answer_id: str
    answerer: str
    grounding_id: str
    checker: str
    unscored: int
    notices: tuple[str, ...]


def run_lab(run: Run, config: LabConfig, *, progress: StageProgress | None = None) -> LabOutcome:
    """Do what is not done yet under this configuration.

    Raises:
        UserError: the run or the configuration cannot be used; nothing was started.
    """
    questions = scorable_questions(run)
    if run.config.get("protocol", {}).get("memory", "mandatory") == "none":
        raise ConfigError(f"{run.path} was made without a working memory, so there is nothing to examine.")
    stages = Stages(run, config.score, questions[0].benchmark, progress)
    readers = [(spec, make_reader(spec)) for spec in config.score.readers]
    documents = RunDocuments(run, config.data)
    _check(run, config, documents)
    with run.writing():
        return asyncio.run(_Lab(run, config, stages, documents, questions, progress).run(readers))


def _check(run: Run, config: LabConfig, documents: RunDocuments) -> None:
    """What was asked for by name must be possible.

    Raises:
        ConfigError: it is not.
    """
    if config.writer is not None:
        documents.require("An improved memory")
    elif config.wants(VariantKind.IMPROVED):
        raise ConfigError("An improved memory needs somebody to write it; add --writer openai:MODEL.")
    if config.wants(VariantKind.GOLD_TEXT):
        documents.require("The text of the gold pages")
    if config.answerer != "none":
        answerer_of(run, config)
    if config.answerer == "replay":
        documents.require("--answerer replay")
    checker = config.grounding
    if checker.backend == "embedded" and checker.argument:
        raise ConfigError(f"There is no grounding check {checker.name!r}; use embedded, a judge, or none.")
    if checker.backend not in ("embedded", "none"):
        make_judge(checker)
        documents.require("A grounding judge")


class _Lab:
    """The state of one call of `run_lab`."""

    def __init__(
        self,
        run: Run,
        config: LabConfig,
        stages: Stages,
        documents: RunDocuments,
        questions: Sequence[Question],
        progress: StageProgress | None,
    ) -> None:
        self._run = run
        self._config = config
        self._stages = stages
        self._documents = documents
        self._questions = questions
        self._progress = progress
        self._trajectories = run.trajectories()
        self._readings: dict[str, list[ReadingRow]] = {}
        self._unscored = self._unscored_readings = 0
        self._notices: list[str] = []

    async def run(self, readers: Sequence[tuple[RoleSpec, Reader]]) -> LabOutcome:
        """All stages in order."""
        for spec, reader in readers:
            await self._read(spec, reader, [own_task(item.noted) for item in self._items() if item.noted])
        sampled = await self._read_samples([spec for spec, _ in readers])
        score_id = await self._score(sampled)
        scored = ScoredRun(self._run, score_id)
        improved = await self._improved(scored)
        materials = self._materials(scored, improved)
        for number, (spec, reader) in enumerate(readers):
            await self._read_variants(number, spec, reader, scored, materials)
        score_id = await self._score(sampled)
        answers = await self._answers(scored, materials)
        grounded = await self._ground(scored)
        self._notices += [
            f"{name} is not the document that the run read." for name in self._documents.changed
        ]
        return LabOutcome(
            score_id=score_id,
            reading_ids=tuple(self._readings)[: len(readers)],
            sampled_ids=sampled,
            answer_id=answers.answer_id if answers else "",
            answerer=answers.name if answers else "",
            grounding_id=grounded.grounding_id if grounded else "",
            checker=grounded.name if grounded else "",
            unscored=self._unscored + self._unscored_readings,
            notices=tuple(self._notices),
        )

    def _items(self) -> list[Item]:
        samples = self._run.samples
        return [
            Item(
                f"{question.question_id}#{sample}",
                question,
                self._trajectories.get(f"{question.question_id}#{sample}"),
            )
            for question in self._questions
            for sample in range(samples)
        ]

    # -- readings ---------------------------------------------------------------------------------------------

    async def _read(self, spec: RoleSpec, reader: Reader, tasks: Sequence[ReadingTask]) -> str:
        reading_id, rows = await self._stages.read(spec, reader, tasks)
        self._readings[reading_id] = rows
        return reading_id

    async def _read_samples(self, specs: Sequence[RoleSpec]) -> tuple[str, ...]:
        """Read the own memories several times with each reader that can differ from itself."""
        found = []
        for spec in specs:
            again = self._config.sampled(spec)
            if again is None:
                if self._config.samples > 1:
                    self._notices.append(f"The reader {spec.name} gives one answer only: it is not sampled.")
                continue
            tasks = [
                own_task(item.noted)._replace(sample_index=sample, seed=sample)
                for item in self._items()
                if item.noted
                for sample in range(self._config.samples)
            ]
            async with closing(make_reader(again)) as reader:
                found.append(await self._read(again, reader, tasks))
        return tuple(found)

    async def _read_variants(
        self,
        number: int,
        spec: RoleSpec,
        reader: Reader,
        scored: ScoredRun,
        materials: Mapping[str, Material],
    ) -> None:
        """Let a reader answer from every variant; the question alone is asked in its own way."""
        kinds = self._config.kinds_of(number)
        tasks = list(
            _tasks(scored.items, [k for k in kinds if k is not VariantKind.QUESTION_ONLY], materials)
        )
        await self._read(spec, reader, tasks)
        if VariantKind.QUESTION_ONLY in kinds:
            alone = list(_tasks(scored.items, [VariantKind.QUESTION_ONLY], materials))
            await self._read(spec, QuestionOnlyReader(reader), alone)

    # -- material ---------------------------------------------------------------------------------------------

    async def _improved(self, scored: ScoredRun) -> tuple[str, Mapping[str, MemoryRow]]:
        writer = self._config.writer
        if writer is None:
            return "", {}
        ran = {item.question.question_id for item in scored.items if item.ran}
        questions = [question for question in self._questions if question.question_id in ran]
        ledger_id, rows = await write_improved(self._run, writer, questions, self._documents, self._progress)
        self._unscored += sum(row.unscored is not None for row in rows.values())
        return ledger_id, rows

    def _materials(
        self, scored: ScoredRun, improved: tuple[str, Mapping[str, MemoryRow]]
    ) -> dict[str, Material]:
        donors = donor_questions(self._questions)
        gold: Mapping[str, WorkingMemory] = {}
        if VariantKind.GOLD_TEXT in self._config.kinds_of(0):
            if self._documents.available:
                gold = gold_texts(self._questions, self._documents, self._config.gold_words)
            else:
                self._notices.append(f"Gold-page text was left out: {self._documents.problem}")
        ledger_id, rows = improved
        return {
            item.key: Material(
                prediction=scored.prediction(item.key),
                donor=self._donor(item, donors),
                gold_text=gold.get(item.question.question_id),
                improved=_memory_of(ledger_id, rows.get(item.question.question_id)),
                budgets=self._config.budgets,
            )
            for item in scored.items
        }

    def _donor(self, item: Item, donors: Mapping[str, str]) -> WorkingMemory | None:
        """Memory of the donor question's trajectory with the same sample number."""
        sample = item.key.rpartition("#")[2]
        found = self._trajectories.get(f"{donors.get(item.question.question_id, '')}#{sample}")
        return found.working_memory if found is not None and has_memory(found) else None

    # -- scores, answers, grounding ---------------------------------------------------------------------------

    async def _score(self, sampled: Sequence[str]) -> str:
        """Score all readings of this session; samples of own memories only from the sampled readers."""
        readings = {
            reading_id: [row for row in rows if reading_id in sampled or row.sample_index == 0]
            for reading_id, rows in self._readings.items()
        }
        responses = own_responses(self._run, self._questions, self._trajectories, readings)
        scored = await self._stages.score(responses)
        self._unscored_readings = scored.unscored
        return scored.score_id

    async def _answers(self, scored: ScoredRun, materials: Mapping[str, Material]) -> Answers | None:
        if self._config.answerer == "none":
            return None
        swapped = [
            Swapped(item.question, item.noted, variant.name, memory)
            for item in sorted(scored.items, key=lambda item: item.question.doc_id)
            if item.noted and not item.question.unanswerable
            for kind in KINDS
            for variant, memory in memories_of(kind, item.question, item.noted, materials[item.key])
        ]
        answers = await answer_anew(
            self._run, self._config, self._stages, swapped, self._documents, self._progress
        )
        responses = [_response(one, row, answers.answer_id) for one, row in _joined(swapped, answers.rows)]
        self._unscored += (await self._stages.score(responses)).unscored
        return answers

    async def _ground(self, scored: ScoredRun) -> Grounded | None:
        checker = self._config.grounding
        if checker.backend == "none":
            return None
        if not self._documents.available:
            self._notices.append(f"Grounding was left out: {self._documents.problem}")
            return None
        grounded = await check_groundings(self._run, checker, scored.items, self._documents, self._progress)
        self._unscored += grounded.unscored
        return grounded


def _tasks(
    items: Iterable[Item], kinds: Sequence[VariantKind], materials: Mapping[str, Material]
) -> Iterable[ReadingTask]:
    for item in items:
        if item.noted is None:
            continue
        for kind in kinds:
            for variant, memory in memories_of(kind, item.question, item.noted, materials[item.key]):
                yield ReadingTask(item.key, item.question.question, memory, variant.name)


def _memory_of(ledger_id: str, row: MemoryRow | None) -> dict[str, WorkingMemory]:
    if row is None or row.unscored is not None:
        return {}
    return {ledger_id: WorkingMemory(row.memory)}


def _joined(swapped: Sequence[Swapped], rows: Iterable[ReadingRow]) -> list[tuple[Swapped, ReadingRow]]:
    by_key = {row.key: row for row in rows}
    return [(one, by_key[one.key]) for one in swapped if one.key in by_key]


def _response(one: Swapped, row: ReadingRow, answer_id: str) -> Response:
    return Response(
        question=one.question,
        trajectory_id=row.trajectory_id,
        target=INTERVENTION,
        reading_id=answer_id,
        variant=row.variant,
        text=row.text or "",
        unscored=row.unscored or (None if one.question.references else Unscored.NO_GOLD),
        error=row.error,
    )
