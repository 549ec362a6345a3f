"""Rollouts on verl's own trainer path (v1, TransferQueue on Ray) from planned prompts to advantages, on a processor.

Run in an environment of its own by `scripts/test_verl.sh`. What a GPU would do is left out: servers are scripted, and
the loss is not computed.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import looseleaf
from looseleaf import Action, Trajectory
from looseleaf.reward import group_advantages
from looseleaf.runstore import Run
from looseleaf.training.faults import TrainingError
from looseleaf.training.grpo import ROLLOUTS
from looseleaf.training.verl.launch import compose
from parity_world import SCRIPT, assert_same, expected, make_world
from verl_world import GROUP, ScriptServer, VerlWorld, make_model, script_replies, verl_world

HAS_VERL = all(importlib.util.find_spec(name) is not None for name in ("verl", "transfer_queue"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not HAS_VERL, reason="verl and TransferQueue are not installed here; run scripts/test_verl.sh"
    ),
    pytest.mark.filterwarnings("ignore"),  # of verl, Ray and what they import
]

OVERRIDES = (
    "trainer.n_gpus_per_node=1",
    "data.max_prompt_length=1024",
    "data.max_response_length=6000",
    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
    "actor_rollout_ref.rollout.agent.num_workers=1",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray on this machine, whose processes find looseleaf and the tests."""
    import ray

    import verl_without_videos

    verl_without_videos.patch()
    places = [str(Path(looseleaf.__file__).parent.parent), str(Path(__file__).parent)]
    variables = {
        "PYTHONPATH": os.pathsep.join(places),
        "VERL_USE_EXTERNAL_MODULES": "verl_without_videos",
        "LOOSELEAF_CACHE": os.environ["LOOSELEAF_CACHE"],
        "OMP_NUM_THREADS": "1",
    }
    ray.init(  # a cluster of its own, whatever else runs on this machine
        address="local",
        num_cpus=4,
        include_dashboard=False,
        runtime_env={"env_vars": variables},
        log_to_driver=False,
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("verl"))


class Stage(NamedTuple):
    """verl's trainer without its GPUs.

    Attributes:
        world: what is trained on.
        config: verl's.
        trainer: stands for `PPOTrainer`, for the parts that need no GPU.
        workers: agent loop workers.
    """

    world: VerlWorld
    config: Any
    trainer: Any
    workers: Any

    def step(self, number: int) -> tuple[Any, Any]:
        """Rollouts of a step: what the replay buffer hands the trainer, and its rows."""
        import transfer_queue as tq
        from verl.trainer.ppo.utils import create_rl_dataset
        from verl.utils import tensordict_utils as tu
        from verl.utils.dataset.rl_dataset import collate_fn

        rows = create_rl_dataset(self.config.data.train_files, self.config.data, None, None)
        prompts = collate_fn([rows[number - 1]])
        prompts["uid"] = np.array([f"uid{number}"], dtype=object)
        batch = tu.get_tensordict(prompts)
        tu.assign_non_tensor_data(batch, "global_steps", number)
        tags = [{"is_prompt": True, "status": "pending", "global_steps": number}]
        tq.kv_batch_put(keys=list(batch["uid"]), partition_id="train", tags=tags)
        self.workers.generate_sequences(batch)
        found, _ = self.buffer.sample(global_steps=number, partition_id="train", batch_size=1)
        fields = ["responses", "response_mask", "rm_scores", "num_turns"]
        return found, tq.kv_batch_get(keys=found.keys, partition_id="train", select_fields=fields)

    @property
    def buffer(self) -> Any:
        from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

        return ReplayBuffer("sync", self.config.trainer, 8, "drop", {}, poll_interval=0.2)

    def advantages(self, batch: Any) -> list[Any]:
        """The trainer's own stage between rollouts and loss; advantages of each row.

        The trained policy's log-probabilities are taken to be those of the servers, as the trainer itself takes them
        in its bypass mode; the stage also compares the two (`rollout_correction`).
        """
        import transfer_queue as tq
        from verl.trainer.ppo.v1.trainer_base import PPOTrainer

        said = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["rollout_log_probs"])
        said["old_log_probs"] = said.pop("rollout_log_probs")
        tq.kv_batch_put(keys=batch.keys, partition_id="train", fields=said)
        PPOTrainer._compute_advantage(self.trainer, batch, {})
        found = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["advantages"])
        return list(found["advantages"].unbind())

    def trajectories(self) -> dict[str, Trajectory]:
        (folder,) = (Path(self.world.config.train.output) / ROLLOUTS).iterdir()
        return Run.open(folder).trajectories()


@pytest.fixture
def stage(tmp_path: Path, model: Path, cluster: None, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Two groups: one whose four rollouts differ, and one with what the test asks for as its last rollout."""
    import transfer_queue as tq
    from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ
    from verl.trainer.ppo.v1.trainer_base import PPOTrainer
    from verl.workers.rollout.replica import TokenOutput

    world = verl_world(tmp_path, model, **getattr(request, "param", {}))
    config = compose(world.config, world.config_file, OVERRIDES)
    config.transfer_queue.enable = True
    tq.init(config.transfer_queue)
    server = ScriptServer(*scripts_of(world), make=TokenOutput)
    workers = AgentLoopManagerTQ.create(config=config, llm_client=server)
    trainer = SimpleNamespace(config=config)
    PPOTrainer._init_tokenizer(
        trainer
    )  # its first deed, which loads the model's configuration and so our plugin
    yield Stage(world, config, trainer, workers)
    tq.close()


def scripts_of(world: VerlWorld) -> list[list[list[int]]]:
    """First group: right, wrong, guessed, lost. Then one that samples an image token, and right ones."""
    conversation = world.conversation
    right = script_replies(conversation)
    wrong = script_replies(conversation, [*SCRIPT[:-1], Action.answer("9 stations")])
    guess = script_replies(conversation, [Action.answer("12")])
    lost = script_replies(conversation, [Action.answer("I do not know.")])
    stray = [[conversation.image_token, conversation.end_of_turn]]
    return [right, wrong, guess, lost, stray, right]


def test_a_step_of_the_trainer_and_one_that_must_not_be_learnt_from(stage: Stage, tmp_path: Path) -> None:
    batch, rows = stage.step(1)
    assert len(batch.keys) == GROUP
    rewards = [float(row.sum()) for row in rows["rm_scores"].unbind()]
    assert sorted(rewards) == pytest.approx([-1.0, -0.1, 0.0, 2.0])
    _check_advantages(stage, batch, rows, rewards)

    folder = tmp_path / "own"
    folder.mkdir()
    own = expected(make_world(folder, stage.world.config.protocol))
    found = stage.trajectories()
    assert sorted(found) == [f"mini:0#{number}" for number in range(GROUP)]
    full = [one for one in found.values() if one.turns == len(SCRIPT) and one.answer == "12 stations"]
    assert len(full) == 1
    assert_same(own, full[0])

    batch, _ = stage.step(2)
    assert len(batch.keys) == GROUP  # verl saw no failure: it would have trained on the other three
    with pytest.raises(TrainingError, match="image_pad"):
        stage.advantages(batch)


def _check_advantages(stage: Stage, batch: Any, rows: Any, rewards: list[float]) -> None:
    wanted = group_advantages(rewards, ["a"] * GROUP).values
    for row, (found, mask) in enumerate(
        zip(stage.advantages(batch), rows["response_mask"].unbind(), strict=True)
    ):
        assert found[mask.bool()].numpy() == pytest.approx(wanted[row], abs=1e-6)
        assert not found[~mask.bool()].any()


@pytest.mark.parametrize("stage", [{"train": {"max_completion_tokens": 600}}], indirect=True)
def test_rollouts_that_outgrow_their_budget_are_left_out_of_the_trainers_group(stage: Stage) -> None:
    batch, rows = stage.step(1)
    rewards = [float(row.sum()) for row in rows["rm_scores"].unbind()]
    masks = [bool(row.any()) for row in rows["response_mask"].unbind()]
    assert sorted(map(str, rewards)) == ["-1.0", "0.0", "nan", "nan"]
    assert [reward == reward for reward in rewards] == masks
    _check_advantages(stage, batch, rows, rewards)
