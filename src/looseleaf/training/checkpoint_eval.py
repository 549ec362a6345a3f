"""Evaluating the policy in training on held-out questions: a normal RUN for each step, scored as any other run.

The official scorer and readers that training does not use make the headline; training's own scorer and reader stand
beside them, and their agreement is written into the run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from looseleaf.document import PageStore
from looseleaf.errors import ConfigError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.roles import Policy
from looseleaf.runner.config import RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import ScoreOutcome, check_score_config, score_run
from looseleaf.runstore import Run, write_atomically
from looseleaf.scoring.registry import default_scorer
from looseleaf.training.agreement import Side, StepAgreement, step_agreement
from looseleaf.training.config import EvaluationTable, TrainConfig
from looseleaf.training.hf_policy import BACKEND, in_memory
from looseleaf.training.questions import evaluation_run

__all__ = [
    "AGREEMENT_FILE",
    "EVALUATIONS",
    "Evaluated",
    "checkpoint_policy",
    "evaluate_step",
    "evaluation_callback",
    "evaluation_folder",
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
    evaluation = _required(config)
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
        _sides(scored)[: len(_required(config).readers)],
        config.reward.threshold,
    )
    content = msgspec.json.format(msgspec.json.encode(agreement), indent=2) + b"\n"
    write_atomically(run.path / AGREEMENT_FILE, content)
    return Evaluated(run, scored, agreement, outcome.faults + training.unscored + scored.unscored)


def step_run(config: TrainConfig, policy: RoleSpec, step: int) -> RunConfig:
    """The run of one step: held-out questions under the rules of training."""
    base = evaluation_run(config, _required(config))
    return msgspec.structs.replace(base, policy=policy, step_of_training=step)


def training_score(config: TrainConfig) -> ScoreConfig:
    """Scorer and reader as in training; an empty name stands for the training questions' scorer."""
    name = config.reward.scorer or default_scorer(config.data.benchmark)
    return msgspec.structs.replace(config.training_score, scorer=name)


def evaluation_score(config: TrainConfig) -> ScoreConfig:
    """The official scorer, readers unseen in training first, and training's reader after them."""
    evaluation = _required(config)
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


def _required(config: TrainConfig) -> EvaluationTable:
    if config.evaluation is None:
        raise ConfigError("There are no held-out questions; add [evaluation] to the configuration.")
    return config.evaluation


# -- in training ---------------------------------------------------------------------------------------------------


def evaluation_callback(config: TrainConfig, processor: Any, *, store: PageStore | None = None) -> Any:
    """A transformers `TrainerCallback` that evaluates before the first step, every `eval_every` steps and at the end.

    Only the first process evaluates, with the weights that it holds; the others wait.

    Args:
        config: with `[evaluation]` and `eval_every`.
        processor: of the model.
        store: page store; the process-wide one by default.

    Raises:
        ConfigError: a role cannot be made, or weights are sharded over processes, so that no process holds them all.
    """
    from transformers import TrainerCallback

    evaluation = _required(config)
    check_score_config(evaluation_score(config), evaluation.benchmark)
    check_score_config(training_score(config), config.data.benchmark)
    _check_not_sharded(config)
    every = config.train.eval_every

    class EvaluationCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]  # untyped without transformers
        """Evaluates the model in memory."""

        def __init__(self) -> None:
            self.evaluated: dict[int, Evaluated] = {}

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step == 0:
                self._evaluate(state, kwargs["model"])

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step % every == 0:
                self._evaluate(state, kwargs["model"])

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._evaluate(state, kwargs["model"])

        def _evaluate(self, state: Any, model: Any) -> None:
            step = int(state.global_step)
            if state.is_world_process_zero and step not in self.evaluated:
                self.evaluated[step] = evaluate_in_memory(config, model, processor, step, store=store)
            _wait_for_everyone()

    return EvaluationCallback()


def evaluate_in_memory(
    config: TrainConfig, model: Any, processor: Any, step: int, *, store: PageStore | None = None
) -> Evaluated:
    """Evaluate the model that is being trained; its mode and the random numbers of training stay as they are."""
    import torch

    from looseleaf.training.local_policy import LocalPolicy

    spec = checkpoint_policy(config, step)
    policy: Policy = LocalPolicy(
        model,
        processor,
        temperature=_required(config).temperature,
        max_turn_tokens=config.train.max_turn_tokens,
    )
    with torch.random.fork_rng(), _resting(model), in_memory(spec.argument, policy):
        return evaluate_step(config, spec, step, store=store)


@contextlib.contextmanager
def _resting(model: Any) -> Iterator[None]:
    """The model in evaluation mode, generating with a cache, which computing activations twice would switch off."""
    was_training = model.training
    recomputes = [module for module in model.modules() if getattr(module, "gradient_checkpointing", False)]
    model.eval()
    for module in recomputes:
        module.gradient_checkpointing = False
    try:
        yield
    finally:
        for module in recomputes:
            module.gradient_checkpointing = True
        model.train(was_training)


def _check_not_sharded(config: TrainConfig) -> None:
    named = [name for name in ("deepspeed", "fsdp") if config.train.engine.get(name)]
    launched = [name for name in ("DEEPSPEED", "FSDP") if os.environ.get(f"ACCELERATE_USE_{name}") == "true"]
    if named or launched:
        raise ConfigError(
            "Weights that are sharded over processes cannot be evaluated in training; set [train] eval_every = 0 and "
            "evaluate the checkpoints beside it with `looseleaf train evaluate CONFIG`."
        )


def _wait_for_everyone() -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from accelerate import PartialState

        PartialState().wait_for_everyone()
