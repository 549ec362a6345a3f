"""What verl is told, and its advantages, without verl."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from looseleaf.errors import ConfigError
from looseleaf.reward import group_advantages
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import load_config, train_config
from looseleaf.training.faults import TrainingError
from looseleaf.training.train_table import TrainTable
from looseleaf.training.verl.__main__ import main
from looseleaf.training.verl.engine import NO_VERL_EXTRA, require_verl
from looseleaf.training.verl.estimator import looseleaf_group
from looseleaf.training.verl.launch import with_absolute_paths
from looseleaf.training.verl.settings import check_supported, verl_overrides, verl_settings
from looseleaf.training.verl.stop import STOPPING, read_note, remove_note, write_note

NAN = float("nan")


def configured(**train: Any) -> TrainConfig:
    reward = train.pop("reward", {"name": "awm"})
    given = {"stage": "grpo", "model": "Qwen/Qwen3-VL-4B-Instruct", "output": "out/awm", "steps": 7, **train}
    return train_config(
        {"train": given, "data": {"benchmark": "procedural", "path": "data"}, "reward": reward}
    )


def batch(rewards: list[float], tokens: int = 4) -> tuple[Any, Any]:
    """Token rewards on the last token, and masks whose first token is an observation's."""
    import torch

    values = torch.zeros(len(rewards), tokens)
    values[:, -1] = torch.tensor(rewards)
    mask = torch.ones(len(rewards), tokens)
    mask[:, 0] = 0
    return values, mask


# -- advantages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_advantages_are_those_of_group_advantages(ddof: Any, scale: Any) -> None:
    rewards, index = [2.0, 0.0, -0.1, -1.0, 2.0, NAN, 1.0], np.array(list("aabbabc"), dtype=object)
    values, mask = batch(rewards)
    config = {"looseleaf": {"eps": 1e-6, "ddof": ddof, "scale": scale}}
    found, returns = looseleaf_group(values, mask, index, config)
    wanted = group_advantages(rewards, index, 1e-6, ddof, scale).values
    assert found[:, 1:].numpy() == pytest.approx(np.tile(wanted, (3, 1)).T, abs=1e-6)
    assert not found[:, 0].any()
    assert (found == returns).all()


def test_an_unscored_rollout_is_out_of_its_group_and_its_advantage_is_0() -> None:
    with_it, mask = batch([2.0, NAN, -1.0, 0.0])
    without, shorter = batch([2.0, -1.0, 0.0])
    found, _ = looseleaf_group(with_it, mask, np.array(["a"] * 4, dtype=object))
    kept, _ = looseleaf_group(without, shorter, np.array(["a"] * 3, dtype=object))
    assert (found[[0, 2, 3]] == kept).all()
    assert not found[1].any()
    as_zero, _ = looseleaf_group(*batch([2.0, 0.0, -1.0, 0.0]), np.array(["a"] * 4, dtype=object))
    assert not (found[[0, 2, 3], 1:] == as_zero[[0, 2, 3], 1:]).any()  # what taking it for 0 would give


def test_a_group_of_one_scored_rollout_teaches_nothing() -> None:
    found, _ = looseleaf_group(*batch([2.0, NAN, 1.0, 0.0]), np.array(list("aabb"), dtype=object))
    assert not found[:2].any()
    assert found[2:, 1:].all()


def test_a_rollout_that_ends_the_training_ends_it_with_its_sentence(tmp_path: Path) -> None:
    values, mask = batch([2.0, STOPPING, 0.0])
    index = np.array(["a"] * 3, dtype=object)
    with pytest.raises(TrainingError, match="log of its agent loop worker"):
        looseleaf_group(values, mask, index)
    write_note(tmp_path / "out", "The first sentence.")
    write_note(tmp_path / "out", "The second sentence.")
    with pytest.raises(TrainingError, match=r"^The first sentence\.$"):
        looseleaf_group(values, mask, index, {"looseleaf": {"output": str(tmp_path / "out")}})
    remove_note(tmp_path / "out")
    assert "worker" in read_note(tmp_path / "out")


def test_a_step_without_any_score_ends_the_training() -> None:
    with pytest.raises(TrainingError, match="No rollout of this step could be scored"):
        looseleaf_group(*batch([NAN, NAN]), np.array(["a", "b"], dtype=object))


# -- settings --------------------------------------------------------------------------------------------------


def test_settings_carry_over_what_the_configuration_says() -> None:
    config = configured(
        groups_per_step=16,
        group_size=4,
        learning_rate=2e-6,
        kl=0.0,
        clip_low=0.1,
        clip_high=0.3,
        loss="dapo",
        temperature=0.9,
        seed=3,
        lora={"rank": 8, "alpha": 16, "targets": ["q_proj", "v_proj"]},
        vllm={"tensor_parallel_size": 2, "gpu_memory_utilization": 0.4},
        report_to="wandb",
        reward={"name": "answer-only", "ddof": 1, "scale": "none", "eps": 1e-4},
    )
    found = verl_settings(config, Path("/shared/config.toml"))
    wanted = {
        "data.train_files": "/shared/config.toml",
        "data.train_batch_size": 16,
        "data.max_response_length": 8192,
        "actor_rollout_ref.rollout.n": 4,
        "actor_rollout_ref.rollout.temperature": 0.9,
        "actor_rollout_ref.rollout.tensor_model_parallel_size": 2,
        "actor_rollout_ref.rollout.gpu_memory_utilization": 0.4,
        "actor_rollout_ref.rollout.max_model_len": 4096 + 8192,
        "actor_rollout_ref.model.lora_rank": 8,
        "actor_rollout_ref.model.target_modules": ["q_proj", "v_proj"],
        "actor_rollout_ref.actor.optim.lr": 2e-6,
        "actor_rollout_ref.actor.ppo_mini_batch_size": 16,
        "actor_rollout_ref.actor.use_kl_loss": False,
        "actor_rollout_ref.actor.clip_ratio_low": 0.1,
        "actor_rollout_ref.actor.clip_ratio_high": 0.3,
        "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
        "actor_rollout_ref.actor.data_loader_seed": 3,
        "trainer.total_training_steps": 7,
        "trainer.save_freq": 20,
        "trainer.logger": ["console", "wandb"],
        "trainer.test_freq": -1,
    }
    assert {name: found[name] for name in wanted} == wanted
    assert found["algorithm.looseleaf"] == {
        "eps": 1e-4,
        "ddof": 1,
        "scale": "none",
        "output": str(Path("out/awm").absolute()),
    }


RECIPES = Path(__file__).parents[1] / "recipes"


def test_the_recipes_differ_from_those_of_the_built_in_engine_in_the_launch_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(RECIPES.parent)
    of_verl = {name: load_config(RECIPES / "verl" / f"{name}.toml") for name in ("awm", "answer-only")}
    for name, found in of_verl.items():
        check_supported(found)
        theirs = load_config(RECIPES / "qwen3-vl-4b" / f"{name}.toml").as_tables()
        ours = found.as_tables()
        for key in ("output", "vllm"):
            ours["train"].pop(key)
            theirs["train"].pop(key)
        assert ours == theirs
    one, other = (verl_settings(found, Path("c.toml")) for found in of_verl.values())
    assert {key for key in one if one[key] != other[key]} == {
        "algorithm.looseleaf",  # its output folder
        "trainer.default_local_dir",
        "trainer.experiment_name",
    }


READ = {
    "stage": "sft",
    "schedule": "linear",
    "dtype": "float32",
    "freeze_vision": True,
    "engine": {"bf16": True},
    "eval_every": 5,
    "vllm": {"mode": "server"},
    "lora": {"dropout": 0.1},
    "seed": 1,
    "steps": 9,
    "groups_per_step": 3,
    "group_size": 3,
    "micro_batch": 3,
    "learning_rate": 1.0,
    "warmup": 0.5,
    "weight_decay": 0.5,
    "max_grad_norm": 0.5,
    "kl": 0.5,
    "clip_low": 0.5,
    "clip_high": 0.5,
    "loss": "dr_grpo",
    "temperature": 0.5,
    "max_completion_tokens": 9999,
    "save_every": 3,
    "keep": 3,
    "report_to": "tensorboard",
    "gradient_checkpointing": True,
    "model": "another",
    "output": "another",
}
"""Every setting of `[train]`, at a value that is not the default."""
ELSEWHERE = {"epochs", "batch_size", "max_turn_tokens"}
"""Settings of SFT, and one that the agent loop itself reads."""


def test_no_setting_is_dropped() -> None:
    assert set(READ) | ELSEWHERE == set(TrainTable.__struct_fields__)
    usual = verl_settings(configured(), Path("c.toml"))
    for name, value in READ.items():
        given = {name: value}
        if name == "stage":
            given["epochs"] = 1.0
        config = _unchecked(**given)
        try:
            check_supported(config)
        except ConfigError:
            continue
        assert verl_settings(config, Path("c.toml")) != usual, name


def _unchecked(**train: Any) -> TrainConfig:
    """A configuration that need not go together."""
    import msgspec

    base = configured()
    tables = msgspec.to_builtins(base)
    tables["train"] |= train
    return msgspec.convert(tables, TrainConfig)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dtype": "float32"}, "bfloat16"),
        ({"schedule": "linear"}, "no linear schedule"),
        ({"freeze_vision": True}, "does nothing with it"),
        ({"lora": {"dropout": 0.1}}, "no dropout"),
        ({"vllm": {"mode": "server"}}, "its own servers"),
        ({"engine": {"fsdp": "full_shard"}}, "KEY=VALUE"),
        ({"reward": {"name": "placebo"}}, "placebo permutes"),
        ({"max_completion_tokens": 512}, "at least one turn"),
    ],
)
def test_what_verl_has_nothing_for_is_refused_with_a_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        verl_overrides(configured(**change), Path("c.toml"))


def test_adapters_can_leave_the_vision_encoder_out() -> None:
    key = "actor_rollout_ref.model.exclude_modules"
    frozen = verl_settings(configured(lora={"rank": 8}, freeze_vision=True), Path("c.toml"))
    assert frozen[key] == ".*visual.*"
    assert verl_settings(configured(lora={"rank": 8}), Path("c.toml"))[key] is None


def test_evaluation_in_training_is_refused() -> None:
    with pytest.raises(ConfigError, match="evaluate its checkpoints"):
        check_supported(_unchecked(eval_every=5))


def test_without_verl_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError) as problem:
        require_verl()
    assert str(problem.value) == NO_VERL_EXTRA


@pytest.mark.parametrize(("found", "fits"), [("5.10.4", True), ("5.24.0", False), ("5.6.0", False)])
def test_an_environment_made_for_trl_is_told_apart(
    found: str, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = ["numpy>=2.0.0", "transformers!=5.6.0,<5.11,>=5.5.3", 'transformers==5.9.0; extra == "vllm"']
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: True)
    monkeypatch.setattr(metadata, "requires", lambda _: pins)
    monkeypatch.setattr(metadata, "version", lambda name: found if name == "transformers" else "0.9.1")
    if fits:
        require_verl()
        return
    with pytest.raises(
        ConfigError, match=rf"verl 0\.9\.1 wants transformers.*<5\.11.* has {found}, perhaps for TRL"
    ):
        require_verl()


def test_paths_are_the_same_in_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.jsonl").touch()
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    held_out = {"benchmark": "mine.jsonl", "path": "docs", "readers": ["constant:1"]}
    given = {"stage": "grpo", "model": "model", "output": "out/{variant}", "steps": 1}
    found = with_absolute_paths(
        train_config(
            {"train": given, "data": {"benchmark": "procedural", "path": "d"}, "evaluation": held_out}
        )
    )
    assert found.train.output == str(tmp_path / "out" / "awm")
    assert found.train.model == str(tmp_path / "model")
    assert (found.data.benchmark, found.data.path) == ("procedural", str(tmp_path / "d"))
    assert found.data.pool == ""
    assert found.evaluation is not None
    assert found.evaluation.benchmark == str(tmp_path / "mine.jsonl")
    assert with_absolute_paths(configured()).train.model == "Qwen/Qwen3-VL-4B-Instruct"


def test_the_command_says_what_is_wrong_and_exits_with_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit):
        main([])
    capsys.readouterr()
    assert main([str(tmp_path / "none.toml"), "trainer.nnodes=2"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    launch = RECIPES / "verl" / "launch.toml"
    assert main([str(RECIPES / "verl" / "awm.toml"), "--with", str(launch), "trainer.nnodes=2"]) == 2
    assert capsys.readouterr().err == NO_VERL_EXTRA + "\n"
