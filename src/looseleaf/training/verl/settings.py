"""A training configuration in verl's words: the overrides of its `ppo_trainer` (verl 0.9.1).

Every setting of `[train]` and `[reward]` is carried over, or refused where verl has nothing of the kind: none is
dropped silently. What only a launch knows (nodes, GPUs, offloading) is given to `launch` as further overrides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from looseleaf.errors import ConfigError
from looseleaf.training.config import TrainConfig
from looseleaf.training.train_table import VllmTable
from looseleaf.training.verl.engine import AGENT, ESTIMATOR, PLUGIN, SETTINGS

__all__ = ["OPENING_TOKENS", "check_supported", "verl_overrides", "verl_settings"]

OPENING_TOKENS = 4096
"""Most tokens before the first turn (`data.max_prompt_length`): prompt, tools and question of a protocol that shows no
page at once take less than half of it. Override it for protocols that open with pages."""

LOSSES = {"grpo": "seq-mean-token-mean", "dapo": "token-mean", "dr_grpo": "seq-mean-token-sum-norm"}
"""How verl calls the ways of averaging tokens that TRL calls `grpo`, `dapo` and `dr_grpo`."""
VISION = ".*visual.*"
"""Names of the modules of a vision encoder (Qwen2-VL to Qwen3-VL in transformers)."""
SCHEDULES = ("constant", "cosine")
"""Schedules of verl's FSDP optimiser."""


def check_supported(config: TrainConfig) -> None:
    """Refuse settings that verl has nothing for.

    Raises:
        ConfigError: the first such setting, and what to do.
    """
    train = config.train
    vllm = train.vllm or VllmTable()
    refusals = {
        'stage = "sft" runs on the built-in engine; run `looseleaf train` without verl.': train.stage
        == "sft",
        "The placebo permutes scores within a group, which no rollout of verl sees whole; "
        "run it on the built-in engine.": config.reward.is_placebo,
        'verl computes in bfloat16; set [train] dtype = "bfloat16".': train.dtype != "bfloat16",
        f"verl has no {train.schedule} schedule; use constant or cosine.": train.schedule not in SCHEDULES,
        "verl's adapters have no dropout; set [train.lora] dropout = 0.": bool(
            train.lora and train.lora.dropout
        ),
        "verl 0.9.1 accepts freeze_vision_tower and does nothing with it; set [train] freeze_vision = false, or train "
        "adapters ([train.lora]), which can leave the vision encoder out.": train.freeze_vision
        and not train.lora,
        'verl starts its own servers; set [train.vllm] mode = "colocate".': vllm.mode != "colocate",
        "[train.engine] holds arguments of the built-in engine; give verl's own as KEY=VALUE after the "
        "configuration.": bool(train.engine),
        "verl does not run looseleaf's evaluations; set [train] eval_every = 0 and evaluate its checkpoints "
        "(docs/verl.md).": train.eval_every > 0,
        "[train] max_completion_tokens must hold at least one turn and what follows it; raise it above "
        "max_turn_tokens.": train.max_completion_tokens <= train.max_turn_tokens,
    }
    for sentence, is_so in refusals.items():
        if is_so:
            raise ConfigError(sentence)


def verl_overrides(config: TrainConfig, config_file: Path) -> list[str]:
    """The settings as overrides in Hydra's grammar.

    Args:
        config: the training.
        config_file: where every node reads it from.

    Raises:
        ConfigError: verl has nothing for a setting.
    """
    check_supported(config)
    settings = verl_settings(config, config_file)
    return [f"{_prefix(name)}{name}={_literal(value)}" for name, value in settings.items()]


def verl_settings(config: TrainConfig, config_file: Path) -> dict[str, Any]:
    """The settings by verl's names."""
    return {
        **_algorithm(config),
        **_data(config, config_file),
        **_model(config),
        **_actor(config),
        **_rollout(config),
        **_trainer(config),
    }


def _algorithm(config: TrainConfig) -> dict[str, Any]:
    reward = config.reward
    return {
        "algorithm.adv_estimator": ESTIMATOR,
        "algorithm.use_kl_in_reward": False,
        f"algorithm.{SETTINGS}": {
            "eps": reward.eps,
            "ddof": reward.ddof,
            "scale": reward.scale,
            "output": str(Path(config.train.output).absolute()),
        },
    }


def _data(config: TrainConfig, config_file: Path) -> dict[str, Any]:
    train = config.train
    path = str(config_file.absolute())
    return {
        "data.train_files": path,
        "data.val_files": path,  # verl wants some; validation is off
        "data.custom_cls.path": "pkg://looseleaf.training.verl.dataset",
        "data.custom_cls.name": "PlannedPrompts",
        "data.train_batch_size": train.groups_per_step,
        "data.max_prompt_length": OPENING_TOKENS,
        "data.max_response_length": train.max_completion_tokens,
        "data.shuffle": False,  # the plan is drawn at random already
        "data.dataloader_num_workers": 0,
    }


def _model(config: TrainConfig) -> dict[str, Any]:
    train = config.train
    found: dict[str, Any] = {
        "actor_rollout_ref.model.path": train.model,
        "actor_rollout_ref.model.external_lib": PLUGIN,
        "actor_rollout_ref.model.enable_gradient_checkpointing": train.gradient_checkpointing,
    }
    if train.lora is not None:
        targets = train.lora.targets
        found |= {
            "actor_rollout_ref.model.lora_rank": train.lora.rank,
            "actor_rollout_ref.model.lora_alpha": train.lora.alpha,
            "actor_rollout_ref.model.target_modules": targets if isinstance(targets, str) else list(targets),
            "actor_rollout_ref.model.exclude_modules": VISION if train.freeze_vision else None,
            "actor_rollout_ref.rollout.load_format": "safetensors",  # adapters alone are sent to the servers
        }
    return found


def _actor(config: TrainConfig) -> dict[str, Any]:
    train = config.train
    settings = {
        "ppo_mini_batch_size": train.groups_per_step,  # one update a step, as the built-in engine does it
        "ppo_micro_batch_size_per_gpu": train.micro_batch,
        "ppo_epochs": 1,
        "loss_agg_mode": LOSSES[train.loss],
        "clip_ratio_low": train.clip_low,
        "clip_ratio_high": train.clip_high,
        "use_kl_loss": train.kl > 0,
        "kl_loss_coef": train.kl,
        "kl_loss_type": "low_var_kl",
        "grad_clip": train.max_grad_norm,
        "data_loader_seed": train.seed,
        "fsdp_config.seed": train.seed,
        "optim.lr": train.learning_rate,
        "optim.lr_scheduler_type": train.schedule,
        "optim.lr_warmup_steps_ratio": train.warmup,
        "optim.weight_decay": train.weight_decay,
    }
    return {f"actor_rollout_ref.actor.{name}": value for name, value in settings.items()}


def _rollout(config: TrainConfig) -> dict[str, Any]:
    train = config.train
    vllm = train.vllm or VllmTable()
    longest = OPENING_TOKENS + train.max_completion_tokens
    settings = {
        "name": "vllm",
        "n": train.group_size,
        "temperature": train.temperature,
        "top_p": 1.0,
        "seed": train.seed,
        "calculate_log_probs": True,
        "log_prob_micro_batch_size_per_gpu": train.micro_batch,
        "gpu_memory_utilization": vllm.gpu_memory_utilization,
        "tensor_model_parallel_size": vllm.tensor_parallel_size,
        "free_cache_engine": vllm.sleep,
        "max_model_len": vllm.max_model_length or longest,
        "agent.default_agent_loop": AGENT,
    }
    found = {f"actor_rollout_ref.rollout.{name}": value for name, value in settings.items()}
    return {**found, "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": train.micro_batch}


def _trainer(config: TrainConfig) -> dict[str, Any]:
    train = config.train
    out = Path(train.output).absolute()
    loggers = ["console"] if train.report_to == "none" else ["console", train.report_to]
    return {
        "trainer.use_v1": True,
        "trainer.total_training_steps": train.steps,
        "trainer.total_epochs": 1,  # the plan holds every step
        "trainer.save_freq": train.save_every or train.steps,
        "trainer.max_actor_ckpt_to_keep": train.keep,
        "trainer.test_freq": -1,
        "trainer.val_before_train": False,
        "trainer.default_local_dir": str(out / "checkpoints"),
        "trainer.project_name": "looseleaf",
        "trainer.experiment_name": out.name,
        "trainer.logger": loggers,
    }


def _prefix(name: str) -> str:
    """Hydra wants a plus sign before a key that a configuration does not have yet."""
    return "+" if name == f"algorithm.{SETTINGS}" else ""


def _literal(value: Any) -> str:
    """A value in Hydra's override grammar."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
