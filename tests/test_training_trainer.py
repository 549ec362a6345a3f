"""Advantages are the bench's own, unscored rollouts teach nothing, and vision tokens are never a signal."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from looseleaf.errors import ConfigError
from looseleaf.reward import Outcome, group_advantages
from looseleaf.runstore import Run
from looseleaf.training.conversation import Conversation
from looseleaf.training.faults import TrainingError
from looseleaf.training.grpo import run_grpo
from looseleaf.training.grpo_arguments import generation_arguments, grpo_arguments
from looseleaf.training.plan import plan_prompts
from looseleaf.training.processing import load_processor
from looseleaf.training.rollout_rewards import Evidence
from training_world import by_member, config_of, good_turns, play, tiny, trainer_of

OUTCOMES = [
    Outcome(answer=1.0, memory=(1.0,)),
    Outcome(answer=1.0, memory=(0.0,)),
    Outcome(answer=0.0, memory=(1.0,)),
    Outcome(answer=1.0, memory=(None,)),  # the reader was down
    *[Outcome(answer=1.0, memory=(1.0,))] * 4,  # a group without variance
]
REWARDS = [2.0, 0.0, -0.1, None, 2.0, 2.0, 2.0, 2.0]


def step_with(trainer: Any, outcomes: list[Outcome]) -> dict[str, Any]:
    """The tensors of one generation batch whose rollouts have these outcomes."""

    async def evidence(rollouts: Any) -> list[Evidence]:
        return [
            Evidence(trajectory_id=found.trajectory_id, seen=outcome)
            for (_, found), outcome in zip(rollouts, outcomes, strict=True)
        ]

    trainer.scorer.evidence = evidence
    trainer.model.train()
    rows = [trainer.train_dataset[index // 4] for index in range(8)]
    output: dict[str, Any] = trainer._generate_and_score_completions(rows)
    return output


@pytest.mark.parametrize(("ddof", "scale"), [(0, "group"), (1, "group"), (0, "batch"), (0, "none")])
def test_advantages_are_the_benchs_own(tmp_path: Path, ddof: Any, scale: Any) -> None:
    config = config_of(tmp_path, reward={"ddof": ddof, "scale": scale})
    trainer = trainer_of(config)
    play(trainer, good_turns(1, 41))
    output = step_with(trainer, OUTCOMES)
    trainer.close()
    wanted = group_advantages(REWARDS, [0] * 4 + [1] * 4, 1e-6, ddof, scale)
    assert np.allclose(output["advantages"].numpy(), wanted.values, rtol=1e-6, atol=0)
    assert output["advantages"][4:].tolist() == [0.0] * 4  # exactly
    assert trainer._metrics["train"]["looseleaf/groups/zero_variance"] == [1.0]
    assert trainer._metrics["train"]["looseleaf/rollouts/unscored"] == [1.0]


def test_an_unscored_rollout_is_in_no_loss(tmp_path: Path) -> None:
    trainer = trainer_of(config_of(tmp_path))
    play(trainer, good_turns(1, 41))
    output = step_with(trainer, OUTCOMES)
    generated = [sum(rollout.generated) for rollout in trainer.rollouts]
    mask = (output["completion_mask"] * output["tool_mask"]).sum(dim=1).tolist()
    assert mask == [count if index != 3 else 0 for index, count in enumerate(generated)]
    assert int(output["num_items_in_batch"]) == sum(mask)
    trainer.close()


def test_phantom_groups_are_counted(tmp_path: Path) -> None:
    trainer = trainer_of(config_of(tmp_path))
    play(trainer, good_turns(1, 41))
    wrong = [Outcome(answer=0.0, memory=(float(index % 2),)) for index in range(4)]
    step_with(trainer, [*wrong, *OUTCOMES[:4]])
    assert trainer._metrics["train"]["looseleaf/groups/phantom"] == [1.0]
    trainer.close()


@pytest.mark.parametrize(("threshold", "s_ans", "phantom"), [(">0", 1.0, 0.0), ("=1", 0.5, 1.0)])
def test_shares_are_logged_under_the_threshold_of_the_reward(
    tmp_path: Path, threshold: str, s_ans: float, phantom: float
) -> None:
    trainer = trainer_of(config_of(tmp_path, reward={"threshold": threshold}))
    play(trainer, good_turns(1, 41))
    half = [Outcome(answer=0.5, memory=(float(index % 2),)) for index in range(4)]
    step_with(trainer, [*half, *[Outcome(answer=1.0, memory=(1.0,))] * 4])
    logged = trainer._metrics["train"]
    assert logged["looseleaf/s_ans"] == [s_ans]
    assert logged["looseleaf/groups/phantom"] == [phantom]
    trainer.close()


def test_what_is_undefined_in_a_step_is_not_logged(tmp_path: Path) -> None:
    trainer = trainer_of(config_of(tmp_path))
    play(trainer, good_turns(1, 41))
    step_with(trainer, [Outcome(answer=None, memory=(None,))] * 8)
    logged = trainer._metrics["train"]
    assert logged["looseleaf/rollouts/unscored"] == [8.0]
    assert "looseleaf/rewards_mean" not in logged
    assert not any(np.isnan(values).any() for name, values in logged.items() if name.startswith("looseleaf/"))
    trainer.close()


def test_a_training_step_teaches_what_was_rewarded(tmp_path: Path) -> None:
    trainer = trainer_of(config_of(tmp_path, train={"steps": 3}))
    play(trainer, by_member)
    trainer.train()
    varied = [line["looseleaf/groups/zero_variance"] < 2 for line in trainer._step_log.read()]
    assert any(varied)
    assert [line["grad_norm"] > 0 for line in trainer._step_log.read()] == varied
    stored = Run.open(tmp_path / "out" / "rollouts").trajectories()
    assert len(stored) == 24
    assert {found.step_of_training for found in stored.values()} == {0, 1, 2}
    trainer.close()


def test_a_sampled_vision_token_ends_the_training(tmp_path: Path) -> None:
    trainer = trainer_of(config_of(tmp_path))
    play(trainer, good_turns(1, 41))
    image = trainer.conversation.image_token
    generate = trainer._generate_single_turn

    def stray(*args: Any, **kwargs: Any) -> Any:
        replies, logprobs = generate(*args, **kwargs)
        replies[0] = [*replies[0][:-1], image, replies[0][-1]]
        return replies, logprobs

    trainer._generate_single_turn = stray
    with pytest.raises(TrainingError, match=r"generated <\|image_pad\|>, which has no image behind it"):
        trainer.train()
    trainer.close()
    assert trainer.state.global_step == 0
    assert not (tmp_path / "out" / "steps.jsonl").read_bytes()


def test_vision_tokens_are_suppressed_for_both_backends(tmp_path: Path) -> None:
    conversation = Conversation(load_processor(tiny()), config_of(tmp_path).protocol)
    own = grpo_arguments(config_of(tmp_path), conversation).generation_kwargs
    assert set(own["suppress_tokens"]) == set(conversation.vision_tokens)
    assert conversation.image_token in own["suppress_tokens"]
    served = generation_arguments(config_of(tmp_path, train={"vllm": {"mode": "server"}}), conversation)
    assert served["logit_bias"] == dict.fromkeys(conversation.vision_tokens, -100.0)
    assert served["max_tokens"] == own["max_new_tokens"] == 8


@pytest.mark.parametrize(
    ("train", "sentence"),
    [
        ({"vllm": {"mode": "server"}}, "vllm asks for vLLM, .* run `pip install 'trl\\[vllm\\]'`"),
        (
            {"engine": {"deepspeed": "zero3.json"}},
            "asks for DeepSpeed, .* run `pip install 'trl\\[deepspeed\\]'`",
        ),
        ({"report_to": "wandb"}, "report_to is wandb, .* run `pip install wandb`"),
    ],
)
def test_a_package_that_a_setting_needs_is_named_before_a_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: dict[str, Any], sentence: str
) -> None:
    find_spec = importlib.util.find_spec
    absent = {"vllm", "deepspeed", "wandb"}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if name in absent else find_spec(name, *more)
    )
    with pytest.raises(ConfigError, match=sentence):
        run_grpo(config_of(tmp_path, train=train))
    assert not (tmp_path / "out").exists()


def test_a_model_that_wants_vision_tokens_never_generates_one(tmp_path: Path) -> None:
    import torch

    trainer = trainer_of(config_of(tmp_path))
    head = trainer.model.get_output_embeddings().weight
    with torch.no_grad():
        for token in trainer.conversation.vision_tokens:
            head[token] *= 50
    rows = [trainer.train_dataset[0]] * 8
    trainer.model.train()
    trainer._generate_and_score_completions(rows)  # raises where one was generated
    trainer.close()


def test_prompts_are_planned_before_anything_is_sampled() -> None:
    ids = [f"q:{index}" for index in range(5)]
    plan = plan_prompts(ids, 12, seed=3)
    assert sorted(planned.question_id for planned in plan[:5]) == ids
    assert [planned.visit for planned in plan] == [0] * 5 + [1] * 5 + [2] * 2
    assert plan_prompts(ids, 12, seed=3) == plan
    assert plan_prompts(ids, 7, seed=3) == plan[:7]
    assert plan_prompts(ids, 12, seed=4) != plan
