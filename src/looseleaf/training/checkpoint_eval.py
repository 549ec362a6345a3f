"""Evaluating the policy in training: an engine callback that runs the held-out questions with the weights in memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from looseleaf.document import PageStore
from looseleaf.errors import ConfigError
from looseleaf.roles import Policy
from looseleaf.runner.score import check_score_config
from looseleaf.training.config import TrainConfig
from looseleaf.training.hf_policy import in_memory
from looseleaf.training.step_eval import (
    Evaluated,
    checkpoint_policy,
    evaluate_step,
    evaluation_score,
    held_out,
    training_score,
)

__all__ = ["evaluate_in_memory", "evaluation_callback"]


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

    evaluation = held_out(config)
    check_score_config(evaluation_score(config), evaluation.benchmark)
    check_score_config(training_score(config), config.data.benchmark)
    _check_not_sharded(config)
    every = config.train.eval_every

    class EvaluationCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]  # untyped without transformers
        """Evaluates the model in memory."""

        def __init__(self) -> None:
            self.evaluated: dict[int, Evaluated] = {}

        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if (
                state.global_step == 0
            ):  # and not when training begins: what is checked then may still refuse it
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

    spec = checkpoint_policy(config, step)
    policy = _policy_in_memory(config, model, processor)
    with torch.random.fork_rng(), _resting(model), in_memory(spec.argument, policy):
        return evaluate_step(config, spec, step, store=store)


def _policy_in_memory(config: TrainConfig, model: Any, processor: Any) -> Policy:
    """The model as the agent, computed in the precision that it is trained in."""
    import torch

    from looseleaf.training.local_policy import LocalPolicy

    class InTraining(LocalPolicy):
        """Autocasts where it generates, which is a thread of its own."""

        def _generated(self, prompts: Any) -> list[list[int]]:
            half = config.train.dtype == "bfloat16"
            with torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=half):
                return super()._generated(prompts)

    return InTraining(
        model,
        processor,
        temperature=held_out(config).temperature,
        max_turn_tokens=config.train.max_turn_tokens,
    )


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
