"""Rollouts for verl without verl: tokens, mask, images and rewards, against the own loop and the shim of TRL."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from looseleaf import Action, Environment, Trajectory
from looseleaf.errors import ConfigError, DocumentError, ProviderError
from looseleaf.reward import check_records
from looseleaf.runstore import Ledger, Run
from looseleaf.training.config_file import freeze_config
from looseleaf.training.faults import ToolFaultError, TrainingError
from looseleaf.training.grpo import ROLLOUTS, task_source
from looseleaf.training.questions import training_set
from looseleaf.training.rollout import Rollout
from looseleaf.training.rollout_rewards import RolloutScorer, reward_records
from looseleaf.training.shim import TokenBudget, shim_class
from looseleaf.training.telemetry import StepLog
from looseleaf.training.verl.player import Player, ServerFaultError
from looseleaf.training.verl.session import Session, open_session
from looseleaf.training.verl.steps import main, write_steps
from parity_world import SCRIPT, assert_same, expected, make_world
from verl_world import (
    COMPLETION,
    GROUP,
    LOGPROB,
    TURN,
    Reply,
    ScriptServer,
    VerlWorld,
    make_model,
    reply,
    script_replies,
    verl_world,
)

ROW = {"question_id": "mini:0", "visit": 0, "session_id": 1, "global_steps": 5}
SAMPLING = {"temperature": 0.7, "logprobs": True}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("verl"))


@pytest.fixture
def world(tmp_path: Path, model: Path) -> VerlWorld:
    return verl_world(tmp_path, model)


def session_of(world: VerlWorld) -> Session:
    return open_session(world.config_file, world.processor, COMPLETION)


def play(
    world: VerlWorld, server: ScriptServer, *, row: dict[str, Any] = ROW, longest_opening: int = 4096
) -> dict[str, Any]:
    player = Player(session_of(world), server, engine="vllm", longest_opening=longest_opening)
    return asyncio.run(player.play(row, SAMPLING))


def recorded(world: VerlWorld) -> Run:
    """The RUN of this process's rollouts."""
    (folder,) = (Path(world.config.train.output) / ROLLOUTS).iterdir()
    return Run.open(folder)


def only_trajectory(world: VerlWorld) -> Trajectory:
    (trajectory,) = recorded(world).trajectories().values()
    return trajectory


def own_loop(world: VerlWorld, folder: Path) -> Trajectory:
    """What the own agent loop makes of the script."""
    other = folder / "own"
    other.mkdir()
    return expected(make_world(other, world.config.protocol))


def shim_loop(world: VerlWorld) -> Trajectory:
    """What TRL's shim makes of the script, driven as the trainer drives it."""
    config, conversation = world.config, world.conversation
    shim = shim_class(config.protocol)(
        task_source(config, training_set(config)), conversation, TokenBudget(COMPLETION, TURN)
    )

    async def driven() -> None:
        shim.reset("mini:0")
        rollout = Rollout(shim, conversation)
        await rollout.begin()
        for ids in script_replies(conversation):
            await rollout.absorb(ids)

    asyncio.run(driven())
    return shim._trajectory(sample_index=0, seed=0, step=0, run_id="")


def scored(world: VerlWorld, trajectory: Trajectory) -> tuple[list[float | None], float | None]:
    """Scores and reward that training gives a trajectory."""
    config, questions = world.config, training_set(world.config)
    scorer = RolloutScorer(config.reward.make(), config.training_score, "mini", reads_memory=True)
    evidence = asyncio.run(scorer.evidence([(questions.question("mini:0"), trajectory)]))
    (record,) = reward_records(scorer.reward, evidence, scorer.ids, 4)
    return [row.value for row in evidence[0].scores], record.value


def test_own_loop_shim_and_verl_agree_on_trajectory_scores_and_reward(
    world: VerlWorld, tmp_path: Path
) -> None:
    output = play(world, ScriptServer(script_replies(world.conversation)))
    own, shim, mine = own_loop(world, tmp_path), shim_loop(world), only_trajectory(world)
    assert_same(own, shim)
    assert_same(own, mine)
    assert mine.turns == len(SCRIPT)
    scores, reward = scored(world, own)
    assert scores == [1.0, 1.0]
    assert (scores, reward) == scored(world, shim) == scored(world, mine)
    assert output["reward_score"] == reward == 2.0
    assert output["extra_fields"]["reward_extra_info"] == {"scored": 1.0, "s_ans": 1.0, "s_mem": 1.0}


def test_the_record_has_its_place_and_its_rewards_can_be_recomputed(world: VerlWorld) -> None:
    play(world, ScriptServer(script_replies(world.conversation)))
    play(world, ScriptServer(script_replies(world.conversation)), row={**ROW, "visit": 2, "session_id": 3})
    run = recorded(world)
    found = run.trajectories()
    assert list(found) == ["mini:0#1", f"mini:0#{2 * GROUP + 3}"]
    assert {one.step_of_training for one in found.values()} == {4}  # verl's fifth step, after four updates
    assert {one.run_id for one in found.values()} == {"out"}
    (rewards,) = (run.path / "rewards").iterdir()
    records = list(Ledger(rewards, _record_type()).read())
    assert check_records(records, run) == len(records) == 2


def _record_type() -> Any:
    from looseleaf.reward import RewardRecord

    return RewardRecord


def test_without_a_number_from_verl_rollouts_of_a_group_are_numbered_as_they_come(world: VerlWorld) -> None:
    row = {"question_id": "mini:0", "visit": 1}
    places = [session_of(world).place(row) for _ in range(3)]
    assert [place.sample_index for place in places] == [GROUP, GROUP + 1, GROUP + 2]
    assert {place.step for place in places} == {0}


def test_what_the_server_generated_is_taken_up_as_it_came_and_alone_in_the_mask(world: VerlWorld) -> None:
    conversation = world.conversation
    replies = script_replies(conversation)
    server = ScriptServer(replies)
    output = play(world, server)
    assert _runs(output["response_ids"], output["response_mask"]) == replies
    assert len(output["response_ids"]) == len(output["response_mask"]) == len(output["response_logprobs"])
    said = [
        LOGPROB if own else 0.0 for own in output["response_mask"]
    ]  # what an observation's tokens are is nobody's
    assert output["response_logprobs"] == said
    whole = output["prompt_ids"] + output["response_ids"]
    for asked in server.asked:  # every generation went on from the beginning of the final sequence
        assert whole[: len(asked.prompt_ids)] == asked.prompt_ids
    assert len({asked.request_id for asked in server.asked}) == 1


def _runs(ids: Sequence[int], mask: Sequence[int]) -> list[list[int]]:
    """Stretches of tokens that are in the mask."""
    runs: list[list[int]] = []
    for position, (token, own) in enumerate(zip(ids, mask, strict=True)):
        if own and (position == 0 or not mask[position - 1]):
            runs.append([])
        if own:
            runs[-1].append(token)
    return runs


def test_images_are_as_many_as_image_spans_and_go_with_every_generation(world: VerlWorld) -> None:
    conversation = world.conversation
    server = ScriptServer(script_replies(conversation))
    output = play(world, server)
    images = output["multi_modal_data"]["images"]
    shown = sum(len(step.observation.shown) for step in only_trajectory(world).steps if step.observation)
    ids, image = output["response_ids"], conversation.image_token
    spans = sum(token == image and ids[number - 1] != image for number, token in enumerate(ids))
    assert len(images) == spans == shown > 1
    merge = conversation.processor.image_processor.merge_size**2
    grids = conversation.processor.image_processor(images=images, return_tensors="pt")["image_grid_thw"]
    assert ids.count(image) == int(grids.prod(dim=1).sum()) // merge
    assert [asked.images for asked in server.asked] == sorted(asked.images for asked in server.asked)
    assert server.asked[-1].images == len(images)


def test_sampling_has_the_length_of_a_turn_its_end_and_no_vision_tokens(world: VerlWorld) -> None:
    conversation = world.conversation
    server = ScriptServer(script_replies(conversation))
    play(world, server)
    assert all(asked.sampling == server.asked[0].sampling for asked in server.asked)
    found = server.asked[0].sampling
    assert found["temperature"] == 0.7
    assert found["max_tokens"] == TURN
    assert found["stop_token_ids"] == [conversation.end_of_turn]
    assert found["logit_bias"] == dict.fromkeys(conversation.vision_tokens, -100.0)


def test_biases_for_sglang_have_keys_of_text(world: VerlWorld) -> None:
    server = ScriptServer(script_replies(world.conversation))
    player = Player(session_of(world), server, engine="sglang", longest_opening=4096)
    asyncio.run(player.play(ROW, SAMPLING))
    assert all(isinstance(key, str) for key in server.asked[0].sampling["logit_bias"])


def test_a_server_that_says_no_logprobs_leaves_all_out(world: VerlWorld) -> None:
    def silent(**fields: Any) -> Reply:
        return Reply(token_ids=fields["token_ids"])

    output = play(world, ScriptServer(script_replies(world.conversation), make=silent))
    assert output["response_logprobs"] is None
    assert output["extra_fields"]["min_global_steps"] == 4  # of the row, since the server says nothing


def test_weights_are_those_of_the_first_and_the_last_turn(world: VerlWorld) -> None:
    versions = iter(range(20, 40))

    def moving(**fields: Any) -> Reply:
        version = next(versions)
        said = {"min_global_steps": version, "max_global_steps": version}
        return Reply(token_ids=fields["token_ids"], extra_fields=said, num_preempted=1)

    output = play(world, ScriptServer(script_replies(world.conversation), make=moving))
    assert output["extra_fields"]["min_global_steps"] == 20
    assert output["extra_fields"]["max_global_steps"] == 20 + len(SCRIPT) - 1
    assert output["metrics"]["num_preempted"] == len(SCRIPT)
    assert output["num_turns"] == len(SCRIPT)


# -- unscored --------------------------------------------------------------------------------------------------


def assert_left_out(output: dict[str, Any]) -> None:
    assert math.isnan(output["reward_score"])
    assert not any(output["response_mask"])
    assert len(output["response_ids"]) == len(output["response_mask"]) >= 1
    assert output["extra_fields"]["reward_extra_info"]["scored"] == 0.0


def test_a_reader_outage_leaves_the_rollout_out(world: VerlWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    async def out(*_: Any, **__: Any) -> Any:
        raise ProviderError("the reader is down")

    session = session_of(world)
    monkeypatch.setattr(session._scorer._reader, "read", out)
    output = play(world, ScriptServer(script_replies(world.conversation)))
    assert_left_out(output)
    assert only_trajectory(world).answer == "12 stations"
    assert output["extra_fields"]["reward_extra_info"]["s_ans"] == 1.0
    assert math.isnan(output["extra_fields"]["reward_extra_info"]["s_mem"])


def test_a_document_that_cannot_be_opened_leaves_the_rollout_out(
    world: VerlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: str) -> Any:
        raise DocumentError("the file is damaged")

    monkeypatch.setattr(session_of(world), "_source", broken)
    server = ScriptServer(script_replies(world.conversation))
    output = play(world, server)
    assert_left_out(output)
    assert server.asked == []
    assert only_trajectory(world).stop_reason == "document_error"


def test_an_opening_that_is_too_long_leaves_the_rollout_out(world: VerlWorld) -> None:
    server = ScriptServer(script_replies(world.conversation))
    output = play(world, server, longest_opening=10)
    assert_left_out(output)
    assert server.asked == []
    assert only_trajectory(world).error == (
        f"the opening has {len(_opening(world))} tokens and data.max_prompt_length is 10"
    )


def _opening(world: VerlWorld) -> list[int]:
    task = task_source(world.config, training_set(world.config))("mini:0")
    return list(asyncio.run(world.conversation.opening(task.environment)).ids)


def test_an_overflow_of_the_budget_is_seen_before_the_action_and_leaves_the_rollout_out(
    tmp_path: Path, model: Path
) -> None:
    world = verl_world(tmp_path, model, train={"max_completion_tokens": 600})
    server = ScriptServer(script_replies(world.conversation))
    output = play(world, server)
    assert_left_out(output)
    found = only_trajectory(world)
    assert found.stop_reason == "context_overflow"
    assert found.turns < len(server.asked)  # the last one was not carried out
    assert len(output["response_ids"]) <= 600


# -- what ends a training --------------------------------------------------------------------------------------


def test_a_bug_in_an_action_is_raised(world: VerlWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: Any) -> Any:
        raise KeyError("planted")

    monkeypatch.setattr(Environment, "_act", bug)
    with pytest.raises(ToolFaultError, match="KeyError: 'planted'"):
        play(world, ScriptServer(script_replies(world.conversation)))


def test_a_sampled_image_token_is_raised(world: VerlWorld) -> None:
    conversation = world.conversation
    stray = [conversation.image_token, *reply(conversation, Action.answer("12"))]
    with pytest.raises(TrainingError, match="image_pad"):
        play(world, ScriptServer([stray]))


def test_a_failing_or_silent_server_is_told_apart_from_a_turn_of_the_model(world: VerlWorld) -> None:
    with pytest.raises(ServerFaultError, match="RuntimeError: gone"):
        play(world, ScriptServer([], fails=RuntimeError("gone")))
    with pytest.raises(ServerFaultError, match="broken off"):
        play(world, ScriptServer([[]]))
    with pytest.raises(ServerFaultError, match="broken off"):
        play(world, ScriptServer([[5]], make=lambda **f: Reply(token_ids=[5], stop_reason="aborted")))


def test_a_model_without_image_processor_is_refused(world: VerlWorld) -> None:
    with pytest.raises(TrainingError, match="without the pages"):
        open_session(world.config_file, None, COMPLETION)


def test_a_session_is_opened_once_a_process_and_takes_the_shorter_budget(world: VerlWorld) -> None:
    assert session_of(world) is session_of(world)
    assert open_session(world.config_file, world.processor, 900).budget == TokenBudget(900, TURN)


def test_only_one_configuration_can_be_trained_on(world: VerlWorld) -> None:
    from looseleaf.training.verl.dataset import PlannedPrompts

    with pytest.raises(ConfigError, match="train_files must name one"):
        PlannedPrompts(["one.toml", "two.toml"])
    rows = PlannedPrompts(str(world.config_file))
    assert len(rows) == 2
    row: dict[str, Any] = rows[1]
    assert (row["question_id"], row["visit"], row["agent_name"]) == ("mini:0", 1, "looseleaf")
    assert "12" not in msgspec.json.encode({key: row[key] for key in ("raw_prompt", "reward_model")}).decode()


# -- the numbers of each step ----------------------------------------------------------------------------------


def test_numbers_of_each_step_are_those_that_the_built_in_engine_logs(world: VerlWorld) -> None:
    conversation = world.conversation
    scripts = [
        script_replies(conversation),
        script_replies(conversation, [*SCRIPT[:-1], Action.answer("9 stations")]),
        script_replies(conversation, [Action.answer("12")]),
        script_replies(conversation, [Action.answer("I do not know.")]),
    ]
    outputs = [
        play(
            world,
            ScriptServer(script),
            row={**ROW, "session_id": number, "global_steps": step, "visit": step},
        )
        for step in (1, 2)
        for number, script in enumerate(scripts)
    ]
    freeze_config(world.config, Path(world.config.train.output))
    assert main([world.config.train.output]) == 0
    first, second = StepLog(Path(world.config.train.output) / "steps.jsonl", after=2).read()
    assert (first["step"], second["step"]) == (1, 2)
    assert {name: value for name, value in first.items() if name != "step"} == {
        name: value for name, value in second.items() if name != "step"
    }
    wanted = {
        "rollouts": 4.0,
        "rollouts/unscored": 0.0,
        "groups": 1.0,
        "s_ans": 0.5,
        "p_mmc": 0.5,
        "turns": 5.0,
    }
    assert {name: first[name] for name in wanted} == wanted
    assert [first[f"cells/{name}"] for name in ("00", "01", "10", "11")] == [0.25] * 4
    assert first["rewards_mean"] == pytest.approx((2 - 0.1 + 0 - 1) / 4)
    ours = outputs[:4]
    assert first["tokens/opening"] == sum(len(output["prompt_ids"]) for output in ours)
    assert first["tokens/generated"] == sum(sum(output["response_mask"]) for output in ours)
    assert first["tokens/observed"] == sum(
        len(output["response_mask"]) - sum(output["response_mask"]) for output in ours
    )
    assert first["images"] == sum(len(output["multi_modal_data"].get("images", [])) for output in ours)


def test_unscored_rollouts_are_counted_with_their_reason(
    world: VerlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def out(*_: Any, **__: Any) -> Any:
        raise ProviderError("the reader is down")

    play(world, ScriptServer(script_replies(world.conversation)))
    monkeypatch.setattr(session_of(world)._scorer._reader, "read", out)
    play(world, ScriptServer(script_replies(world.conversation)), row={**ROW, "session_id": 2})
    freeze_config(world.config, Path(world.config.train.output))
    assert write_steps(Path(world.config.train.output)) == 1
    (found,) = StepLog(Path(world.config.train.output) / "steps.jsonl", after=99).read()
    assert (found["rollouts"], found["rollouts/unscored"], found["unscored/reader_fault"]) == (2.0, 1.0, 1.0)


def test_a_folder_without_a_training_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "cannot be read" in capsys.readouterr().err
