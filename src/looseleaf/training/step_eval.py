"""Evaluating one checkpoint on held-out questions: a normal RUN for each step, scored as any other run.

The official scorer and readers that training does not use make the headline; training's own scorer and reader stand
beside them, and their agreement is written into the run.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from looseleaf.document import PageStore
from looseleaf.errors import ConfigError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.runner.config import RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import ScoreOutcome, score_run
from looseleaf.runstore import Run, write_atomically
from looseleaf.scoring.registry import default_scorer
from looseleaf.training.agreement import Side, StepAgreement, step_agreement
from looseleaf.training.config import EvaluationTable, TrainConfig
from looseleaf.training.hf_policy import BACKEND
from looseleaf.training.questions import evaluation_run

__all__ = [
    "AGREEMENT_FILE",
    "EVALUATIONS",
    "Evaluated",
    "checkpoint_policy",
    "evaluate_step",
    "evaluation_folder",
    "evaluation_score",
    "held_out",
    "training_score",
]

EVALUATIONS = "evaluations"
"""Folder of the RUNs inside the output folder."""
AGREEMENT_FILE = "agreement.json"
"""Agreement of training with evaluation, in each RUN."""
STEP_DIGITS = 6
"""Digits of a step in a RUN's name, so that names sort."""


class Evaluated(NamedTuple):
    """One checkpoint's evaluation.

    Attributes:
        run: the RUN.
        scored: ledgers of the evaluation.
        agreement: of training's verdicts with the evaluation's.
        unscored: trajectories and rows without a value because something failed.
    """

    run: Run
    scored: ScoreOutcome
    agreement: StepAgreement
    unscored: int


def evaluation_folder(config: TrainConfig, step: int) -> Path:
    """The RUN of a step: `OUT/evaluations/<variant>-<step>`."""
    return Path(config.train.output) / EVALUATIONS / f"{config.variant}-{step:0{STEP_DIGITS}d}"


def checkpoint_policy(config: TrainConfig, step: int) -> RoleSpec:
    """The checkpoint of a step as a role."""
    evaluation = held_out(config)
    return RoleSpec(
        backend=BACKEND,
        argument=str(Path(config.train.output) / f"checkpoint-{step}"),
        options={"temperature": evaluation.temperature, "max_turn_tokens": config.train.max_turn_tokens},
    )


def evaluate_step(
    config: TrainConfig, policy: RoleSpec, step: int, *, store: PageStore | None = None
) -> Evaluated:
    """Run the held-out questions, score them twice, and write the agreement; the same call resumes.

    Args:
        config: with `[evaluation]`.
        policy: the checkpoint.
        step: its optimiser step.
        store: page store; the process-wide one by default.

    Raises:
        UserError: the data or a role cannot be used.
    """
    run_config = step_run(config, policy, step)
    outcome = execute(run_config, evaluation_folder(config, step), store=store)
    run = outcome.run
    tables = config.as_tables()
    run.write_config(run.config | {"train": tables["train"], "reward": tables["reward"]})
    training = score_run(run, training_score(config))
    scored = score_run(run, evaluation_score(config))  # the last one is the run's headline
    agreement = step_agreement(
        run,
        step,
        _sides(training)[0],
        _sides(scored)[: len(held_out(config).readers)],
        config.reward.threshold,
    )
    content = msgspec.json.format(msgspec.json.encode(agreement), indent=2) + b"\n"
    write_atomically(run.path / AGREEMENT_FILE, content)
    return Evaluated(run, scored, agreement, outcome.faults + training.unscored + scored.unscored)


def step_run(config: TrainConfig, policy: RoleSpec, step: int) -> RunConfig:
    """The run of one step: held-out questions under the rules of training."""
    base = evaluation_run(config, held_out(config))
    return msgspec.structs.replace(base, policy=policy, step_of_training=step)


def training_score(config: TrainConfig) -> ScoreConfig:
    """Scorer and reader as in training; an empty name stands for the training questions' scorer."""
    name = config.reward.scorer or default_scorer(config.data.benchmark)
    return msgspec.structs.replace(config.training_score, scorer=name)


def evaluation_score(config: TrainConfig) -> ScoreConfig:
    """The official scorer, readers unseen in training first, and training's reader after them."""
    evaluation = held_out(config)
    return ScoreConfig(
        scorer=evaluation.scorer,
        extractor=evaluation.extractor,
        readers=(*evaluation.readers, config.roles.reader),
        judge=evaluation.judge,
        threshold=config.reward.threshold,
    )


def _sides(scored: ScoreOutcome) -> list[Side]:
    readings = scored.reading_ids or (None,)
    return [Side(score_id=scored.score_id, reading_id=reading_id) for reading_id in readings]


def held_out(config: TrainConfig) -> EvaluationTable:
    """The held-out questions.

    Raises:
        ConfigError: there are none.
    """
    if config.evaluation is None:
        raise ConfigError("There are no held-out questions; add [evaluation] to the configuration.")
    return config.evaluation
