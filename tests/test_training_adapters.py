"""GRPO that trains low-rank adapters: the gates see the weights that generate, and what is saved is a whole model."""

from __future__ import annotations

import pytest

pytest.importorskip("peft")

import torch

from looseleaf.training.config import TrainConfig
from looseleaf.training.grpo import GrpoOutcome, run_grpo
from looseleaf.training.weights import ADAPTER_FILE, load_checkpoint
from training_world import settings
from training_world import train_config as tables_to_config


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainConfig, GrpoOutcome]:
    tables = settings(tmp_path_factory.mktemp("lora"), train={"lora": {"rank": 4}, "steps": 1})
    config = tables_to_config(tables)
    return config, run_grpo(config, say=lambda _: None)


def test_gates_pass_with_adapters(trained: tuple[TrainConfig, GrpoOutcome]) -> None:
    _, outcome = trained
    assert len(outcome.gates) == 5
    assert outcome.steps == 1


def test_what_is_saved_is_a_whole_model(trained: tuple[TrainConfig, GrpoOutcome]) -> None:
    config, outcome = trained
    assert not (outcome.folder / ADAPTER_FILE).exists()
    before, after = (load_checkpoint(path).state_dict() for path in (config.train.model, outcome.folder))
    assert before.keys() == after.keys()
    assert all(before[name].shape == after[name].shape for name in before)
    assert all(torch.isfinite(weights).all() for weights in after.values())
