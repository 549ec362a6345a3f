"""The settings of TRL's `GRPOTrainer` that a configuration stands for."""

from __future__ import annotations

from typing import Any

from looseleaf.training.config import TrainConfig
from looseleaf.training.conversation import Conversation
from looseleaf.training.engine_arguments import (
    accumulation,
    checkpointing_argument,
    engine_arguments,
    shared_arguments,
)

__all__ = ["SUPPRESSING_BIAS", "generation_arguments", "grpo_arguments"]

SUPPRESSING_BIAS = -100.0
"""Logit bias of a token that a server must not generate (ALDEN, gipplab/ALDEN @ 8a0d3d4, does it to image tokens)."""


def grpo_arguments(config: TrainConfig, conversation: Conversation) -> Any:
    """TRL's `GRPOConfig`.

    One optimiser step is one generation batch, used once: rollouts are always those of the policy that learns from
    them, and a checkpoint never falls between the two.

    Raises:
        ConfigError: rollouts cannot be divided among processes, or the engine refuses an argument.
    """
    import torch
    from trl import GRPOConfig

    train = config.train
    steps = accumulation(train.rollouts_per_step, train.micro_batch)
    own: dict[str, Any] = {
        **shared_arguments(train),
        "max_steps": train.steps,
        "gradient_accumulation_steps": steps,
        "steps_per_generation": steps,
        "num_iterations": 1,
        "num_generations": train.group_size,
        "max_completion_length": train.max_completion_tokens,
        "temperature": train.temperature,
        "top_p": 1.0,
        "top_k": 0,
        "generation_kwargs": generation_arguments(config, conversation),
        "beta": train.kl,
        "epsilon": train.clip_low,
        "epsilon_high": train.clip_high,
        "loss_type": train.loss,
        "shuffle_dataset": False,
        checkpointing_argument(GRPOConfig): train.gradient_checkpointing,
        **_vllm(config),
    }
    if not torch.cuda.is_available():
        own["dataloader_pin_memory"] = False  # there is nowhere to copy to
        own["use_cpu"] = True
    return engine_arguments(GRPOConfig, own, train.engine)


def generation_arguments(config: TrainConfig, conversation: Conversation) -> dict[str, Any]:
    """Length of one turn, and vision tokens that must never be generated."""
    vision = list(conversation.vision_tokens)
    if config.train.vllm is None:
        return {"max_new_tokens": config.train.max_turn_tokens, "suppress_tokens": vision}
    return {
        "max_tokens": config.train.max_turn_tokens,
        "logit_bias": dict.fromkeys(vision, SUPPRESSING_BIAS),
    }


def _vllm(config: TrainConfig) -> dict[str, Any]:
    vllm = config.train.vllm
    if vllm is None:
        return {}
    return {
        "use_vllm": True,
        "vllm_mode": vllm.mode,
        "vllm_gpu_memory_utilization": vllm.gpu_memory_utilization,
        "vllm_tensor_parallel_size": vllm.tensor_parallel_size,
        "vllm_max_model_length": vllm.max_model_length,
        "vllm_enable_sleep_mode": vllm.sleep,
        "vllm_server_host": vllm.host,
        "vllm_server_port": vllm.port,
    }
