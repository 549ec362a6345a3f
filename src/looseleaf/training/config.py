"""`TrainConfig`: everything that decides what a training does, frozen beside its checkpoints."""

from __future__ import annotations

from typing import Any

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import PROTOCOLS, Protocol
from looseleaf.runner.config import EMBEDDED, NONE, DataConfig, RunConfig, ScoreConfig
from looseleaf.training.reward_table import RewardTable
from looseleaf.training.train_table import LoraTable, TrainTable, VllmTable

__all__ = [
    "EvaluationTable",
    "LoraTable",
    "RetrieverTable",
    "RewardTable",
    "RolesTable",
    "TrainConfig",
    "TrainTable",
    "TrainingData",
    "VllmTable",
    "same_reader",
]


class RolesTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[roles]`: who reads, extracts and judges in training; each as in a RUN's configuration.

    Attributes:
        reader: answers from the terminal memory alone.
        extractor: turns responses into short answers; `none` takes them as they are.
        judge: for judge scorers.
    """

    reader: RoleSpec = EMBEDDED
    extractor: RoleSpec = EMBEDDED
    judge: RoleSpec = NONE


class RetrieverTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[retriever]`: who finds pages, in training and in its evaluations alike.

    Attributes:
        spec: as `--retriever` takes it.
        ocr: read pages without text by OCR.
    """

    spec: str = "bm25"
    ocr: bool = False


class TrainingData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[data]`: what is trained on.

    Attributes:
        benchmark: name of a question set (`doc-750k`, `procedural`, …) or path of one's own question file.
        path: its data folder, or the documents of one's own questions.
        options: loader options.
        ids: only these questions; empty = all.
        limit: at most so many questions, in order.
        pool: file of the prompts of GRPO (`looseleaf train collect`); empty = every selected question.
        pool_sha256: hash that the pool file must have; empty takes it as it is.
        trajectories: files of SFT trajectories, or RUN folders whose trajectories are all taken (`sft`).
    """

    benchmark: str
    path: str
    options: dict[str, Any] = {}
    ids: tuple[str, ...] = ()
    limit: int | None = None
    pool: str = ""
    pool_sha256: str = ""
    trajectories: tuple[str, ...] = ()

    @property
    def questions(self) -> DataConfig:
        """The question set as a run names it."""
        return DataConfig(benchmark=self.benchmark, path=self.path, options=self.options)


class EvaluationTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[evaluation]`: held-out questions on which every `eval_every` steps' policy is measured.

    Attributes:
        benchmark: name of a question set, or path of one's own question file.
        path: its data folder, or the documents of one's own questions.
        options: loader options.
        ids: only these questions; empty = all.
        limit: at most so many questions, in order.
        samples: trajectories a question.
        temperature: of the policy; 0 takes the likeliest token.
        readers: readers that training does not use; the first is the headline reader.
        scorer: scorer of evaluation; empty for the official one of the questions.
        extractor: turns responses into short answers.
        judge: for judge scorers.
        check_pages: whether pages are compared as well when looking for overlaps with the training documents.
    """

    benchmark: str
    path: str
    readers: tuple[RoleSpec, ...]
    options: dict[str, Any] = {}
    ids: tuple[str, ...] = ()
    limit: int | None = None
    samples: int = 1
    temperature: float = 0.0
    scorer: str = ""
    extractor: RoleSpec = EMBEDDED
    judge: RoleSpec = NONE
    check_pages: bool = True

    @property
    def questions(self) -> DataConfig:
        """The question set as a run names it."""
        return DataConfig(benchmark=self.benchmark, path=self.path, options=self.options)


class TrainConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole training.

    Attributes:
        train: model, optimiser, engine.
        data: what is trained on.
        reward: what a rollout is worth (`grpo`).
        roles: who reads, extracts and judges in training (`grpo`).
        protocol: the rules of every rollout, in training and evaluation alike.
        retriever: who finds pages.
        evaluation: held-out questions, if any.
    """

    train: TrainTable
    data: TrainingData
    reward: RewardTable = RewardTable()
    roles: RolesTable = RolesTable()
    protocol: Protocol = PROTOCOLS["awm"]
    retriever: RetrieverTable = RetrieverTable()
    evaluation: EvaluationTable | None = None

    @property
    def variant(self) -> str:
        """`sft`, or the name of the reward."""
        return "sft" if self.train.stage == "sft" else self.reward.name

    @property
    def training_score(self) -> ScoreConfig:
        """Scorer and reader of training, as the runner's stages take them."""
        return ScoreConfig(
            scorer=self.reward.scorer,
            extractor=self.roles.extractor,
            readers=(self.roles.reader,),
            judge=self.roles.judge,
            threshold=self.reward.threshold,
        )

    @property
    def rollout_run(self) -> RunConfig:
        """The training questions and rules as the runner takes them; the policy is named by its checkpoint."""
        return RunConfig(
            data=self.data.questions,
            policy=RoleSpec(backend="hf", argument=self.train.model),
            protocol=self.protocol,
            retriever=self.retriever.spec,
            ocr=self.retriever.ocr,
            ids=self.data.ids,
            limit=self.data.limit,
            samples=self.train.group_size,
            seed=self.train.seed,
        )

    def as_tables(self) -> dict[str, Any]:
        """The configuration as the tables of `config.toml`, in values that come back from there unchanged."""
        tables: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return tables

    def check(self) -> None:
        """Refuse settings that do not go together.

        Raises:
            ConfigError: what is wrong and what to change.
        """
        _check_numbers(self.train)
        self.reward.make()
        _check_reward(self.reward)
        _check_data(self)
        _check_evaluation(self)


def _check_numbers(train: TrainTable) -> None:
    positive = ("batch_size", "groups_per_step", "micro_batch", "max_completion_tokens", "max_turn_tokens")
    for name in (*positive, "epochs", "learning_rate"):
        if not getattr(train, name) > 0:
            raise ConfigError(f"[train] {name} is {getattr(train, name)}; use a number above 0.")
    for name in ("kl", "clip_low", "clip_high", "temperature", "warmup", "save_every", "eval_every"):
        if not getattr(train, name) >= 0:
            raise ConfigError(f"[train] {name} is {getattr(train, name)}; use 0 or more.")
    if train.steps is not None and train.steps < 1:
        raise ConfigError(f"[train] steps is {train.steps}; use at least 1.")
    if train.stage == "grpo" and train.steps is None:
        raise ConfigError("GRPO draws rollouts without end; say how many optimiser steps with [train] steps.")
    if train.stage == "grpo" and train.group_size < 2:
        raise ConfigError("A group of one rollout has no advantage; use [train] group_size of at least 2.")
    if train.stage == "grpo" and not train.temperature > 0:
        raise ConfigError("Rollouts of one prompt must differ; use a [train] temperature above 0.")


def _check_reward(reward: RewardTable) -> None:
    of_cells = [name for name in ("r11", "r10", "r01", "r00") if getattr(reward, name) is not None]
    if of_cells and not reward.reads_memory:
        raise ConfigError(
            f"[reward] {of_cells[0]} is set and {reward.name} does not use it; remove it or use cells."
        )
    if reward.options and reward.name != "alden":
        raise ConfigError(f"[reward.options] belongs to alden and not to {reward.name}; remove it.")
    if not reward.eps >= 0:
        raise ConfigError(f"[reward] eps is {reward.eps}; use 0 or more.")


def _check_data(config: TrainConfig) -> None:
    if config.train.stage == "sft" and not config.data.trajectories:
        raise ConfigError(
            "SFT needs trajectories; name the file that `looseleaf train collect` wrote in [data] trajectories."
        )
    if config.data.pool_sha256 and not config.data.pool:
        raise ConfigError("[data] pool_sha256 is set without a pool; name the file in [data] pool.")
    if config.reward.reads_memory and config.train.stage == "grpo" and config.protocol.memory == "none":
        raise ConfigError(
            f"The protocol {config.protocol.name} has no memory, which {config.reward.name} rewards; "
            'use answer-only, or set [protocol] memory = "optional".'
        )


def _check_evaluation(config: TrainConfig) -> None:
    evaluation = config.evaluation
    if evaluation is None:
        if config.train.eval_every:
            raise ConfigError("[train] eval_every is set without [evaluation]; add held-out questions.")
        return
    if not evaluation.readers:
        raise ConfigError(
            "[evaluation] readers is empty; name at least one reader that training does not use."
        )
    for reader in evaluation.readers:
        if same_reader(reader, config.roles.reader):
            raise ConfigError(
                f"[evaluation] readers has {reader.name}, which is the reader of training: a policy can learn what one "
                "reader likes, so evaluation needs another one; the reader of training is measured beside it anyway."
            )


SERVED = frozenset({"openai", "gguf"})
"""Backends whose argument names the model, so that the same name is the same model wherever it is served."""


def same_reader(one: RoleSpec, other: RoleSpec) -> bool:
    """Whether two specs name the same reader."""
    if one.backend in SERVED and (one.backend, one.argument) == (other.backend, other.argument):
        return True
    return one.identity() == other.identity()
