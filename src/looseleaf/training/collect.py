"""Collecting SFT trajectories: a teacher runs over the training questions, and its correct trajectories are kept.

Source: AWM, arXiv 2608.25618, data and training: 2,000 questions, 994 SFT trajectories of a teacher in
difficulty-balanced buckets, and the questions that are left are the candidates of the RL pool.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from looseleaf.document import PageStore
from looseleaf.runner.config import RunConfig
from looseleaf.runner.execute import Progress, execute
from looseleaf.runner.score import check_score_config, score_run
from looseleaf.runner.stage import StageProgress
from looseleaf.runstore import Run
from looseleaf.training.collection import Collection, CollectOptions, choose, keep_collection
from looseleaf.training.config import TrainConfig
from looseleaf.training.questions import check_held_out, selected_set

__all__ = ["Collected", "collect", "teacher_run"]


class Collected(NamedTuple):
    """What `collect` did.

    Attributes:
        run: the teacher's run.
        collection: counts; `None` where the run was interrupted.
        unscored: trajectories and rows without a value because something failed.
    """

    run: Run
    collection: Collection | None
    unscored: int


def collect(
    config: TrainConfig,
    options: CollectOptions,
    out: Path,
    *,
    store: PageStore | None = None,
    progress: Progress | None = None,
    stages: StageProgress | None = None,
) -> Collected:
    """Run the teacher over the training questions, score, choose, and write the files; the same call resumes.

    Args:
        config: names the questions, the rules, the scorer and the reader of training.
        options: teacher and choice.
        out: RUN folder of the teacher; the files stand in it.
        store: page store; the process-wide one by default.
        progress: called after every trajectory.
        stages: called after every row of scoring.

    Raises:
        UserError: the data or a role cannot be used, or the questions overlap with held-out ones.
    """
    run_config = teacher_run(config, options)
    check_score_config(config.training_score, config.data.benchmark)
    check_held_out(config, selected_set(run_config), store)
    outcome = execute(run_config, out, store=store, progress=progress)
    if outcome.interrupted:
        return Collected(outcome.run, None, outcome.faults)
    scored = score_run(outcome.run, config.training_score, progress=stages)
    choice = choose(outcome.run, scored, options, config)
    collection = keep_collection(choice, out)
    return Collected(outcome.run, collection, outcome.faults + scored.unscored)


def teacher_run(config: TrainConfig, options: CollectOptions) -> RunConfig:
    """The run of the teacher: training questions and rules, another policy."""
    return msgspec.structs.replace(
        config.rollout_run,
        policy=options.teacher,
        samples=options.samples,
        concurrency=options.concurrency,
    )
