"""What the verbs of `looseleaf train` do with a configuration."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from looseleaf.document import PageStore
from looseleaf.errors import ConfigError, RunError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.training.agreement import StepAgreement
from looseleaf.training.checkpoint_eval import evaluation_callback
from looseleaf.training.config import TrainConfig
from looseleaf.training.processing import load_processor
from looseleaf.training.sft import checkpoints
from looseleaf.training.step_eval import Evaluated, checkpoint_policy, evaluate_step

__all__ = ["agreement_lines", "check_only", "evaluate_checkpoints", "start_training"]

Say = Callable[[str], None]


def start_training(config: TrainConfig, *, say: Say, store: PageStore | None = None) -> Iterator[str]:
    """Train, and say what came of it line by line.

    Args:
        config: the configuration.
        say: prints a line while it trains.
        store: page store; the process-wide one by default.

    Raises:
        UserError: something cannot be used; nothing was trained.
    """
    callbacks = []
    if config.train.eval_every:
        callbacks.append(evaluation_callback(config, load_processor(config.train.model), store=store))
    yield from _trained(config, callbacks, say, store)
    for callback in callbacks:
        found: list[Evaluated] = list(callback.evaluated.values())
        for each in found:
            yield from agreement_lines(each.agreement)
        if found:
            yield f"looseleaf report {' '.join(str(each.run.path) for each in found)}"


def _trained(
    config: TrainConfig, callbacks: Sequence[object], say: Say, store: PageStore | None
) -> Iterator[str]:
    if config.train.stage == "sft":
        from looseleaf.training.sft import run_sft

        learnt = run_sft(config, store=store, callbacks=callbacks)
        too_long = f", {learnt.n_too_long} left out as too long" if learnt.n_too_long else ""
        yield f"{learnt.n_trajectories} trajectories{too_long}; {learnt.steps} steps."
        if learnt.losses:
            yield f"loss {learnt.losses[0][1]:.4f} → {learnt.losses[-1][1]:.4f}"
        yield f"trained model: {learnt.folder}"
        return
    from looseleaf.training.grpo import run_grpo

    done = run_grpo(config, store=store, callbacks=callbacks, say=say)
    yield f"{done.steps} steps; rollouts and rewards: {Path(config.train.output) / 'rollouts'}"
    yield f"trained model: {done.folder}"


def check_only(config: TrainConfig, *, say: Say, store: PageStore | None = None) -> None:
    """Run the gates before the first step of GRPO and nothing else; the output folder is not touched.

    Raises:
        ConfigError: the stage has no gates.
        UserError: a gate failed, or something cannot be used.
    """
    if config.train.stage != "grpo":
        raise ConfigError(
            "Gates compare rollouts with the loss, and SFT has no rollouts; use a grpo configuration."
        )
    from looseleaf.training.gates import check_gates, sample_batch
    from looseleaf.training.grpo import make_trainer
    from looseleaf.training.questions import training_set

    with tempfile.TemporaryDirectory() as folder:
        train = msgspec.structs.replace(config.train, output=folder, report_to="none")
        elsewhere = msgspec.structs.replace(config, train=train)
        trainer = make_trainer(elsewhere, training_set(config), store=store)
        try:
            batch = sample_batch(trainer, [trainer.train_dataset[0]] * config.train.group_size)
            for gate in check_gates(batch, dtype=config.train.dtype):
                say(f"gate passed · {gate.name}: {gate.measured}")
        finally:
            trainer.close()


def evaluate_checkpoints(
    config: TrainConfig,
    steps: Sequence[int] = (),
    policy: RoleSpec | None = None,
    *,
    say: Say,
    store: PageStore | None = None,
) -> list[Evaluated]:
    """Evaluate saved checkpoints; those that are evaluated already take no time.

    Args:
        config: of the training.
        steps: only these; every saved checkpoint by default.
        policy: how the one step is reached where it is served; the checkpoint's folder by default.
        say: prints a line for each.
        store: page store; the process-wide one by default.

    Raises:
        UserError: there is no such checkpoint, or something cannot be used.
    """
    if policy is not None and len(steps) != 1:
        raise ConfigError("--policy says how one checkpoint is reached; name it with one --step.")
    saved = [int(path.name.rpartition("-")[2]) for path in checkpoints(Path(config.train.output))]
    missing = [step for step in steps if step not in saved]
    if policy is None and (missing or not saved):
        what = f"no checkpoint of step {missing[0]}" if missing else "no checkpoint"
        raise RunError(f"{config.train.output} holds {what}; it has {', '.join(map(str, saved)) or 'none'}.")
    done = []
    for step in steps or saved:
        each = evaluate_step(config, policy or checkpoint_policy(config, step), step, store=store)
        for line in agreement_lines(each.agreement):
            say(line)
        done.append(each)
    return done


def agreement_lines(agreement: StepAgreement) -> Iterator[str]:
    """Agreement of training with evaluation, a line for each pair."""
    for pair in agreement.pairs:
        kappa = "κ undefined" if pair.kappa is None else f"κ = {pair.kappa:.2f}"
        against = pair.evaluation.score_id if pair.target == "answer" else pair.evaluation.reading_id
        yield (
            f"step {agreement.step}, {pair.target}, training against {against}: {kappa} on {pair.n} of {pair.n_rows}; "
            f"correct in training only {pair.only_training}, in evaluation only {pair.only_evaluation}"
        )
