"""A tiny model, a small question set and real trajectories over it, for the tests of training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from looseleaf.document import PageStore
from looseleaf.models.role_spec import RoleSpec
from looseleaf.runner.config import DataConfig, RunConfig
from looseleaf.runner.execute import execute
from looseleaf.runstore import Run
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import train_config
from looseleaf.training.tiny_model import TinySize, make_tiny_model

PIXELS = 128 * 128
"""Page images of the tests."""
SIZE = TinySize(width=32, vocabulary=600)
"""Smaller than the demonstration's: these tests look at plumbing, not at learning."""


def tiny_model(folder: Path, seed: int = 0) -> Path:
    return make_tiny_model(folder, seed, size=SIZE)


def tables(questions: Path, docs: Path, model: Path | str, out: Path, **train: Any) -> dict[str, Any]:
    """A configuration over one's own questions, as a file would have it."""
    return {
        "train": {
            "stage": "sft",
            "model": str(model),
            "output": str(out),
            "batch_size": 2,
            "micro_batch": 2,
            "learning_rate": 3e-3,
            "dtype": "float32",
            "save_every": 0,
            **train,
        },
        "data": {"benchmark": str(questions), "path": str(docs), "trajectories": [str(out / "teacher")]},
        "protocol": {"max_pixels": PIXELS},
    }


def configured(given: dict[str, Any], **changes: Any) -> TrainConfig:
    return train_config({**given, **changes})


def teacher_run(
    config: TrainConfig, out: Path, store: PageStore, policy: str = "embedded", ids: Sequence[str] = ()
) -> Run:
    """Trajectories of the embedded agent over the training questions."""
    run = RunConfig(
        data=DataConfig(benchmark=config.data.benchmark, path=config.data.path),
        policy=RoleSpec.parse(policy),
        protocol=config.protocol,
        ids=tuple(ids),
        concurrency=1,
    )
    return execute(run, out, store=store).run
