"""`looseleaf train CONFIG --dry-run`: what a training will do and take, before anything is loaded or asked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from looseleaf.errors import ConfigError
from looseleaf.models.role_spec import CHAT_BACKENDS, RoleSpec
from looseleaf.runner.selection import load_data
from looseleaf.scoring.registry import JudgeScorer, default_scorer, get_scorer
from looseleaf.training.config import TrainConfig
from looseleaf.training.memory_plan import MemoryPlan, memory_plan, model_shape
from looseleaf.training.questions import check_held_out, evaluation_set, training_set
from looseleaf.training.step_eval import evaluation_score
from looseleaf.training.trajectories import read_trajectories

__all__ = ["RolloutCalls", "plan_lines", "rollout_calls"]

OPENING_TOKENS = 1024
"""Tokens of system prompt, tools and question, on the high side: about 3,100 characters at 3.5 a token are 890."""
GIGABYTE = 1e9


class RolloutCalls(NamedTuple):
    """Calls that one rollout takes in training; a rollout when the policy is used takes its generations alone.

    Attributes:
        generations: turns of the policy, at most.
        scoring: of the answer.
        memory: of the reader, and of scoring what it says.
        of_models: those of them, besides generations, that a chat model is asked.
    """

    generations: int
    scoring: int
    memory: int
    of_models: int


def rollout_calls(config: TrainConfig) -> RolloutCalls:
    """Calls of one rollout under the configured reward.

    AWM adds two to answer-only: the reader's answer, and its scoring (arXiv 2608.25618); K readings add 2 K.
    """
    reward = config.reward
    readings = reward.readers if reward.reads_memory else 0
    scores = 0 if reward.name == "alden" else 1
    asked = _scoring_asks(config)
    reader = config.roles.reader.backend in CHAT_BACKENDS
    return RolloutCalls(
        generations=config.protocol.max_turns,
        scoring=scores,
        memory=2 * readings,
        of_models=asked * (scores + readings) + reader * readings,
    )


def _scoring_asks(config: TrainConfig) -> int:
    """Chat models that scoring one response asks."""
    scorer = get_scorer(config.reward.scorer or default_scorer(config.data.benchmark))
    if isinstance(scorer, JudgeScorer):
        extracts = scorer.wants_extraction and config.roles.extractor.backend in CHAT_BACKENDS
        return (config.roles.judge.backend in CHAT_BACKENDS) + extracts
    return int(config.roles.extractor.backend in CHAT_BACKENDS)


def plan_lines(config: TrainConfig, *, processes: int = 1) -> list[str]:
    """The resolved plan, for people. Questions, files and overlaps are looked at; no model is loaded and no role asked.

    Args:
        config: the configuration.
        processes: devices of the launch.

    Raises:
        UserError: something that the training needs cannot be used.
    """
    return [*_what(config), *_data(config), *_work(config), *_evaluation(config), *_memory(config, processes)]


def _what(config: TrainConfig) -> Iterator[str]:
    train = config.train
    weights = "all weights" if train.lora is None else f"LoRA of rank {train.lora.rank}"
    frozen = ", vision encoder frozen" if train.freeze_vision else ""
    yield f"{config.variant}: {train.model}, {weights}{frozen}, into {train.output}"
    protocol, retriever = config.protocol, config.retriever.spec
    pixels = f", pages of at most {protocol.max_pixels:,} pixels" if protocol.max_pixels else ""
    yield f"protocol {protocol.name}: {protocol.max_turns} turns, retriever {retriever}{pixels}"
    if train.stage == "grpo":
        reward = config.reward
        yield (
            f"reward {reward.make().label}{' (placebo: memory scores permuted)' if reward.is_placebo else ''}, "
            f"eps {reward.eps:g}, ddof {reward.ddof}, scale {reward.scale}"
        )
        yield f"roles of training: {_roles(config)}"


def _roles(config: TrainConfig) -> str:
    scorer = config.reward.scorer or default_scorer(config.data.benchmark)
    reader = f"reader {_name(config.roles.reader)}, " if config.reward.reads_memory else ""
    judge = f", judge {_name(config.roles.judge)}" if config.roles.judge.backend != "none" else ""
    return f"{reader}scorer {scorer}, extractor {_name(config.roles.extractor)}{judge}"


def _name(spec: RoleSpec) -> str:
    return spec.name if spec.backend in CHAT_BACKENDS else f"{spec.name} (no model call)"


def _data(config: TrainConfig) -> Iterator[str]:
    if config.train.stage == "sft":
        found = read_trajectories(config.data.trajectories, config.protocol)
        turns = sum(trajectory.turns for trajectory in found)
        yield f"data: {len(found):,} trajectories with {turns:,} turns"
        whole = load_data(config.data.questions)
        questions = whole.only(whole.question(trajectory.question_id) for trajectory in found)
    else:
        questions = training_set(config)
        pool = f" of the pool {config.data.pool}" if config.data.pool else ""
        yield f"data: {len(questions):,} questions{pool}"
    report = check_held_out(config, questions)
    if report is not None:
        yield f"no overlap with the held-out questions ({report.pages_compared[0]:,} pages compared)"


def _work(config: TrainConfig) -> Iterator[str]:
    train = config.train
    if train.stage == "sft":
        count = len(read_trajectories(config.data.trajectories, config.protocol))
        steps = train.steps or math.ceil(train.epochs * math.ceil(count / train.batch_size))
        yield f"steps: {steps:,} of {train.batch_size} sequences, learning rate {train.learning_rate:g}"
        return
    calls, steps = rollout_calls(config), train.steps or 0
    rollouts = steps * train.rollouts_per_step
    yield (
        f"steps: {steps:,} of {train.groups_per_step} groups of {train.group_size}: {rollouts:,} rollouts, "
        f"learning rate {train.learning_rate:g}, KL {train.kl:g}, clip {train.clip_low:g}/{train.clip_high:g}, "
        f"temperature {train.temperature:g}"
    )
    yield (
        f"a rollout: at most {calls.generations} generations, {calls.scoring} scoring of the answer"
        + (f" + {calls.memory} for the memory (reader, scoring)" if calls.memory else "")
        + f"; {calls.of_models} of these ask a chat model; 0 when the policy is used"
    )
    yield (
        f"tokens: at most {train.max_completion_tokens:,} a rollout, "
        f"{rollouts * train.max_completion_tokens:,} in all; {rollouts * calls.of_models:,} calls of chat models"
    )


def _evaluation(config: TrainConfig) -> Iterator[str]:
    evaluation = config.evaluation
    held_out = evaluation_set(config)
    if evaluation is None or held_out is None:
        yield "evaluation: none; add [evaluation] with held-out questions"
        return
    every = config.train.eval_every
    when = f"every {every} steps" if every else "by `looseleaf train evaluate`"
    score = evaluation_score(config)
    scorer = score.scorer or default_scorer(evaluation.benchmark)
    unseen = ", ".join(reader.name for reader in evaluation.readers)
    yield (
        f"evaluation {when}: {len(held_out):,} held-out questions of {evaluation.benchmark}, scorer {scorer}, readers "
        f"unseen in training: {unseen}; beside them {config.roles.reader.name}"
    )


def _memory(config: TrainConfig, processes: int) -> Iterator[str]:
    try:
        shape = model_shape(config.train.model)
    except ConfigError as problem:
        yield f"memory: unknown. {problem}"
        return
    tokens = OPENING_TOKENS + config.train.max_completion_tokens
    plan = memory_plan(shape, config.train, tokens, processes)
    yield (
        f"memory of each of {processes} devices, expected: {_gigabytes(plan.total)} = {_parts(plan)}, "
        f"for sequences of up to {tokens:,} tokens; {plan.trained:,} of {shape.parameters:,} weights are trained"
    )
    if config.train.vllm is not None and config.train.vllm.mode == "colocate":
        yield f"vLLM takes {config.train.vllm.gpu_memory_utilization:.0%} of each device on top"


def _parts(plan: MemoryPlan) -> str:
    return " + ".join(
        f"{name} {_gigabytes(plan[place])}" for place, name in enumerate(plan._fields[:6]) if plan[place]
    )


def _gigabytes(count: float) -> str:
    return f"{count / GIGABYTE:.1f} GB" if count >= 0.1 * GIGABYTE else f"{count / 1e6:.1f} MB"
