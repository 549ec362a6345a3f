"""The gates before the first step: they pass on a sound training, and each one finds the fault planted for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from looseleaf.training.faults import GateError
from looseleaf.training.gates import GateBatch, check_gates, sample_batch
from looseleaf.training.grpo import run_grpo
from training_world import config_of, trainer_of


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = trainer_of(config_of(tmp_path_factory.mktemp("gates")))
    yield made
    made.close()


@pytest.fixture
def batch(trainer: Any) -> GateBatch:
    return sample_batch(trainer, [trainer.train_dataset[0]] * 4)


def test_all_pass_on_an_untrained_model(batch: GateBatch) -> None:
    passed = check_gates(batch)
    assert [gate.name for gate in passed] == [
        "append-only token sequences",
        "observation tokens masked",
        "images match image tokens",
        "sampled = trained log-probabilities",
        "the policy sees the page",
    ]
    assert passed[2].measured == "4 images"  # the first turn of each rollout was made to open page 1


def _retokenised(batch: GateBatch) -> None:
    rollout = batch.rollouts[1]
    rollout.asked[-1] = (*rollout.asked[-1][:-1], rollout.asked[-1][-1] + 1)


def _unmasked(batch: GateBatch) -> None:
    batch.tensors["tool_mask"] = torch.ones_like(batch.tensors["tool_mask"])


def _masked_turn(batch: GateBatch) -> None:
    mask = batch.tensors["tool_mask"].clone()
    mask[2, :3] = 0
    batch.tensors["tool_mask"] = mask


def _lost_image(batch: GateBatch) -> None:
    batch.rollouts[0].images.clear()


def _other_temperature(batch: GateBatch) -> None:
    batch.tensors["sampling_per_token_logps"] = 1.01 * batch.tensors["sampling_per_token_logps"]


def _silent_backend(batch: GateBatch) -> None:
    del batch.tensors["sampling_per_token_logps"]


@pytest.mark.parametrize(
    ("plant", "gate"),
    [
        (_retokenised, "append-only token sequences"),
        (_unmasked, "observation tokens masked"),
        (_masked_turn, "observation tokens masked"),
        (_lost_image, "images match image tokens"),
        (_other_temperature, "sampled = trained log-probabilities"),
        (_silent_backend, "sampled = trained log-probabilities"),
    ],
)
def test_a_planted_fault_is_found(batch: GateBatch, plant: Callable[[GateBatch], None], gate: str) -> None:
    plant(batch)
    with pytest.raises(GateError, match=f"Gate failed, {gate}") as found:
        check_gates(batch)
    assert "\n" not in str(found.value)


def test_a_model_without_eyes_is_found(batch: GateBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    visual = batch.trainer.model.model.visual
    forward = visual.forward

    def blind(pixels: Any, *args: Any, **kwargs: Any) -> Any:
        return forward(torch.zeros_like(pixels), *args, **kwargs)

    monkeypatch.setattr(visual, "forward", blind)
    blinded = sample_batch(batch.trainer, [batch.trainer.train_dataset[0]] * 4)
    with pytest.raises(GateError, match="Gate failed, the policy sees the page: with another page"):
        check_gates(blinded)


def test_rollouts_without_pages_are_found(batch: GateBatch) -> None:
    from looseleaf.training.gates import sees_the_page

    for rollout in batch.rollouts:
        rollout.images.clear()
    with pytest.raises(GateError, match="no rollout was shown a page"):
        sees_the_page(batch)


def test_a_failed_gate_ends_the_training_before_its_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import looseleaf.training.gates as gates

    monkeypatch.setattr(gates, "TOLERANCE", {"float32": -1.0})
    config = config_of(tmp_path)
    said: list[str] = []
    with pytest.raises(GateError, match="sampled = trained"):
        run_grpo(config, say=said.append)
    assert said == []
    assert not (tmp_path / "out" / "steps.jsonl").read_bytes()
    assert not (tmp_path / "out" / "final").exists()


def test_nothing_of_the_gates_is_recorded(trainer: Any, batch: GateBatch) -> None:
    check_gates(batch)
    assert trainer.sampled is None
    assert not trainer._metrics["train"]
    assert not (Path(trainer.args.output_dir) / "rollouts" / "trajectories.jsonl").exists()
