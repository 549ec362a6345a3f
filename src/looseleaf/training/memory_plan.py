"""How much memory a training will take, worked out from the model's shape before anything is loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from looseleaf.errors import ConfigError
from looseleaf.training.processing import NO_CODE, require_training
from looseleaf.training.train_table import TrainTable
from looseleaf.training.weights import VISION

__all__ = ["MemoryPlan", "ModelShape", "memory_plan", "model_shape", "zero_stage"]

FLOAT32_BYTES, BFLOAT16_BYTES = 4, 2
ADAM_BYTES = 8
"""Two float32 moments of each trained weight (Adam)."""
CHECKPOINTED = 2
"""Bytes of each layer's input, which is what stays where activations are computed twice (bfloat16)."""
WHOLE_LAYER = 34
"""Bytes that one layer keeps for each token and unit of width without that (Korthikanti et al., arXiv 2205.05198, § 4,
attention matrices left out as flash attention does)."""
LOGIT_BYTES = 8
"""Bytes of one logit and its gradient in float32."""


class ModelShape(NamedTuple):
    """What memory depends on.

    Attributes:
        parameters: all of them.
        vision: those of the vision encoder.
        adapted: input plus output width of every linear layer of the language model that adapters may stand on, added
            up: times the rank, it is the number of adapter weights.
        adapted_vision: likewise for the vision encoder.
        layers: of the language model.
        width: of the language model.
        vocabulary: entries.
    """

    parameters: int
    vision: int
    adapted: int
    adapted_vision: int
    layers: int
    width: int
    vocabulary: int


class MemoryPlan(NamedTuple):
    """Bytes on one device, by what takes them.

    Attributes:
        weights: of the model, trained and frozen.
        gradients: of what is trained.
        optimiser: its moments.
        reference: the starting model that the KL term compares with; adapters need none.
        activations: of one micro-batch.
        logits: of one micro-batch, with their gradients.
        trained: number of weights that are trained.
    """

    weights: float
    gradients: float
    optimiser: float
    reference: float
    activations: float
    logits: float
    trained: int

    @property
    def total(self) -> float:
        """All of it; what vLLM takes comes on top."""
        return sum(self[:6])


def model_shape(model: str) -> ModelShape:
    """The shape of a model folder, or of a model whose configuration the hub's cache holds.

    Raises:
        ConfigError: there is no configuration to read.
    """
    require_training()
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(model, local_files_only=True, **NO_CODE)
    except Exception as problem:  # what a broken configuration raises is up to transformers
        if Path(model).is_dir():
            raise ConfigError(
                f"The configuration of {model} cannot be read ({(str(problem).splitlines() or ['?'])[0]}); "
                "give a folder with a whole checkpoint."
            ) from problem
        raise ConfigError(
            f"{model} is no checkpoint folder yet, and no model that the hub's cache holds; "
            "train the stage that makes it, or fetch it first."
        ) from problem
    return shape_of_config(config)


def shape_of_config(config: Any) -> ModelShape:
    """The shape of a transformers configuration; weights are counted and never made."""
    import torch
    from transformers import AutoModelForImageTextToText

    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(config)
    named = {name: parameter.numel() for name, parameter in model.named_parameters()}
    text = config.get_text_config()
    return ModelShape(
        parameters=sum(named.values()),
        vision=sum(count for name, count in named.items() if VISION in f".{name}"),
        adapted=sum(_linear_widths(model, vision=False)),
        adapted_vision=sum(_linear_widths(model, vision=True)),
        layers=int(text.num_hidden_layers),
        width=int(text.hidden_size),
        vocabulary=int(text.vocab_size),
    )


def _linear_widths(model: Any, *, vision: bool) -> Iterator[int]:
    """peft's `all-linear` takes every linear layer but the output embedding."""
    import torch

    for name, module in model.named_modules():
        is_vision = VISION in f".{name}."
        if isinstance(module, torch.nn.Linear) and not name.endswith("lm_head") and is_vision == vision:
            yield module.in_features + module.out_features


def memory_plan(shape: ModelShape, train: TrainTable, tokens: int, processes: int = 1) -> MemoryPlan:
    """Memory of one device.

    Args:
        shape: of the model.
        train: what is trained and how.
        tokens: of the longest sequence, opening included.
        processes: devices that weights may be sharded over.
    """
    stage = zero_stage(train)
    trained = _trained(shape, train)
    frozen = shape.parameters - (0 if train.lora is not None else trained)
    frozen_bytes = BFLOAT16_BYTES if train.lora is not None and train.dtype == "bfloat16" else FLOAT32_BYTES
    parts = {level: processes if stage >= level else 1 for level in (1, 2, 3)}
    needs_reference = train.stage == "grpo" and train.kl > 0 and train.lora is None
    per_token = CHECKPOINTED if train.gradient_checkpointing else WHOLE_LAYER
    sequences = train.micro_batch * tokens
    return MemoryPlan(
        weights=(trained * FLOAT32_BYTES + frozen * frozen_bytes) / parts[3],
        gradients=trained * FLOAT32_BYTES / parts[2],
        optimiser=trained * ADAM_BYTES / parts[1],
        reference=shape.parameters * FLOAT32_BYTES / parts[3] if needs_reference else 0.0,
        activations=float(sequences * shape.width * (shape.layers * per_token + WHOLE_LAYER)),
        logits=float(sequences * shape.vocabulary * LOGIT_BYTES),
        trained=trained,
    )


def _trained(shape: ModelShape, train: TrainTable) -> int:
    if train.lora is None:
        return shape.parameters - (shape.vision if train.freeze_vision else 0)
    width = shape.adapted + (0 if train.freeze_vision else shape.adapted_vision)
    return train.lora.rank * width


def zero_stage(train: TrainTable) -> int:
    """What is sharded: 0 nothing, 1 moments, 2 gradients too, 3 weights too (ZeRO, arXiv 1910.02054).

    Raises:
        ConfigError: the DeepSpeed file cannot be read.
    """
    if train.engine.get("fsdp"):
        return 3
    given = train.engine.get("deepspeed")
    if not given:
        return 0
    try:
        settings = given if isinstance(given, dict) else json.loads(Path(str(given)).read_bytes())
        return int(settings.get("zero_optimization", {}).get("stage", 0))
    except (OSError, ValueError, AttributeError, TypeError) as problem:
        raise ConfigError(
            f"The DeepSpeed file {given} cannot be read ({problem}); check its path."
        ) from problem
