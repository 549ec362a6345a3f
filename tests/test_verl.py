"""looseleaf inside verl 0.9.1: its registries, configuration, agent loop workers and advantages, on a processor.

Run in an environment of its own by `scripts/test_verl.sh`. Servers are scripted; everything else is verl's own code,
up to the tensors that a loss would be computed from.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from looseleaf import Environment, Trajectory
from looseleaf.errors import ConfigError, ProviderError
from looseleaf.reward import group_advantages
from looseleaf.runstore import Run
from looseleaf.training.config_file import load_config
from looseleaf.training.faults import TrainingError
from looseleaf.training.grpo import ROLLOUTS
from looseleaf.training.verl.engine import AGENT, ESTIMATOR
from looseleaf.training.verl.launch import compose, prepare, with_absolute_paths
from looseleaf.training.verl.session import open_session
from parity_world import SCRIPT, assert_same, expected, make_world
from verl_world import COMPLETION, GROUP, ScriptServer, VerlWorld, make_model, script_replies, verl_world

HAS_VERL = importlib.util.find_spec("verl") is not None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HAS_VERL, reason="verl is not installed here; run scripts/test_verl.sh"),
    pytest.mark.filterwarnings("ignore"),  # of verl, Ray and what they import
]

ONE_GPU = ("trainer.n_gpus_per_node=1", "actor_rollout_ref.rollout.tensor_model_parallel_size=1")
LENGTHS = ("data.max_prompt_length=1024", f"data.max_response_length={6000}")


@pytest.fixture(scope="module", autouse=True)
def processor_without_videos() -> None:
    import verl_without_videos

    verl_without_videos.patch()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("verl"))


@pytest.fixture
def world(tmp_path: Path, model: Path) -> VerlWorld:
    return verl_world(tmp_path, model)


def composed(world: VerlWorld, *overrides: str) -> Any:
    return compose(world.config, world.config_file, [*ONE_GPU, *LENGTHS, *overrides])


def server(world: VerlWorld, *scripts: Sequence[Sequence[int]], **fields: Any) -> ScriptServer:
    from verl.workers.rollout.replica import TokenOutput

    return ScriptServer(*(scripts or (script_replies(world.conversation),)), make=TokenOutput, **fields)


def generated(world: VerlWorld, llm: ScriptServer, *overrides: str, groups: int = 1) -> Any:
    """A batch of whole groups through verl's agent loop worker."""
    from verl import DataProto
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
    from verl.trainer.ppo.utils import create_rl_dataset
    from verl.utils.dataset.rl_dataset import collate_fn

    config = composed(world, *overrides)
    worker = AgentLoopWorker(config, llm)
    rows = create_rl_dataset(config.data.train_files, config.data, worker.tokenizer, worker.processor)
    batch = DataProto.from_single_dict(collate_fn([rows[number] for number in range(groups)]))
    batch.non_tensor_batch["uid"] = np.array([f"uid-{number}" for number in range(groups)], dtype=object)
    return asyncio.run(worker.generate_sequences(batch.repeat(GROUP, interleave=True)))


def recorded(world: VerlWorld) -> list[Trajectory]:
    (folder,) = (Path(world.config.train.output) / ROLLOUTS).iterdir()
    return list(Run.open(folder).trajectories().values())


def with_advantages(world: VerlWorld, batch: Any, estimator: str = ESTIMATOR) -> Any:
    """What verl's trainer does between rollouts and loss."""
    from verl.trainer.ppo.ray_trainer import compute_advantage

    batch.batch["token_level_rewards"] = batch.batch["rm_scores"]
    return compute_advantage(batch, adv_estimator=estimator, config=composed(world).algorithm)


# -- registries and configuration ------------------------------------------------------------------------------


def test_verl_knows_the_agent_loop_and_the_estimator_after_loading_the_model_config(world: VerlWorld) -> None:
    from verl.experimental.agent_loop.agent_loop import _agent_loop_registry
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn
    from verl.utils.config import omega_conf_to_dataclass

    config = composed(world)
    omega_conf_to_dataclass(config.actor_rollout_ref.model)  # what every process of verl does first
    assert _agent_loop_registry[AGENT]["_target_"].endswith("LooseleafAgentLoop")
    assert get_adv_estimator_fn(config.algorithm.adv_estimator).__name__ == ESTIMATOR


@pytest.mark.parametrize(
    "train",
    [
        {},
        {"kl": 0.0, "loss": "dapo"},
        {"schedule": "cosine", "loss": "dr_grpo", "vllm": {"tensor_parallel_size": 1}},
    ],
)
def test_verl_accepts_the_settings(tmp_path: Path, model: Path, train: dict[str, Any]) -> None:
    from looseleaf.training.verl.launch import _validate

    world = verl_world(tmp_path, model, train=train)
    config = prepare(world.config, ONE_GPU)
    _validate(config)
    out = Path(world.config.train.output)
    assert config.data.train_files == str((out / "config.toml").absolute())
    assert (out / "verl.yaml").read_text().count(f"adv_estimator: {ESTIMATOR}") == 1
    assert load_config(out / "config.toml") == with_absolute_paths(world.config)  # what its processes read


def test_adapters_reach_the_model_config(tmp_path: Path, model: Path) -> None:
    from verl.utils.config import omega_conf_to_dataclass

    lora = {"rank": 8, "alpha": 16, "targets": ["q_proj"]}
    world = verl_world(tmp_path, model, train={"lora": lora, "freeze_vision": True})
    found = omega_conf_to_dataclass(composed(world).actor_rollout_ref.model)
    assert (found.lora_rank, found.lora_alpha, list(found.target_modules)) == (8, 16, ["q_proj"])
    assert found.exclude_modules == ".*visual.*"


def test_an_override_that_verl_does_not_know_is_refused_with_a_sentence(world: VerlWorld) -> None:
    with pytest.raises(ConfigError, match="verl does not take the settings"):
        compose(world.config, world.config_file, ["trainer.no_such_setting=1"])


def test_the_prompts_come_in_the_planned_order(world: VerlWorld) -> None:
    from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler

    config = composed(world)
    rows = create_rl_dataset(config.data.train_files, config.data, None, None)
    assert [rows[number]["visit"] for number in create_rl_sampler(config.data, rows)] == [0, 1]


# -- rollouts --------------------------------------------------------------------------------------------------


def test_a_group_through_verls_worker_is_the_own_loops_trajectory(world: VerlWorld, tmp_path: Path) -> None:
    llm = server(world)
    batch = generated(world, llm)
    other = tmp_path / "own"
    other.mkdir()
    own = expected(make_world(other, world.config.protocol))
    found = recorded(world)
    assert len(found) == GROUP
    for trajectory in found:
        assert_same(own, trajectory)
    assert batch.batch["rm_scores"].sum(dim=-1).tolist() == [2.0] * GROUP
    assert batch.non_tensor_batch["s_mem"].tolist() == [1.0] * GROUP
    assert len(llm.asked) == GROUP * len(SCRIPT)


def test_masks_and_images_of_the_batch_are_those_of_the_rollouts(world: VerlWorld) -> None:
    batch = generated(world, server(world))
    replies = [token for reply in script_replies(world.conversation) for token in reply]
    image = world.conversation.image_token
    merge = world.processor.image_processor.merge_size**2
    shown = sum(len(step.observation.shown) for step in recorded(world)[0].steps if step.observation)
    for row in range(GROUP):
        ids, mask = batch.batch["responses"][row], batch.batch["response_mask"][row].bool()
        assert ids[mask].tolist() == replies
        inputs = batch.non_tensor_batch["multi_modal_inputs"][row]
        assert len(inputs["image_grid_thw"]) == shown
        tokens = int(inputs["image_grid_thw"].prod(dim=1).sum()) // merge
        assert (batch.batch["input_ids"][row] == image).sum() == tokens
        assert inputs["pixel_values"].shape[0] == tokens * merge
    assert (batch.batch["rollout_log_probs"][batch.batch["response_mask"].bool()] == -0.5).all()
    positions = batch.batch["position_ids"]
    assert positions.shape[:2] == (GROUP, 4)  # text, and time, height, width of the images
    assert not (positions[:, 2] == positions[:, 3]).all()


def test_the_model_scores_the_batch_as_it_scores_the_rollout(world: VerlWorld) -> None:
    """Pixels, positions and tokens as verl hands them on give the probabilities of the rollout's own inputs."""
    import torch
    from transformers import AutoModelForImageTextToText

    from looseleaf.training.generate import Prompt, batch_inputs

    batch = generated(world, server(world))
    network = AutoModelForImageTextToText.from_pretrained(world.model, dtype="float32").eval()
    keep = batch.batch["attention_mask"][0].bool()
    ids = batch.batch["input_ids"][0][keep]
    inputs = batch.non_tensor_batch["multi_modal_inputs"][0]
    with torch.no_grad():
        theirs = network(
            input_ids=ids[None],
            attention_mask=torch.ones_like(ids)[None],
            position_ids=batch.batch["position_ids"][0][:, keep][1:, None],
            pixel_values=inputs["pixel_values"],
            image_grid_thw=inputs["image_grid_thw"],
            mm_token_type_ids=(ids == world.conversation.image_token).long()[None],
        ).logits
        images = _pages(world)
        own = network(
            **batch_inputs(network, world.processor, [Prompt(tuple(ids.tolist()), tuple(images))])
        ).logits
    assert float((theirs - own).abs().max()) < 1e-4


def _pages(world: VerlWorld) -> list[Any]:
    from looseleaf.training.verl.player import Player

    session = open_session(world.config_file, world.processor, COMPLETION)
    player = Player(session, server(world), engine="vllm", longest_opening=1024)
    row = {"question_id": "mini:0", "visit": 5}
    images: list[Any] = asyncio.run(player.play(row, {}))["multi_modal_data"]["images"]
    return images


# -- advantages ------------------------------------------------------------------------------------------------


def mixed(world: VerlWorld) -> ScriptServer:
    """Four rollouts of a group: right with and without its note's use, wrong, and empty-handed."""
    from looseleaf import Action

    conversation = world.conversation
    right = script_replies(conversation)
    wrong = script_replies(conversation, [*SCRIPT[:-1], Action.answer("9 stations")])
    guess = script_replies(conversation, [Action.answer("12")])
    lost = script_replies(conversation, [Action.answer("I do not know.")])
    return server(world, right, wrong, guess, lost)


def test_advantages_in_verl_are_those_of_group_advantages(world: VerlWorld) -> None:
    batch = generated(world, mixed(world))
    rewards = batch.batch["rm_scores"].sum(dim=-1).tolist()
    assert rewards == pytest.approx([2.0, -0.1, 0.0, -1.0])
    done = with_advantages(world, batch)
    wanted = group_advantages(rewards, ["a"] * GROUP).values
    mask = done.batch["response_mask"].bool()
    for row in range(GROUP):
        assert done.batch["advantages"][row][mask[row]].numpy() == pytest.approx(wanted[row], abs=1e-6)
        assert not done.batch["advantages"][row][~mask[row]].any()


def test_verls_own_grpo_is_the_same_with_bessels_deviation_and_with_none() -> None:
    import torch
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    from looseleaf.training.verl.estimator import looseleaf_group

    rewards = torch.zeros(16, 3)
    rewards[:, -1] = torch.randn(16, generator=torch.Generator().manual_seed(1))
    mask, index = torch.ones(16, 3), np.array([number // 4 for number in range(16)], dtype=object)
    for scaled, scale in ((True, "group"), (False, "none")):
        theirs, _ = compute_grpo_outcome_advantage(
            rewards.clone(), mask, index, epsilon=1e-6, norm_adv_by_std_in_grpo=scaled
        )
        settings = {"looseleaf": {"ddof": 1, "scale": scale}}
        ours, _ = looseleaf_group(rewards.clone(), mask, index, settings)
        assert float((theirs - ours).abs().max()) < 1e-6
    population, _ = looseleaf_group(rewards.clone(), mask, index)
    with_std, _ = compute_grpo_outcome_advantage(rewards.clone(), mask, index)
    assert population[:, 0].numpy() == pytest.approx(with_std[:, 0].numpy() * math.sqrt(4 / 3), rel=1e-4)


def broken_for(monkeypatch: pytest.MonkeyPatch, world: VerlWorld, texts: Sequence[str]) -> None:
    """A reader that is down for memories with these texts."""
    session = open_session(world.config_file, world.processor, COMPLETION)
    reader = session._scorer._reader
    read = reader.read  # type: ignore[union-attr]

    def down(question: str, memory: Any) -> Any:
        if [finding.text for finding in memory.findings] == list(texts):
            raise ProviderError("the reader is down")
        return read(question, memory)

    monkeypatch.setattr(reader, "read", down)


def test_an_unscored_rollout_changes_nothing_for_its_group_nor_for_the_loss(
    world: VerlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    broken_for(monkeypatch, world, [])  # the guess and the lost one took no note
    llm = mixed(world)
    llm._scripts[2:] = llm._scripts[2:3]  # right, wrong, and guesses alone
    batch = generated(world, llm)
    rewards = batch.batch["rm_scores"].sum(dim=-1)
    assert torch.isnan(rewards).tolist() == [False, False, True, True]
    assert batch.non_tensor_batch["scored"].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert not batch.batch["response_mask"][2:].any()
    done = with_advantages(world, batch)
    wanted = group_advantages(rewards[:2].numpy(), ["a", "a"]).values
    mask = done.batch["response_mask"].bool()
    for row in range(2):
        assert done.batch["advantages"][row][mask[row]].numpy() == pytest.approx(wanted[row], abs=1e-6)
    assert not done.batch["advantages"][2:].any()
    assert torch.isfinite(done.batch["advantages"]).all()
    for how in ("dapo", "grpo", "dr_grpo"):
        loss, gradient = loss_of(world, done.batch, how)
        assert math.isfinite(loss)
        assert torch.isfinite(gradient).all()
        assert not gradient[2:].any()
        assert gradient[:2][mask[:2]].abs().min() > 0
    alone, _ = loss_of(world, done.batch[:2], "dapo")
    assert loss_of(world, done.batch, "dapo")[0] == pytest.approx(alone, rel=1e-6)


def loss_of(world: VerlWorld, batch: Any, how: str) -> tuple[float, Any]:
    """verl's policy loss with its KL term, and its gradient by the log-probability of each token."""
    import torch
    from verl.trainer.ppo.core_algos import agg_loss, get_policy_loss_fn, kl_penalty
    from verl.utils.config import omega_conf_to_dataclass

    changed = msgspec.structs.replace(
        world.config, train=msgspec.structs.replace(world.config.train, loss=how)
    )
    config = omega_conf_to_dataclass(compose(changed, world.config_file, ONE_GPU).actor_rollout_ref.actor)
    mask = batch["response_mask"]
    config.global_batch_info.update(
        dp_size=1,
        batch_num_tokens=int(mask.sum()),
        global_batch_size=GROUP,
        loss_scale_factor=config.loss_scale_factor,
    )
    old = batch["rollout_log_probs"]
    logprobs = (old + 0.01).requires_grad_()
    loss, _ = get_policy_loss_fn("vanilla")(
        old_log_prob=old,
        log_prob=logprobs,
        advantages=batch["advantages"],
        response_mask=mask,
        loss_agg_mode=config.loss_agg_mode,
        config=config,
    )
    divergence = kl_penalty(logprobs, old, config.kl_loss_type)
    loss = loss + config.kl_loss_coef * agg_loss(
        divergence, mask, config.loss_agg_mode, **config.global_batch_info
    )
    (gradient,) = torch.autograd.grad(loss, logprobs)
    return float(loss.detach()), gradient


def test_verls_own_grpo_cannot_take_an_unscored_rollout_for_a_wrong_one(
    world: VerlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    broken_for(monkeypatch, world, [])
    batch = with_advantages(world, generated(world, mixed(world)), "grpo")
    assert torch.isnan(batch.batch["advantages"][0]).any()  # it spoils the group, and nobody learns from a 0


# -- what ends a training --------------------------------------------------------------------------------------


def test_a_planted_exception_ends_the_training_before_anything_is_learnt(
    world: VerlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    act = Environment._act
    calls: list[Any] = []

    def once(self: Environment, turn: Any) -> Any:
        calls.append(turn)
        if len(calls) == 5:
            raise KeyError("planted")
        return act(self, turn)

    monkeypatch.setattr(Environment, "_act", once)
    batch = generated(world, server(world))
    stopping = torch.isinf(batch.batch["rm_scores"].sum(dim=-1))
    assert (len(stopping), int(stopping.sum())) == (GROUP, 1)
    with pytest.raises(TrainingError, match=r"KeyError: 'planted'.*nothing was learnt"):
        with_advantages(world, batch)


def test_a_sampled_image_token_ends_the_training(world: VerlWorld) -> None:
    stray = [world.conversation.image_token, world.conversation.end_of_turn]
    batch = generated(world, server(world, [stray]))
    with pytest.raises(TrainingError, match="image_pad"):
        with_advantages(world, batch)


def test_a_server_that_fails_is_verls_to_handle(world: VerlWorld) -> None:
    with pytest.raises(Exception, match="Generation failed"):
        generated(world, server(world, fails=RuntimeError("gone")))
