"""Training configurations: strict, layered, frozen; the recipes; questions and the refusal of overlaps."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import OwnSet
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError, DataError, RunError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.retrieval.spec import RetrieverSpec
from looseleaf.reward import AldenReward, AnswerOnlyReward, AWMReward, CellReward
from looseleaf.reward.pool import PoolPrompt, PromptPool, write_pool
from looseleaf.training.config import TrainConfig, same_reader
from looseleaf.training.config_file import freeze_config, load_config, setting, train_config
from looseleaf.training.dry_run import plan_lines, rollout_calls
from looseleaf.training.memory_plan import ModelShape, memory_plan
from looseleaf.training.processing import NO_TRAIN_EXTRA, VERL_INSTEAD, require_training
from looseleaf.training.questions import (
    Candidates,
    check_held_out,
    pool_ids,
    training_set,
    write_candidates,
)

RECIPE = Path(__file__).parents[1] / "recipes" / "qwen3-vl-4b"
VARIANTS = ("sft", "answer-only", "awm")
LAUNCHES = ("one-node", "two-nodes", "one-gpu-lora")
SERVED = {"backend": "openai", "argument": "Qwen/Qwen3-14B"}


def tables(**train: Any) -> dict[str, Any]:
    return {
        "train": {"stage": "grpo", "model": "m", "output": "out", "steps": 3, **train},
        "data": {"benchmark": "procedural", "path": "docs"},
    }


# -- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"train": {"lerning_rate": 1}},
            r"\[train\] has no setting 'lerning_rate'; did you mean 'learning_rate'\?",
        ),
        ({"train": {"lora": {"rnk": 1}}}, r"\[train.lora\] has no setting 'rnk'; did you mean 'rank'\?"),
        ({"grpo": {"steps": 1, "xyz": 2}}, r"\[grpo\] has no setting 'xyz'; it has stage, model"),
        ({"sft": {"epoch": 2}}, r"\[sft\] has no setting 'epoch'; did you mean 'epochs'\?"),
        ({"rewards": {}}, r"the top level has no setting 'rewards'; did you mean 'reward'\?"),
        ({"roles": {"reader": {"backend": "openai", "optons": {}}}}, r"A role has no setting 'optons'"),
        ({"protocol": {"turns": 3}}, r"A protocol has no rule 'turns'"),
        ({"train": {"steps": "many"}}, r"Expected `int \| null`, got `str` - at `\$.train.steps`"),
        ({"train": {"stage": "dpo"}}, r'stage = "sft" or stage = "grpo"'),
        ({"train": {"steps": None}}, r"say how many optimiser steps"),
        ({"train": {"group_size": 1}}, r"group_size of at least 2"),
        ({"train": {"temperature": 0.0}}, r"temperature above 0"),
        ({"train": {"learning_rate": 0.0}}, r"learning_rate is 0.0; use a number above 0"),
        ({"train": {"stage": "sft"}}, r"SFT needs trajectories"),
        ({"train": {"eval_every": 5}}, r"eval_every is set without \[evaluation\]"),
        ({"data": {"pool_sha256": "ab"}}, r"pool_sha256 is set without a pool"),
        ({"reward": {"name": "awm", "r11": -3.0}}, r"r11 > r10"),
        ({"reward": {"name": "answer-only", "r11": 2.0}}, r"r11 is set and answer-only does not use it"),
        ({"reward": {"name": "awm", "options": {"x": 1}}}, r"belongs to alden"),
        ({"protocol": {"memory": "none"}}, r"has no memory, which awm rewards"),
    ],
)
def test_a_mistake_is_one_sentence_that_says_what_to_do(change: dict[str, Any], sentence: str) -> None:
    given = tables()
    for name, table in change.items():
        given[name] = {**given.get(name, {}), **table}
    if given["train"].get("steps", 0) is None:
        del given["train"]["steps"]
    with pytest.raises(ConfigError, match=sentence) as found:
        train_config(given, "CONFIG.toml")
    assert str(found.value).startswith("CONFIG.toml: ")
    assert "\n" not in str(found.value)


def test_files_extend_each_other_and_the_last_word_wins(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "base.toml").write_text(
        '[train]\nstage = "grpo"\nmodel = "m"\noutput = "runs/{variant}"\nsteps = 5\nseed = 1\n'
        "[sft]\nlearning_rate = 0.5\n[grpo]\nlearning_rate = 0.25\n"
        '[data]\nbenchmark = "procedural"\npath = "d"\ntrajectories = ["t.jsonl"]\n'
        '[roles.reader]\nbackend = "openai"\nargument = "A"\noptions = {temperature = 1.0}\n'
    )
    (tmp_path / "main.toml").write_text('extends = "deep/base.toml"\n[train]\nseed = 2\n')
    (tmp_path / "launch.toml").write_text('[train]\nsteps = 7\n[roles.reader]\nbackend = "embedded"\n')
    main, launch = tmp_path / "main.toml", tmp_path / "launch.toml"
    config = load_config(main, launch, changes={"train": {"group_size": 4}})
    assert (config.train.seed, config.train.steps, config.train.group_size) == (2, 7, 4)
    assert config.train.learning_rate == 0.25
    assert config.train.output == "runs/awm"
    assert config.roles.reader == RoleSpec(backend="embedded")  # a role is taken whole
    sft = load_config(main, changes={"train": {"stage": "sft"}})
    assert (sft.train.learning_rate, sft.train.output, sft.variant) == (0.5, "runs/sft", "sft")


def test_each_stage_has_its_usual_learning_rate() -> None:
    given = tables(stage="sft")
    given["data"]["trajectories"] = ["t.jsonl"]
    sft, grpo = train_config(given).train, train_config(tables()).train
    assert (sft.learning_rate, sft.schedule, sft.epochs) == (1e-5, "cosine", 3.0)
    assert (grpo.learning_rate, grpo.schedule) == (1e-6, "constant")
    assert (grpo.kl, grpo.clip_low, grpo.clip_high, grpo.temperature, grpo.group_size) == (
        1e-3,
        0.2,
        0.28,
        0.7,
        8,
    )
    given["sft"] = {"learning_rate": 2e-5}
    assert train_config(given).train.learning_rate == 2e-5


def test_files_that_cannot_be_read_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="check its path"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "circle.toml").write_text('extends = "circle.toml"\n')
    with pytest.raises(ConfigError, match="break the circle"):
        load_config(tmp_path / "circle.toml")
    (tmp_path / "broken.toml").write_text("[train\n")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "broken.toml")


def test_single_settings_are_toml_or_plain_text() -> None:
    changed: dict[str, Any] = {}
    for text in (
        "train.steps=3",
        "train.lora.rank = 8",
        "data.ids=['a']",
        "train.model=Qwen/Qwen3-VL",
        "a.b=x=y",
    ):
        setting(changed, text)
    assert changed["train"] == {"steps": 3, "lora": {"rank": 8}, "model": "Qwen/Qwen3-VL"}
    assert changed["data"] == {"ids": ["a"]}
    assert changed["a"] == {"b": "x=y"}
    for text in ("train.steps", "steps=3", "=1"):
        with pytest.raises(ConfigError, match=r"TABLE\.KEY=VALUE"):
            setting({}, text)


def test_a_frozen_configuration_comes_back_as_it_was_and_guards_its_folder(tmp_path: Path) -> None:
    given = tables(lora={"rank": 8})
    given["protocol"] = {"max_turns": 6, "max_pixels": 90_000}
    given["roles"] = {"reader": "openai:Qwen/Qwen3-14B"}
    given["evaluation"] = {"benchmark": "procedural", "path": "e", "readers": ["embedded"], "ids": ["a"]}
    config = train_config(given)
    freeze_config(config, tmp_path / "out")
    assert load_config(tmp_path / "out" / "config.toml") == config
    freeze_config(config, tmp_path / "out")
    free = msgspec.structs.replace(config.train, save_every=1, eval_every=1, report_to="trackio")
    freeze_config(msgspec.structs.replace(config, train=free), tmp_path / "out")
    other = msgspec.structs.replace(config.train, seed=1)
    with pytest.raises(RunError, match=r"train\.seed = 0 and not 1"):
        freeze_config(msgspec.structs.replace(config, train=other), tmp_path / "out")


# -- rewards and roles -----------------------------------------------------------------------------------------------


def test_the_reward_table_makes_the_rewards_of_the_reward_room() -> None:
    def made(**reward: Any) -> Any:
        return train_config({**tables(), "reward": reward}).reward.make()

    assert made() == AWMReward()
    assert made(name="awm", r11=3.0, readers=2) == AWMReward(r11=3.0, readers=2)
    assert made(name="placebo") == AWMReward()
    assert made(name="answer-only", threshold="=1") == AnswerOnlyReward(threshold="=1")
    assert isinstance(made(name="cells", r11=1.0, r10=0.5, r01=0.2, r00=0.0), CellReward)
    assert isinstance(made(name="alden", options={"version": "paper"}), AldenReward)


def test_the_reader_of_evaluation_must_be_another_one() -> None:
    given = tables(eval_every=2)
    given["roles"] = {"reader": SERVED}
    given["evaluation"] = {"benchmark": "procedural", "path": "e", "readers": [SERVED, "embedded"]}
    with pytest.raises(ConfigError, match="is the reader of training"):
        train_config(given)
    given["evaluation"]["readers"] = ["openai:google/gemma-3-12b-it"]
    assert train_config(given).evaluation is not None
    given["evaluation"]["readers"] = []
    with pytest.raises(ConfigError, match="readers is empty"):
        train_config(given)
    elsewhere = RoleSpec(backend="openai", argument="Qwen/Qwen3-14B", options={"base_url": "http://x/v1"})
    assert same_reader(elsewhere, RoleSpec(**SERVED))
    one, two = (RoleSpec(backend="python", argument="m:f", options={"style": n}) for n in (1, 2))
    assert not same_reader(one, two)


def test_awm_adds_exactly_two_calls_a_rollout_and_none_when_the_policy_is_used() -> None:
    given = tables()
    given["roles"] = {"reader": SERVED, "judge": SERVED}
    given["reward"] = {"name": "answer-only", "scorer": "judge.binary"}
    base = rollout_calls(train_config(given))
    given["reward"]["name"] = "awm"
    awm = rollout_calls(train_config(given))
    assert (base.scoring + base.memory, base.of_models) == (1, 1)
    assert (awm.scoring + awm.memory, awm.of_models) == (3, 3)
    assert base.generations == awm.generations == 15
    given["reward"]["readers"] = 3
    assert rollout_calls(train_config(given)).of_models == 1 + 2 * 3


# -- questions -------------------------------------------------------------------------------------------------------


@pytest.fixture
def own(own_set: OwnSet) -> TrainConfig:
    given = tables()
    given["data"] = {"benchmark": str(own_set.questions), "path": str(own_set.docs)}
    return train_config(given)


def with_data(config: TrainConfig, **data: Any) -> TrainConfig:
    return msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, **data))


def held_out(config: TrainConfig, own_set: OwnSet, **fields: Any) -> TrainConfig:
    given = json.loads(json.dumps(config.as_tables()))
    given["evaluation"] = {
        "benchmark": str(own_set.questions),
        "path": str(own_set.docs),
        "readers": ["constant:1"],
        **fields,
    }
    return train_config(given)


def test_the_pool_decides_which_questions_are_trained_on(own: TrainConfig, tmp_path: Path) -> None:
    assert len(training_set(own)) == 7
    pool = PromptPool(
        run_id="run-1",
        score_id="s",
        threshold=">0",
        lowest=0.0,
        highest=1.0,
        n_candidates=2,
        n_all_wrong=0,
        n_all_right=0,
        n_outside=0,
        n_too_few=0,
        prompts=tuple(PoolPrompt(question_id=f"mini:{n}", right=1, scored=2) for n in (2, 4)),
    )
    sha256 = write_pool(pool, tmp_path / "pool.json")
    config = with_data(own, pool=str(tmp_path / "pool.json"), pool_sha256=sha256)
    assert [question.question_id for question in training_set(config).questions] == ["mini:2", "mini:4"]
    with pytest.raises(RunError, match="the configuration names"):
        training_set(with_data(config, pool_sha256="0" * 64))
    with pytest.raises(DataError, match="names mini:4, which is not among"):
        training_set(with_data(config, ids=("mini:2",)))


def test_candidates_can_be_trained_on_before_a_pool_is_made(tmp_path: Path) -> None:
    path = tmp_path / "candidates.json"
    write_candidates(Candidates(run_id="run-1", question_ids=("a", "b")), path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert pool_ids(path) == pool_ids(path, sha256) == ("a", "b")
    with pytest.raises(RunError, match="the configuration names"):
        pool_ids(path, "1" * 64)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(RunError, match="is not a prompt pool"):
        pool_ids(tmp_path / "other.json")


def test_overlaps_of_training_with_evaluation_are_refused(
    own: TrainConfig, own_set: OwnSet, store: PageStore, tmp_path: Path
) -> None:
    first = [f"mini:{n}" for n, row in enumerate(own_set.rows) if row["doc_id"] == "report_0.pdf"]
    other = [f"mini:{n}" for n, row in enumerate(own_set.rows) if row["doc_id"] != "report_0.pdf"]
    apart = with_data(held_out(own, own_set, ids=other, check_pages=False), ids=tuple(first))
    report = check_held_out(apart, training_set(apart), store)
    assert report is not None
    assert report.clean
    same = with_data(held_out(own, own_set, ids=first), ids=tuple(first))
    with pytest.raises(DataError, match="overlaps with"):
        check_held_out(same, training_set(same), store)
    # Another file, another name and other questions, but the same page in it.
    docs = tmp_path / "other-docs"
    docs.mkdir()
    shutil.copy(own_set.docs / "report_0.pdf", docs / "renamed.pdf")
    row = {"doc_id": "renamed.pdf", "question": "Which city comes first?", "answer": "Oslo"}
    (tmp_path / "other.jsonl").write_text(json.dumps(row) + "\n")
    renamed = with_data(
        held_out(own, own_set, benchmark=str(tmp_path / "other.jsonl"), path=str(docs)), ids=tuple(first)
    )
    with pytest.raises(DataError, match="1 document"):
        check_held_out(renamed, training_set(renamed), store)
    assert check_held_out(own, training_set(own), store) is None


def test_the_plan_says_what_a_training_will_take(own: TrainConfig, own_set: OwnSet) -> None:
    lines = "\n".join(plan_lines(own))
    assert "reward awm(2, 0, -0.1, -1), eps 1e-06, ddof 0, scale group" in lines
    assert "data: 7 questions" in lines
    assert "steps: 3 of 8 groups of 8: 192 rollouts" in lines
    assert "1 scoring of the answer + 2 for the memory (reader, scoring)" in lines
    assert f"at most 8,192 a rollout, {192 * 8192:,} in all" in lines
    assert "evaluation: none" in lines


# -- memory ----------------------------------------------------------------------------------------------------------

QWEN = ModelShape(
    parameters=4_437_815_808,
    vision=415_347_712,
    adapted=2_064_384,
    adapted_vision=452_608,
    layers=36,
    width=2560,
    vocabulary=151_936,
)
"""Qwen3-VL-4B, counted by `looseleaf.training.memory_plan` from its published configuration."""


def test_memory_is_sixteen_bytes_a_trained_weight_and_shrinks_with_sharding() -> None:
    train = train_config(tables(gradient_checkpointing=True)).train
    whole = memory_plan(QWEN, train, tokens=1000)
    assert whole.weights + whole.gradients + whole.optimiser == 16 * QWEN.parameters
    assert whole.reference == 4 * QWEN.parameters
    assert whole.logits == 1000 * 151_936 * 8
    sharded = msgspec.structs.replace(train, engine={"deepspeed": {"zero_optimization": {"stage": 3}}})
    assert memory_plan(QWEN, sharded, 1000, 8).weights == 4 * QWEN.parameters / 8
    second = msgspec.structs.replace(train, engine={"deepspeed": {"zero_optimization": {"stage": 2}}})
    parts = memory_plan(QWEN, second, 1000, 8)
    assert (parts.weights, parts.gradients) == (4 * QWEN.parameters, 4 * QWEN.parameters / 8)


def test_adapters_train_rank_times_the_widths_of_the_layers_they_stand_on() -> None:
    train = train_config(tables(lora={"rank": 64}, freeze_vision=True)).train
    plan = memory_plan(QWEN, train, tokens=1000)
    assert plan.trained == 64 * QWEN.adapted
    assert plan.weights == 2 * QWEN.parameters + 4 * plan.trained
    assert plan.reference == 0.0


def test_the_shape_of_a_model_is_counted_without_making_weights(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("trl")
    from looseleaf.training.memory_plan import model_shape
    from looseleaf.training.weights import load_checkpoint, load_trainable
    from tiny_training import tiny_model

    folder = tiny_model(tmp_path / "tiny")
    shape = model_shape(str(folder))
    model = load_checkpoint(folder)
    assert shape.parameters == sum(parameter.numel() for parameter in model.parameters())
    lora = train_config(tables(model=str(folder), lora={"rank": 3}, freeze_vision=True)).train
    adapted = load_trainable(lora)
    trained = sum(parameter.numel() for parameter in adapted.parameters() if parameter.requires_grad)
    assert trained == memory_plan(shape, lora, 10).trained


# -- recipes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launch", [None, *LAUNCHES])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_recipe_loads(variant: str, launch: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RECIPE.parents[1])
    overlays = [] if launch is None else [RECIPE / launch / "launch.toml"]
    config = load_config(RECIPE / f"{variant}.toml", *overlays)
    assert config.variant == variant
    assert config.train.output.endswith(f"/{variant}")
    RetrieverSpec.parse(config.retriever.spec)
    memory_plan(QWEN, config.train, 1000, 8)


@pytest.mark.parametrize("launch", [None, *LAUNCHES])
def test_the_variants_differ_only_in_the_reward_or_the_stage(launch: str | None) -> None:
    overlays = [] if launch is None else [RECIPE / launch / "launch.toml"]
    answer_only, awm = (
        load_config(RECIPE / f"{name}.toml", *overlays).as_tables() for name in ("answer-only", "awm")
    )
    assert answer_only["reward"].pop("name") == "answer-only"
    assert awm["reward"].pop("name") == "awm"
    assert answer_only["train"].pop("output") != awm["train"].pop("output")
    assert answer_only == awm
    written = {name: tomllib.loads((RECIPE / f"{name}.toml").read_text()) for name in VARIANTS}
    assert written["sft"] == {"extends": "base.toml", "train": {"stage": "sft"}}
    assert written["awm"] == {"extends": "base.toml", "reward": {"name": "awm"}}
    assert written["answer-only"] == {"extends": "base.toml", "reward": {"name": "answer-only"}}


@pytest.mark.parametrize("launch", LAUNCHES)
def test_readmes_print_the_memory_that_the_plan_computes(launch: str) -> None:
    """The arithmetic in the READMEs is that of the code, so that neither can go stale alone."""
    text = (RECIPE / launch / "README.md").read_text(encoding="utf-8")
    assert "Not run on GPUs yet." in text
    processes = {"one-node": 4, "two-nodes": 8, "one-gpu-lora": 1}[launch]
    for variant in ("sft", "awm"):
        train = load_config(RECIPE / f"{variant}.toml", RECIPE / launch / "launch.toml").train
        plan = memory_plan(QWEN, train, 1024 + train.max_completion_tokens, processes)
        assert f"{plan.total / 1e9:.1f} GB" in text, f"{variant}: {plan.total / 1e9:.1f} GB"


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ({"torch", "transformers", "trl"}, None),
        ({"torch"}, NO_TRAIN_EXTRA),
        ({"torch", "verl"}, VERL_INSTEAD),
    ],
)
def test_missing_engine_is_said_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], expected: str | None
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name if name in installed else None)
    if expected is None:
        require_training()
        return
    with pytest.raises(ConfigError) as problem:
        require_training()
    assert str(problem.value) == expected


def test_a_model_that_is_not_trained_yet_is_said_to_be(tmp_path: Path) -> None:
    from looseleaf.training.memory_plan import model_shape

    with pytest.raises(ConfigError, match=r"final is no checkpoint folder yet"):
        model_shape(str(tmp_path / "runs" / "sft" / "final"))
    with pytest.raises(ConfigError, match=r"cannot be read .*; give a folder with a whole checkpoint\."):
        model_shape(str(tmp_path))
