"""Scoring a stored run: readers over memories, extractor over responses, scorer over short answers.

None of it runs the agent. Every stage has its own ledger, so a new judge does not run the readers again, and a row
that ended on a fault is tried again by the same command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from looseleaf.errors import RunError
from looseleaf.models.registry import make_reader
from looseleaf.models.role_spec import RoleSpec
from looseleaf.question import Question
from looseleaf.roles import Reader
from looseleaf.runner.answers import Response, responses_of
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.drift import DriftReplay, drift_replays
from looseleaf.runner.executor import Executor
from looseleaf.runner.stage import StageProgress
from looseleaf.runner.stages import ReadingTask, ScoredResponses, Stages, check_roles
from looseleaf.runstore import ReadingRow, Run
from looseleaf.trajectory import Trajectory

__all__ = [
    "ScoreOutcome",
    "check_score_config",
    "has_memory",
    "own_responses",
    "own_task",
    "scorable_questions",
    "score_run",
]


class ScoreOutcome(NamedTuple):
    """Where the results are.

    Attributes:
        score_id: ledger of the scores.
        reading_ids: ledgers of the readers, headline reader first.
        unscored: rows without a value because something failed, all scorers together.
        also: ledgers of the further scorers, in order.
        drift_faults: drift items without a reply because something failed.
    """

    score_id: str
    reading_ids: tuple[str, ...]
    unscored: int
    also: tuple[str, ...] = ()
    drift_faults: int = 0


def score_run(
    run: Run,
    config: ScoreConfig,
    *,
    progress: StageProgress | None = None,
    executor: Executor | None = None,
) -> ScoreOutcome:
    """Read, extract and score what is not finished yet under this configuration.

    Args:
        run: the run.
        config: how to score.
        progress: called after every row.
        executor: where readers, extractor and scorers run; in this process by default.

    Raises:
        UserError: the run or the configuration cannot be used; nothing was started.
    """
    questions = scorable_questions(run)
    benchmark = questions[0].benchmark
    stages = [
        Stages(run, msgspec.structs.replace(config, scorer=name), benchmark, progress, executor)
        for name in config.scorers
    ]
    readers = [(spec, make_reader(spec)) for spec in config.readers]
    replays = drift_replays(config, benchmark)
    with run.writing():
        outcome = asyncio.run(_score(run, stages, questions, readers, replays, progress))
        _remember(run, config, outcome)
        return outcome


def _remember(run: Run, config: ScoreConfig, outcome: ScoreOutcome) -> None:
    """Save what the last scoring used, so that a later report says the same."""
    last = {
        "score_id": outcome.score_id,
        "also": list(outcome.also),
        "reading_ids": list(outcome.reading_ids),
        "threshold": config.threshold,
    }
    run.write_manifest(run.manifest | {"score": last})
    stored = run.config
    if stored:
        tables = config.as_tables()
        roles = {
            "reader": tables.pop("readers"),
            "extractor": tables.pop("extractor"),
            "judge": tables.pop("judge"),
        }
        run.write_config(stored | {"score": tables, "roles": stored.get("roles", {}) | roles})


def check_score_config(config: ScoreConfig, benchmark: str) -> None:
    """Make every role once, so that a mistake is found before the agent has run.

    Raises:
        ConfigError: the scorer or a role cannot be made.
    """
    check_roles(config, benchmark)
    drift_replays(config, benchmark)
    for spec in config.readers:
        make_reader(spec)


def scorable_questions(run: Run) -> list[Question]:
    """The run's questions.

    Raises:
        RunError: it holds none, so there is no gold to score against.
    """
    questions = run.questions()
    if not questions:
        raise RunError(
            f"{run.path} holds no questions.jsonl, so there is no gold to score against; run it again."
        )
    return questions


async def _score(
    run: Run,
    stages: Sequence[Stages],
    questions: Sequence[Question],
    readers: Sequence[tuple[RoleSpec, Reader]],
    replays: Mapping[str, DriftReplay],
    progress: StageProgress | None,
) -> ScoreOutcome:
    """All stages in order, for one scorer after the other; readers read once."""
    trajectories = run.trajectories()
    tasks = [own_task(t) for t in trajectories.values() if has_memory(t)]
    readings: dict[str, list[ReadingRow]] = {}
    if run.keeps_memory:
        for spec, reader in readers:
            reading_id, rows = await stages[0].read(spec, reader, tasks)
            readings[reading_id] = [row for row in rows if row.variant == "own" and row.sample_index == 0]
    responses = own_responses(run, questions, trajectories, readings)
    scored = [await each.score(responses) for each in stages]
    return ScoreOutcome(
        scored[0].score_id,
        tuple(readings),
        sum(each.unscored for each in scored),
        tuple(each.score_id for each in scored[1:]),
        await _replay(run, stages, scored, replays, progress),
    )


async def _replay(
    run: Run,
    stages: Sequence[Stages],
    scored: Sequence[ScoredResponses],
    replays: Mapping[str, DriftReplay],
    progress: StageProgress | None,
) -> int:
    """Replay the drift items of each extractor and judge that was asked in this session; returns the faults.

    They come after the rows, so that a server which is about to go down spends what it has left on those.
    """
    asked: dict[str, int] = {}
    for stage, outcome in zip(stages, scored, strict=True):
        if stage.scorer in replays:
            name = replays[stage.scorer].drift_id
            asked[name] = asked.get(name, 0) + outcome.asked
    by_id = {replay.drift_id: replay for replay in replays.values()}
    due = [by_id[name] for name, count in asked.items() if count or not by_id[name].is_stored(run)]
    return sum([await replay.run(run, progress) for replay in due])


def has_memory(trajectory: Trajectory) -> bool:
    """Whether there is a terminal memory to read, be it empty: no fault, and no source that records none."""
    return not trajectory.stop_reason.is_fault and "memory" not in trajectory.undefined


def own_task(trajectory: Trajectory) -> ReadingTask:
    """The reading of a trajectory's own terminal memory."""
    return ReadingTask(trajectory.trajectory_id, trajectory.question, trajectory.working_memory)


def own_responses(
    run: Run,
    questions: Sequence[Question],
    trajectories: Mapping[str, Trajectory],
    readings: Mapping[str, Sequence[ReadingRow]],
) -> list[Response]:
    """Every final answer and the given readings of a run, as responses to be scored."""
    samples = run.samples
    missing = _without_document(run, questions, trajectories)
    return list(responses_of(questions, trajectories, readings, samples, missing))


def _without_document(
    run: Run, questions: Sequence[Question], trajectories: Mapping[str, Trajectory]
) -> frozenset[str]:
    if not run.config.get("run", {}).get("strict", False):
        return frozenset()
    ran = {trajectory.question_id for trajectory in trajectories.values()}
    return frozenset(question.question_id for question in questions if question.question_id not in ran)
