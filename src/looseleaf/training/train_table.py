"""`[train]` of a training configuration: the model, the optimiser and the engine.

Where AWM (arXiv 2608.25618) states a value, the default is that value; learning rate, KL weight, clipping and
temperature of its training are unpublished, and the defaults are those of the first author's precursor.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["LoraTable", "TrainTable", "VllmTable"]

GRPO_LEARNING_RATE = 1e-6
"""Learning rate of GRPO (precursor of AWM by its first author; AWM's own is unpublished)."""
KL_WEIGHT = 1e-3
"""Weight of the low-variance KL term (precursor of AWM)."""
CLIP_LOW, CLIP_HIGH = 0.2, 0.28
"""Clipping of the ratio, below and above (precursor of AWM)."""
TEMPERATURE = 0.7
"""Sampling temperature of rollouts (precursor of AWM)."""
GROUP_SIZE = 8
"""G, rollouts of one prompt (AWM, simulation; 8 samples a prompt in its precursor)."""
SFT_EPOCHS = 3.0
"""Epochs of the SFT stage (precursor of AWM)."""


class LoraTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[train.lora]`: train low-rank adapters in place of all weights.

    Attributes:
        rank: of the adapters.
        alpha: scale of the adapters, divided by the rank.
        dropout: on their input.
        targets: names of the linear layers; `all-linear` for every one.
    """

    rank: int = 64
    alpha: int = 128
    dropout: float = 0.0
    targets: str | tuple[str, ...] = "all-linear"


class VllmTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[train.vllm]`: rollouts by vLLM in place of the trained model's own `generate`.

    Attributes:
        mode: `colocate` on the training GPUs, or a `server` of its own (`trl vllm-serve`).
        gpu_memory_utilization: share of each GPU that a colocated vLLM may take.
        tensor_parallel_size: GPUs that one vLLM model is split over.
        max_model_length: longest conversation in tokens; `None` for the model's own.
        sleep: whether a colocated vLLM gives its memory back while weights are updated.
        host: of the server.
        port: of the server.
    """

    mode: Literal["colocate", "server"] = "colocate"
    gpu_memory_utilization: float = 0.3
    tensor_parallel_size: int = 1
    max_model_length: int | None = None
    sleep: bool = True
    host: str = "127.0.0.1"
    port: int = 8000


class TrainTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[train]`: the model, the optimiser and the engine.

    Attributes:
        stage: supervised fine-tuning on trajectories, or GRPO on rollouts.
        model: a checkpoint folder, or a model's name on the hub.
        output: folder of checkpoints, records and evaluations. `{variant}` in it stands for `TrainConfig.variant`.
        seed: of data order, sampling and initialisation.
        steps: optimiser steps; `None` lets `epochs` decide, which only `sft` can.
        epochs: passes over the trajectories (`sft`).
        batch_size: sequences of one optimiser step, all devices together (`sft`).
        groups_per_step: prompts of one optimiser step, all devices together (`grpo`).
        group_size: rollouts of one prompt (`grpo`).
        micro_batch: sequences that one device takes through the model at once.
        learning_rate: peak learning rate. A file for SFT that names none gets 1e-5 and a cosine schedule.
        schedule: how it goes on from there.
        warmup: share of the steps in which it rises.
        weight_decay: AdamW's.
        max_grad_norm: gradient norm is clipped to this.
        kl: weight of the KL term towards the starting model; 0 keeps no reference model.
        clip_low: the ratio is clipped below 1 − this.
        clip_high: the ratio is clipped above 1 + this.
        loss: how tokens are averaged: `grpo` within a rollout, `dapo` over all rollouts of a step, `dr_grpo` by a
            constant.
        temperature: of sampled rollouts.
        max_completion_tokens: tokens of one rollout after its first message, observations and images included.
        max_turn_tokens: tokens of one generation.
        save_every: steps between checkpoints; 0 saves only the last one.
        eval_every: steps between evaluations; 0 evaluates never. Needs `[evaluation]`.
        keep: checkpoints kept; `None` keeps all.
        report_to: where the engine sends its curves.
        dtype: of the computation. Weights that are trained stay in float32; those under adapters are kept in it.
        gradient_checkpointing: save memory by computing activations twice.
        freeze_vision: leave the vision encoder as it is.
        lora: adapters in place of full weights, if given.
        vllm: rollouts by vLLM, if given (`grpo`).
        engine: further arguments of transformers' `TrainingArguments` or TRL's `GRPOConfig` (`deepspeed`, `fsdp`, …).
    """

    stage: Literal["sft", "grpo"]
    model: str
    output: str
    seed: int = 0
    steps: int | None = None
    epochs: float = SFT_EPOCHS
    batch_size: int = 32
    groups_per_step: int = 8
    group_size: int = GROUP_SIZE
    micro_batch: int = 1
    learning_rate: float = GRPO_LEARNING_RATE
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: float = 0.0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    kl: float = KL_WEIGHT
    clip_low: float = CLIP_LOW
    clip_high: float = CLIP_HIGH
    loss: Literal["grpo", "dapo", "dr_grpo"] = "grpo"
    temperature: float = TEMPERATURE
    max_completion_tokens: int = 8192
    max_turn_tokens: int = 512
    save_every: int = 20
    eval_every: int = 0
    keep: int | None = None
    report_to: Literal["none", "trackio", "wandb", "tensorboard"] = "none"
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    gradient_checkpointing: bool = False
    freeze_vision: bool = False
    lora: LoraTable | None = None
    vllm: VllmTable | None = None
    engine: dict[str, Any] = {}

    @property
    def rollouts_per_step(self) -> int:
        """Rollouts of one optimiser step."""
        return self.groups_per_step * self.group_size
