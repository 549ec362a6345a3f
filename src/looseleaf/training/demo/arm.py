"""One arm of the demonstration: GRPO from the shared starting point under one reward, measured held out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

import msgspec

from looseleaf.training.config_file import train_config
from looseleaf.training.demo.measure import MAX_TURN_TOKENS, TEMPERATURE, TRAINING_READER, Measured, measure
from looseleaf.training.demo.warm_start import MAX_TURNS
from looseleaf.training.grpo import run_grpo

__all__ = ["ARMS", "Arm", "ArmResult", "Started", "result_path", "run_arm"]

Arm = Literal["answer-only", "awm", "placebo"]
ARMS: tuple[Arm, ...] = ("answer-only", "awm", "placebo")
GROUPS, GROUP_SIZE = 4, 8
"""Prompts of a step, and rollouts of a prompt (AWM: G = 8)."""
LEARNING_RATE = 5e-5
WARMUP = 0.1
"""Share of the steps in which the learning rate rises: Adam's first steps are its largest. It then falls to nothing."""
COMPLETION_TOKENS = 600
"""Tokens of a rollout after its first message; three turns and a page take about 90."""


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one arm.

    Attributes:
        arm: its reward.
        seed: of order and sampling.
        steps: optimiser steps.
        before: the starting point under the same seed.
        after: the trained policy.
        cpu_seconds: processor time of training and measuring.
        calls: calls of roles in training, by what they were for.
        curve: of each step: mean reward, s_ans and, where the memory was read, s_mem.
    """

    arm: str
    seed: int
    steps: int
    before: Measured
    after: Measured
    cpu_seconds: float
    calls: dict[str, int]
    curve: list[dict[str, float]]


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The shared starting point.

    Attributes:
        model: its folder.
        reading: share of held-out pages that it read before it met a conversation.
        cpu_seconds: processor time that it took.
    """

    model: str
    reading: float
    cpu_seconds: float


def result_path(out: Path, arm: str, seed: int) -> Path:
    """Where the result of an arm is kept, below the folder of the demonstration."""
    return out / "arms" / f"{arm}-{seed}" / "result.json"


def run_arm(arm: Arm, seed: int, *, start: Path, world: Path, out: Path, steps: int) -> ArmResult:
    """Train and measure.

    Args:
        arm: the reward.
        seed: of order and sampling; the same seed draws the same prompts in every arm.
        start: the shared starting point.
        world: has the documents, `train.jsonl` and `held_out.jsonl`.
        out: where everything goes.
        steps: optimiser steps.
    """
    began = time.process_time()
    before = measure(start, world, "held_out", out / "before", seed=seed, step=0)
    outcome = run_grpo(train_config(_tables(arm, seed, start, world, out, steps)), say=lambda line: None)
    after = measure(outcome.folder, world, "held_out", out / "after", seed=seed, step=steps)
    result = ArmResult(
        arm=arm,
        seed=seed,
        steps=outcome.steps,
        before=before,
        after=after,
        cpu_seconds=time.process_time() - began,
        calls=_calls(outcome.log),
        curve=[_kept(line) for line in outcome.log],
    )
    (out / "result.json").write_bytes(msgspec.json.encode(result))
    return result


def _tables(arm: Arm, seed: int, start: Path, world: Path, out: Path, steps: int) -> dict[str, Any]:
    return {
        "train": {
            "stage": "grpo",
            "model": str(start),
            "output": str(out / "train"),
            "seed": seed,
            "steps": steps,
            "groups_per_step": GROUPS,
            "group_size": GROUP_SIZE,
            "micro_batch": GROUPS * GROUP_SIZE,
            "learning_rate": LEARNING_RATE,
            "schedule": "linear",
            "warmup": WARMUP,
            "kl": 0.0,
            "loss": "dapo",
            "temperature": TEMPERATURE,
            "max_turn_tokens": MAX_TURN_TOKENS,
            "max_completion_tokens": COMPLETION_TOKENS,
            "dtype": "float32",
            "save_every": 0,
        },
        "protocol": {"name": "awm", "max_turns": MAX_TURNS},
        "data": {"benchmark": str(world / "train.jsonl"), "path": str(world / "documents")},
        "reward": {"name": arm},
        "roles": {"reader": TRAINING_READER.as_config()},
    }


CURVE = {"looseleaf/rewards_mean": "reward", "looseleaf/s_ans": "s_ans", "looseleaf/s_mem": "s_mem"}
"""Numbers of a step that the curve keeps."""
CALLS = "looseleaf/calls/"


def _kept(line: dict[str, Any]) -> dict[str, float]:
    kept = {short: float(line[name]) for name, short in CURVE.items() if name in line}
    return {"step": float(line["step"]), **kept}


def _calls(log: list[dict[str, Any]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for line in log:
        for name, value in line.items():
            if name.startswith(CALLS):
                what = name.removeprefix(CALLS)
                total[what] = total.get(what, 0) + int(value)
    return total
