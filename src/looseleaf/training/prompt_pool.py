"""The prompt pool of GRPO: the SFT checkpoint answers each candidate several times, and mixed prompts are kept."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from looseleaf.document import PageStore
from looseleaf.models.role_spec import RoleSpec
from looseleaf.reward.pool import PromptPool, select_pool, write_pool
from looseleaf.runner.config import DEFAULT_CONCURRENCY, RunConfig
from looseleaf.runner.execute import Progress, execute
from looseleaf.runner.score import check_score_config, score_run
from looseleaf.runner.stage import StageProgress
from looseleaf.runstore import Run
from looseleaf.training.config import TrainConfig
from looseleaf.training.questions import check_held_out, pool_ids, selected_set

__all__ = ["POOL_FILE", "MadePool", "make_pool"]

POOL_FILE = "pool.json"
"""The pool, in the folder of the run that it was chosen from."""


class MadePool(NamedTuple):
    """What `make_pool` did.

    Attributes:
        run: several samples a candidate.
        pool: the chosen prompts; `None` where the run was interrupted.
        sha256: hash of the pool's file, for `[data] pool_sha256`.
        unscored: trajectories and rows without a value because something failed.
    """

    run: Run
    pool: PromptPool | None
    sha256: str
    unscored: int


def make_pool(
    config: TrainConfig,
    policy: RoleSpec,
    out: Path,
    *,
    candidates: Path | None = None,
    samples: int | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    store: PageStore | None = None,
    progress: Progress | None = None,
    stages: StageProgress | None = None,
) -> MadePool:
    """Sample the candidates with the SFT checkpoint, score the answers, and keep the prompts of mixed groups.

    Only answers are looked at, so that the pool favours no reward; the memory is not read.

    Args:
        config: names the questions, the rules and the scorer of training.
        policy: the SFT checkpoint.
        out: RUN folder; the pool stands in it.
        candidates: what `looseleaf train collect` left for GRPO; all training questions by default.
        samples: trajectories a question; the group size of training by default.
        concurrency: questions in flight.
        store: page store; the process-wide one by default.
        progress: called after every trajectory.
        stages: called after every row of scoring.

    Raises:
        UserError: the data or a role cannot be used, no group is mixed, or the questions overlap with held-out ones.
    """
    run_config = _pool_run(config, policy, candidates, samples, concurrency)
    score = msgspec.structs.replace(config.training_score, readers=())
    check_score_config(score, config.data.benchmark)
    check_held_out(config, selected_set(run_config), store)
    outcome = execute(run_config, out, store=store, progress=progress)
    if outcome.interrupted:
        return MadePool(outcome.run, None, "", outcome.faults)
    scored = score_run(outcome.run, score, progress=stages)
    pool = select_pool(outcome.run, scored.score_id, threshold=config.reward.threshold)
    return MadePool(outcome.run, pool, write_pool(pool, out / POOL_FILE), outcome.faults + scored.unscored)


def _pool_run(
    config: TrainConfig, policy: RoleSpec, candidates: Path | None, samples: int | None, concurrency: int
) -> RunConfig:
    ids = config.data.ids if candidates is None else pool_ids(candidates)
    return msgspec.structs.replace(
        config.rollout_run,
        policy=policy,
        ids=ids,
        limit=config.data.limit if candidates is None else None,
        samples=samples or config.train.group_size,
        concurrency=concurrency,
    )
