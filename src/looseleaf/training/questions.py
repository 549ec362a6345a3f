"""The questions of a training and its held-out ones, and the refusal to train on what will be evaluated."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from looseleaf.benchmarks import QuestionSet
from looseleaf.benchmarks.contamination import ContaminationReport, contamination
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError, DataError, RunError
from looseleaf.question import Question
from looseleaf.reward.pool import PromptPool, read_pool
from looseleaf.runner.config import RunConfig
from looseleaf.runner.selection import load_data, select
from looseleaf.runstore import write_atomically
from looseleaf.training.config import EvaluationTable, TrainConfig

__all__ = [
    "Candidates",
    "check_held_out",
    "evaluation_run",
    "evaluation_set",
    "pool_ids",
    "read_candidates",
    "selected_set",
    "training_set",
    "write_candidates",
]


class Candidates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="candidates"):
    """Questions that are left for GRPO after SFT trajectories were taken (AWM: 1,006 of 2,000).

    Attributes:
        run_id: run of the teacher.
        question_ids: the questions, in order.
    """

    run_id: str
    question_ids: tuple[str, ...]


def write_candidates(candidates: Candidates, path: Path) -> None:
    """Write the file; the same candidates always give the same bytes."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(candidates), indent=1) + b"\n")


def read_candidates(path: Path) -> Candidates | None:
    """The candidates in that file, or `None` where it holds something else or cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Candidates)
    except (OSError, msgspec.DecodeError):
        return None


def pool_ids(path: Path, sha256: str = "") -> tuple[str, ...]:
    """Questions of a prompt pool, or of candidates that no checkpoint has been tried on.

    Raises:
        RunError: the file is neither, or has another hash.
    """
    candidates = read_candidates(path)
    if candidates is None:
        pool: PromptPool = read_pool(path, sha256 or None)
        return pool.question_ids
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 and found != sha256:
        raise RunError(
            f"{path} has the hash {found} and the configuration names {sha256}; use one of the two."
        )
    return candidates.question_ids


def training_set(config: TrainConfig) -> QuestionSet:
    """The questions that GRPO draws its prompts from: those of the pool, or all selected ones without a pool.

    Raises:
        UserError: the questions or the pool cannot be used.
    """
    chosen = selected_set(config.rollout_run)
    if not config.data.pool:
        return chosen
    wanted = pool_ids(Path(config.data.pool), config.data.pool_sha256)
    by_id = {question.question_id: question for question in chosen.questions}
    missing = [name for name in wanted if name not in by_id]
    if missing:
        raise DataError(
            f"The pool {config.data.pool} names {missing[0]}, which is not among the training questions of "
            f"{config.data.path}; use the pool that was made from them."
        )
    return chosen.only(by_id[name] for name in wanted)


def selected_set(run: RunConfig) -> QuestionSet:
    """The question set of a run, cut down to what is selected and has a gold answer.

    Raises:
        UserError: the data cannot be used, or nothing is left.
    """
    question_set = load_data(run.data)
    chosen = [question for question in select(question_set, run) if question.references]
    if not chosen:
        raise ConfigError(f"No selected question of {run.data.path} has a gold answer; use others.")
    return question_set.only(chosen)


def evaluation_run(config: TrainConfig, evaluation: EvaluationTable) -> RunConfig:
    """The held-out questions under the rules of training, as the runner takes them."""
    return msgspec.structs.replace(
        config.rollout_run,
        data=evaluation.questions,
        ids=evaluation.ids,
        limit=evaluation.limit,
        samples=evaluation.samples,
    )


def evaluation_set(config: TrainConfig) -> QuestionSet | None:
    """The held-out questions, or `None` where the configuration has none.

    Raises:
        UserError: the data cannot be used, or nothing is left.
    """
    if config.evaluation is None:
        return None
    run = evaluation_run(config, config.evaluation)
    question_set = load_data(run.data)
    return question_set.only(select(question_set, run))


def check_held_out(
    config: TrainConfig, train: QuestionSet | list[Question], store: PageStore | None = None
) -> ContaminationReport | None:
    """Refuse to train where documents, pages or questions are also evaluated on.

    Args:
        config: with the held-out questions.
        train: the training set, or those of its questions that are trained on.
        store: page store; the process-wide one by default.

    Returns:
        What was compared, or `None` where nothing is held out.

    Raises:
        DataError: the two overlap.
    """
    held_out = evaluation_set(config)
    if held_out is None or config.evaluation is None:
        return None
    ours = train if isinstance(train, QuestionSet) else load_data(config.data.questions).only(train)
    report = contamination(ours, held_out, store, pages=config.evaluation.check_pages)
    report.require_clean()
    return report
