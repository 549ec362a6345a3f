"""Supervised fine-tuning on stored trajectories, by transformers' `Trainer` with sequences of our own.

TRL's SFT collator ignores tools and the images of tool messages, so that the model would learn conversations that it
never meets; here a sequence is joined from the pieces that a rollout joins (`looseleaf.training.sequences`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from looseleaf.document import PageStore
from looseleaf.errors import DataError
from looseleaf.runner.selection import load_data
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import freeze_config
from looseleaf.training.conversation import Conversation
from looseleaf.training.engine_arguments import (
    accumulation,
    checkpointing_argument,
    engine_arguments,
    shared_arguments,
)
from looseleaf.training.processing import load_processor, require_training
from looseleaf.training.questions import check_held_out
from looseleaf.training.sequences import batch_of
from looseleaf.training.trajectories import SftData, read_trajectories
from looseleaf.training.weights import load_trainable, save_trained

__all__ = [
    "FINAL",
    "SftOutcome",
    "checkpoints",
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


def _arguments(config: TrainConfig) -> Any:
    import torch
    from transformers import TrainingArguments

    train = config.train
    own: dict[str, Any] = {
        **shared_arguments(train),
        "gradient_accumulation_steps": accumulation(train.batch_size, train.micro_batch),
        "num_train_epochs": train.epochs,
        "max_steps": -1 if train.steps is None else train.steps,
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
