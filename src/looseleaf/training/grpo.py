"""GRPO on rollouts of the environment, from a configuration to a trained model; continued where it was interrupted."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from looseleaf.benchmarks import QuestionSet
from looseleaf.document import PageStore, default_store
from looseleaf.environment import Environment
from looseleaf.runner.library import Library
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import freeze_config
from looseleaf.training.conversation import Conversation
from looseleaf.training.grpo_arguments import SUPPRESSING_BIAS, grpo_arguments
from looseleaf.training.plan import plan_prompts
from looseleaf.training.processing import load_processor, require_training
from looseleaf.training.questions import check_held_out, training_set
from looseleaf.training.rollout_record import RolloutRecord
from looseleaf.training.rollout_rewards import RolloutScorer
from looseleaf.training.sft import FINAL, checkpoints
from looseleaf.training.shim import Task, TaskSource, TokenBudget, shim_class
from looseleaf.training.telemetry import StepLog
from looseleaf.training.weights import load_trainable, save_trained

__all__ = ["SUPPRESSING_BIAS", "GrpoOutcome", "last_checkpoint", "make_trainer", "run_grpo", "task_source"]

ROLLOUTS = "rollouts"
"""Folder of the training rollouts inside the output folder, an ordinary RUN."""
STEPS = "steps.jsonl"
"""File of the numbers of each step."""


class GrpoOutcome(NamedTuple):
    """What a training did.

    Attributes:
        folder: the trained model.
        steps: optimiser steps in all.
        log: the numbers of each step.
        gates: what was checked before the first step, as printed.
    """

    folder: Path
    steps: int
    log: list[dict[str, Any]]
    gates: list[str]


def run_grpo(
    config: TrainConfig,
    *,
    store: PageStore | None = None,
    callbacks: Sequence[Any] = (),
    say: Callable[[str], None] = print,
) -> GrpoOutcome:
    """Train; a training that was interrupted goes on from its last whole checkpoint.

    Args:
        config: with `stage = "grpo"`.
        store: page store; the process-wide one by default.
        callbacks: transformers' `TrainerCallback`s, e.g. of `looseleaf.training.checkpoint_eval`.
        say: prints a line, on the main process.

    Raises:
        UserError: the data, the model or a setting cannot be used, training overlaps with evaluation, or a gate failed.
        ToolFaultError: the environment failed; nothing was learnt from that step.
    """
    require_training()
    out = Path(config.train.output)
    grpo_arguments(config, Conversation(load_processor(config.train.model), config.protocol))  # refuse early
    questions = training_set(config)
    check_held_out(config, questions, store)
    freeze_config(config, out)
    found = last_checkpoint(out)
    gates: list[str] = []
    trainer = make_trainer(config, questions, store=store, after=step_of(found), callbacks=callbacks)
    trainer.add_callback(_gate_callback(trainer, config, gates, say))
    try:
        trainer.train(resume_from_checkpoint=None if found is None else str(found))
        save_trained(trainer, trainer.processing_class, out / FINAL, config.train.dtype)
    finally:
        trainer.close()
    log = StepLog(out / STEPS, int(trainer.state.global_step)).read()
    return GrpoOutcome(out / FINAL, int(trainer.state.global_step), log, gates)


def make_trainer(
    config: TrainConfig,
    questions: QuestionSet,
    *,
    store: PageStore | None = None,
    after: int = 0,
    callbacks: Sequence[Any] = (),
) -> Any:
    """The trainer of a configuration, before its first step.

    Args:
        config: with `stage = "grpo"`.
        questions: the training questions.
        store: page store; the process-wide one by default.
        after: step that it continues from.
        callbacks: transformers' `TrainerCallback`s.

    Raises:
        UserError: the model, a role or a setting cannot be used.
    """
    from transformers import PrinterCallback

    from looseleaf.training.trainer import AdvantageRule, LooseleafTrainer

    out = Path(config.train.output)
    processor = load_processor(config.train.model)
    conversation = Conversation(processor, config.protocol)
    arguments = grpo_arguments(config, conversation)
    reward = config.reward
    scorer = RolloutScorer(
        reward.make(),
        config.training_score,
        questions.questions[0].benchmark,
        reads_memory=reward.reads_memory,
        tokenize=conversation.tokenizer.tokenize,
    )
    is_main = arguments.process_index == 0
    record = None
    if is_main:
        record = RolloutRecord(
            out / ROLLOUTS,
            config.rollout_run,
            questions.questions,
            scorer,
            is_placebo=reward.is_placebo,
        )
    budget = TokenBudget(config.train.max_completion_tokens, config.train.max_turn_tokens)
    source = task_source(config, questions, store)
    shim = shim_class(config.protocol)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="You are using 'environment_factory'")
        trainer = LooseleafTrainer(
            conversation=conversation,
            scorer=scorer,
            rule=AdvantageRule(reward.eps, reward.ddof, reward.scale),
            is_placebo=reward.is_placebo,
            record=record,
            steps=StepLog(out / STEPS, after) if is_main else None,
            model=load_trainable(config.train),
            args=arguments,
            train_dataset=_rows(config, questions),
            processing_class=processor,
            environment_factory=lambda: shim(source, conversation, budget),
            callbacks=list(callbacks),
        )
    trainer.remove_callback(PrinterCallback)
    return trainer


def task_source(config: TrainConfig, questions: QuestionSet, store: PageStore | None = None) -> TaskSource:
    """Opens the task of a question: its own document, the retriever of the configuration, a fresh environment.

    Raises:
        ConfigError: the retriever cannot be set up.
    """
    run = config.rollout_run
    library = Library(questions, run.retriever_in_force, store or default_store(), ocr=run.ocr)
    windowed = "page_window" in questions.oracle

    def source(question_id: str) -> Task:
        question = questions.question(question_id)
        opened = library.open(question)
        window = question.window if windowed else None
        environment = Environment(question, opened.document, opened.retriever, config.protocol, window=window)
        return Task(question, opened.document, environment)

    return source


def last_checkpoint(out: Path) -> Path | None:
    """The newest checkpoint that was written to its end; one that a kill cut short is passed over."""
    return next((path for path in reversed(checkpoints(out)) if _is_whole(path)), None)


def step_of(checkpoint: Path | None) -> int:
    """The optimiser step of a checkpoint; 0 for none."""
    return 0 if checkpoint is None else int(checkpoint.name.rpartition("-")[2])


def _is_whole(checkpoint: Path) -> bool:
    """The engine writes its own state last."""
    try:
        state = json.loads((checkpoint / "trainer_state.json").read_bytes())
    except (OSError, ValueError):
        return False
    return bool(state.get("global_step") == step_of(checkpoint))


def _rows(config: TrainConfig, questions: QuestionSet) -> Any:
    """The planned prompts as the engine wants them; what a rollout starts from is made by the environment."""
    from datasets import Dataset

    ids = [question.question_id for question in questions.questions]
    count = (config.train.steps or 1) * config.train.groups_per_step
    return Dataset.from_list(
        [
            {"prompt": [{"role": "user", "content": ""}], **planned._asdict()}
            for planned in plan_prompts(ids, count, config.train.seed)
        ]
    )


def _gate_callback(trainer: Any, config: TrainConfig, passed: list[str], say: Callable[[str], None]) -> Any:
    """Checks the gates when everything is in place and no step was made."""
    from transformers import TrainerCallback

    from looseleaf.training.gates import check_gates, sample_batch

    class Gates(TrainerCallback):  # type: ignore[misc, unused-ignore]  # untyped where transformers is not read
        """Runs before the first step."""

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            rows = [trainer.train_dataset[0]] * config.train.group_size
            batch = sample_batch(trainer, rows)
            for gate in check_gates(batch, dtype=config.train.dtype):
                passed.append(f"{gate.name}: {gate.measured}")
                if trainer.is_world_process_zero():
                    say(f"gate passed · {passed[-1]}")

    return Gates()
