"""Checkpoints of other people: no code of theirs runs, pickled weights stay shut, broken files are one sentence."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf.errors import ConfigError

pytest.importorskip("torch")
pytest.importorskip("trl")

from looseleaf.training.generate import load_model
from looseleaf.training.memory_plan import model_shape
from looseleaf.training.processing import load_processor
from looseleaf.training.tiny_model import make_tiny_model
from looseleaf.training.weights import load_checkpoint

LOADERS: list[Callable[[str], Any]] = [load_model, load_checkpoint, load_processor]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", seed=0)


@pytest.fixture
def checkpoint(tiny: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny, tmp_path / "model")


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("load", [load_model, load_checkpoint])
def test_pickled_weights_are_not_opened(checkpoint: Path, tmp_path: Path, load: Callable[[str], Any]) -> None:
    (checkpoint / "model.safetensors").unlink()
    (checkpoint / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Trap(tmp_path / "mark")}))
    with pytest.raises(ConfigError, match="safetensors"):
        load(str(checkpoint))
    assert not (tmp_path / "mark").exists()


def test_pickled_adapters_are_not_opened(checkpoint: Path, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    adapters = tmp_path / "adapters"
    adapters.mkdir()
    given = {
        "peft_type": "LORA",
        "base_model_name_or_path": str(checkpoint),
        "r": 2,
        "target_modules": ["q_proj"],
    }
    (adapters / "adapter_config.json").write_text(json.dumps(given))
    (adapters / "adapter_model.bin").write_bytes(pickle.dumps({"a": Trap(tmp_path / "mark")}))
    with pytest.raises(ConfigError, match="are pickled"):
        load_checkpoint(str(adapters))
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("load", [*LOADERS, model_shape])
def test_code_of_a_checkpoint_is_neither_run_nor_asked_about(
    checkpoint: Path, tmp_path: Path, load: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def yes(*words: object) -> str:
        asked.append(words)
        return "y"

    monkeypatch.setattr("builtins.input", yes)
    (checkpoint / "theirs.py").write_text(f"import os; os.mkdir({str(tmp_path / 'mark')!r})")
    config = json.loads((checkpoint / "config.json").read_text())
    names = ("AutoConfig", "AutoProcessor", "AutoModelForImageTextToText")
    mapped = {"model_type": "theirs", "auto_map": dict.fromkeys(names, "theirs.Theirs")}
    (checkpoint / "config.json").write_text(json.dumps(config | mapped))
    with pytest.raises(ConfigError, match=r"\.$"):
        load(str(checkpoint))
    assert asked == []
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"[]"),
        ("config.json", b"\xff"),
        ("config.json", b'{"model_type": 5}'),
        ("config.json", b"[" * 100_000),
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 100),
        ("adapter_config.json", b"5"),
    ],
)
def test_broken_checkpoints_are_one_sentence(checkpoint: Path, name: str, content: bytes) -> None:
    (checkpoint / name).write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_checkpoint(str(checkpoint))
