"""Supervised fine-tuning on stored trajectories, by transformers' `Trainer` with sequences of our own.

TRL's SFT collator ignores tools and the images of tool messages, so that the model would learn conversations that it
never meets; here a sequence is joined from the pieces that a rollout joins (`looseleaf.training.sequences`).
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from looseleaf.document import PageStore
from looseleaf.errors import ConfigError, DataError
from looseleaf.runner.selection import load_data
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import freeze_config
from looseleaf.training.conversation import Conversation
from looseleaf.training.processing import load_processor, require_training
from looseleaf.training.questions import check_held_out
from looseleaf.training.sequences import batch_of
from looseleaf.training.trajectories import SftData, read_trajectories
from looseleaf.training.weights import load_trainable, save_trained

__all__ = [
    "FINAL",
    "SftOutcome",
    "accumulation",
    "checkpointing_argument",
    "checkpoints",
    "engine_arguments",
    "run_sft",
    "sft_data",
]

FINAL = "final"
"""Folder of the trained model inside the output folder, adapters merged in."""
CHECKPOINT = "checkpoint-"
"""How the engine names a checkpoint's folder; the step follows."""

ENGINE_STATE = "trainer_state.json"
"""What the engine writes last into a checkpoint."""


class SftOutcome(NamedTuple):
    """What a training did.

    Attributes:
        folder: the trained model.
        steps: optimiser steps in all.
        losses: `(step, loss)` of every step that was logged.
        n_trajectories: how many were trained on.
        n_too_long: how many were left out because they have more than `max_completion_tokens`.
    """

    folder: Path
    steps: int
    losses: list[tuple[int, float]]
    n_trajectories: int
    n_too_long: int


def run_sft(
    config: TrainConfig, *, store: PageStore | None = None, callbacks: Sequence[Any] = ()
) -> SftOutcome:
    """Train; a training that was interrupted goes on from its last checkpoint.

    Args:
        config: with `stage = "sft"`.
        store: page store; the process-wide one by default.
        callbacks: transformers' `TrainerCallback`s, e.g. of `looseleaf.training.checkpoint_eval`.

    Raises:
        UserError: the data, the model or a setting cannot be used, or training overlaps with evaluation.
    """
    require_training()
    out = Path(config.train.output)
    arguments = _arguments(config)
    processor = load_processor(config.train.model)
    data, too_long = sft_data(config, Conversation(processor, config.protocol), store)
    check_held_out(config, data.questions, store)
    freeze_config(config, out)
    trainer = _trainer(config, arguments, data, processor, callbacks)
    found = checkpoints(out)
    trainer.train(resume_from_checkpoint=str(found[-1]) if found else None)
    save_trained(trainer, processor, out / FINAL, config.train.dtype)
    logged = trainer.state.log_history
    return SftOutcome(
        folder=out / FINAL,
        steps=int(trainer.state.global_step),
        losses=[(int(entry["step"]), float(entry["loss"])) for entry in logged if "loss" in entry],
        n_trajectories=len(data),
        n_too_long=too_long,
    )


def sft_data(
    config: TrainConfig, conversation: Conversation, store: PageStore | None = None
) -> tuple[SftData, int]:
    """The trajectories that are trained on, and how many were too long.

    Raises:
        UserError: they cannot be read, or nothing is left.
    """
    trajectories = read_trajectories(config.data.trajectories, config.protocol)
    whole = SftData(trajectories, load_data(config.data.questions), conversation, store)
    data, too_long = whole.fitting(config.train.max_completion_tokens)
    if not data:
        raise DataError(
            f"Every trajectory has more than {config.train.max_completion_tokens} tokens; raise [train] "
            "max_completion_tokens or lower [protocol] max_pixels."
        )
    return data, too_long


def checkpoints(out: Path) -> list[Path]:
    """Checkpoints of an output folder that were written to their end, oldest first.

    One that a kill cut short is passed over: the engine writes its own state last.
    """
    found = [path for path in out.glob(f"{CHECKPOINT}*") if path.name.removeprefix(CHECKPOINT).isdigit()]
    whole = [path for path in found if (path / ENGINE_STATE).is_file()]
    return sorted(whole, key=lambda path: int(path.name.removeprefix(CHECKPOINT)))


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


def _arguments(config: TrainConfig) -> Any:
    import torch
    from transformers import TrainingArguments

    train = config.train
    own: dict[str, Any] = {
        "output_dir": train.output,
        "seed": train.seed,
        "data_seed": train.seed,
        "per_device_train_batch_size": train.micro_batch,
        "gradient_accumulation_steps": accumulation(train.batch_size, train.micro_batch),
        "num_train_epochs": train.epochs,
        "max_steps": -1 if train.steps is None else train.steps,
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
    if not torch.cuda.is_available():
        own |= {"dataloader_pin_memory": False, "use_cpu": True}
    if train.gradient_checkpointing:
        own[checkpointing_argument(TrainingArguments)] = True
    return engine_arguments(TrainingArguments, own, train.engine)


def _trainer(
    config: TrainConfig, arguments: Any, data: SftData, processor: Any, callbacks: Sequence[Any]
) -> Any:
    from transformers import PrinterCallback, Trainer

    conversation = Conversation(processor, config.protocol)
    trainer = Trainer(
        model=load_trainable(config.train),
        args=arguments,
        train_dataset=data,  # type: ignore[arg-type, unused-ignore]
        data_collator=lambda sequences: batch_of(sequences, conversation),
        processing_class=processor,
        callbacks=list(callbacks),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer
