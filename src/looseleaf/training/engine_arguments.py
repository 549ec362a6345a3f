"""What both stages hand to their engines, transformers' `Trainer` and TRL's: arguments from `[train]`, checked."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Callable
from typing import Any

from looseleaf.errors import ConfigError
from looseleaf.training.train_table import TrainTable

__all__ = ["accumulation", "checkpointing_argument", "engine_arguments", "shared_arguments"]


def shared_arguments(train: TrainTable) -> dict[str, Any]:
    """The arguments that mean the same in every stage."""
    return {
        "output_dir": train.output,
        "seed": train.seed,
        "data_seed": train.seed,
        "per_device_train_batch_size": train.micro_batch,
        "learning_rate": train.learning_rate,
        "lr_scheduler_type": train.schedule,
        "warmup_steps": train.warmup,
        "weight_decay": train.weight_decay,
        "max_grad_norm": train.max_grad_norm,
        "bf16": train.dtype == "bfloat16",
        "logging_steps": 1,
        "save_strategy": "steps" if train.save_every else "no",
        "save_steps": train.save_every or 1,
        "save_total_limit": train.keep,
        "report_to": train.report_to,
        "remove_unused_columns": False,
        "disable_tqdm": True,
    }


def accumulation(sequences: int, micro_batch: int, processes: int | None = None) -> int:
    """Micro-batches that each process adds up for one optimiser step.

    Args:
        sequences: of one step, all processes together.
        micro_batch: sequences that a process takes at once.
        processes: of the launch; `WORLD_SIZE` by default.

    Raises:
        ConfigError: they do not divide.
    """
    processes = processes or int(os.environ.get("WORLD_SIZE", "1"))
    steps, rest = divmod(sequences, micro_batch * processes)
    if rest or not steps:
        raise ConfigError(
            f"A step of {sequences} sequences cannot be divided among {processes} processes with a micro-batch of "
            f"{micro_batch}; change [train] batch_size or micro_batch."
        )
    return steps


def _check_installed(own: dict[str, Any], engine: dict[str, Any]) -> None:
    """Packages beyond the extra that a setting needs; the engine itself notices late and with a traceback."""
    curves = own.get("report_to", "none")
    needed = {
        curves: (curves != "none", f"report_to is {curves}", curves),
        "vllm": (bool(own.get("use_vllm")), "vllm asks for vLLM", "'trl[vllm]'"),
        "deepspeed": (bool(engine.get("deepspeed")), "engine asks for DeepSpeed", "'trl[deepspeed]'"),
    }
    for name, (is_asked, what, package) in needed.items():
        if is_asked and importlib.util.find_spec(name) is None:
            raise ConfigError(f"[train] {what}, which is not installed; run `pip install {package}`.")


def engine_arguments(maker: Callable[..., Any], own: dict[str, Any], engine: dict[str, Any]) -> Any:
    """The engine's arguments: ours, and what `[train.engine]` passes through.

    Args:
        maker: the engine's dataclass of arguments.
        own: what the configuration sets.
        engine: `[train.engine]`.

    Raises:
        ConfigError: an argument is unknown to the engine, set by us, or refused by it.
    """
    _check_installed(own, engine)
    known = {field.name for field in dataclasses.fields(maker)}  # type: ignore[arg-type]
    for name in engine:
        if name in own:
            raise ConfigError(
                f"[train.engine] {name} is set by looseleaf itself; use the setting of [train]."
            )
        if name not in known:
            raise ConfigError(
                f"[train.engine] {name} is no argument of {maker.__name__}; check its spelling."
            )
    try:
        return maker(**own, **engine)
    except (ValueError, TypeError, ImportError, OSError) as problem:
        raise ConfigError(
            f"The training engine refuses its arguments ({problem}); change [train]."
        ) from problem


def checkpointing_argument(maker: type) -> str:
    """The engine's name for computing activations twice, which transformers 5.14 changed."""
    known = {field.name for field in dataclasses.fields(maker)}
    return "activation_checkpointing" if "activation_checkpointing" in known else "gradient_checkpointing"
