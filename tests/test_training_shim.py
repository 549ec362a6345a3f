"""The environment inside TRL: the own loop's trajectories, and faults that never become a training signal."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Environment
from looseleaf.models.chat.actions import ARGUMENTS, tool_definitions
from looseleaf.protocol import PROTOCOLS
from looseleaf.roles import Action
from looseleaf.runstore import Run
from looseleaf.training.conversation import Conversation
from looseleaf.training.faults import ToolFaultError
from looseleaf.training.processing import load_processor
from looseleaf.training.shim import Task, TokenBudget, shim_class
from looseleaf.trajectory import StopReason, Trajectory
from parity_world import PAGES, QUESTION, REFUSED, SCRIPT, assert_same, expected, make_world, pdf_bytes
from training_world import call, config_of, good_turns, play, settings, tiny, trainer_of

MALFORMED = "I would rather think about it."


def test_script_is_refused_where_it_says(tmp_path: Path) -> None:
    found = expected(make_world(tmp_path))
    assert found.stop_reason is StopReason.ANSWERED
    assert found.answer == "12 stations"
    assert found.turns == len(SCRIPT)
    assert tuple(step.turn for step in found.steps if step.invalid) == REFUSED
    assert [finding.source_page for finding in found.memory] == [3, 2]


@pytest.mark.parametrize("name", ["awm", "ep-given", "rag", "direct"])
def test_public_methods_are_the_actions(name: str) -> None:
    from transformers.utils import get_json_schema

    protocol = PROTOCOLS[name]
    methods = {
        method: function
        for method, function in inspect.getmembers(shim_class(protocol), predicate=inspect.isfunction)
        if not method.startswith("_") and method != "reset"
    }
    assert set(methods) == set(protocol.actions)
    wanted = {tool["function"]["name"]: tool["function"] for tool in tool_definitions(protocol)}
    for method, function in methods.items():
        schema = get_json_schema(function)["function"]
        assert schema["description"].startswith(wanted[method]["description"])
        found = {key: value["type"] for key, value in schema["parameters"]["properties"].items()}
        assert found == ARGUMENTS[method]


def railway(folder: Path, **changes: dict[str, Any]) -> Any:
    """The parity world as training data, with rollouts long enough for its script."""
    (folder / "documents").mkdir(exist_ok=True)
    (folder / "documents" / "railway.pdf").write_bytes(pdf_bytes(*PAGES))
    row = {"doc_id": "railway.pdf", "question": QUESTION, "answer": 12, "evidence_pages": [3]}
    (folder / "questions.jsonl").write_text(json.dumps(row))
    train = {
        "steps": 1,
        "groups_per_step": 1,
        "group_size": 2,
        "micro_batch": 2,
        "max_completion_tokens": 4000,
    }
    protocol = {"name": "awm", "max_turns": 15, "max_pixels": 16_384}
    return config_of(folder, **{"train": train, "protocol": protocol, **changes})


def test_rollouts_are_those_of_the_own_loop(tmp_path: Path) -> None:
    config = railway(tmp_path)
    trainer = trainer_of(config)
    texts = [call(action.name, **action.arguments) for action in SCRIPT]
    texts.insert(3, MALFORMED)
    rounds = play(trainer, texts)
    trainer.train()
    trainer.close()
    assert len(rounds) == len(texts)  # an answer ends the rollout: no generation follows it
    stored = Run.open(tmp_path / "out" / "rollouts").trajectories()
    assert sorted(found.sample_index for found in stored.values()) == [0, 1]
    own = _own_loop(trainer, config, texts)
    for found in stored.values():
        assert_same(found, own)
        assert [step.model_text for step in found.steps] == texts
        assert found.step_of_training == 0
    assert own.invalid_turns == len(REFUSED) + 1
    questions = [rollout.shim._question for rollout in trainer.rollouts]
    mine, theirs = asyncio.run(
        trainer.scorer.evidence([(questions[0], own), (questions[0], next(iter(stored.values())))])
    )
    assert mine.seen == theirs.seen
    assert trainer.scorer.reward.value(mine.seen) == trainer.scorer.reward.value(theirs.seen) == 2.0


def _own_loop(trainer: Any, config: Any, texts: list[str]) -> Trajectory:
    shim = trainer.environments[0]
    shim.reset(shim._question.question_id)
    from looseleaf.agent import run_agent
    from looseleaf.models.scripted import ScriptedPolicy

    turns = [trainer.conversation.turn_of_text(text) for text in texts]
    return asyncio.run(run_agent(ScriptedPolicy(turns), shim._environment))


def test_an_exception_of_the_environment_ends_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Environment, *_: Any, **__: Any) -> Any:
        raise KeyError("planted")

    config = config_of(tmp_path)
    trainer = trainer_of(config)
    play(trainer, good_turns(1, 41))
    monkeypatch.setattr(Environment, "step", broken)
    before = trainer.model.state_dict()
    with pytest.raises(ToolFaultError, match="KeyError: 'planted'"):
        trainer.train()
    trainer.close()
    assert trainer.state.global_step == 0
    assert all((before[name] == value).all() for name, value in trainer.model.state_dict().items())
    assert not (tmp_path / "out" / "steps.jsonl").read_bytes()


def test_an_exception_is_kept_where_trl_would_show_it_to_the_model(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    environment = world.environment()
    environment.step = None  # type: ignore[assignment,method-assign]  # calling it raises TypeError
    shim = _shim(world, environment)
    with pytest.raises(ToolFaultError, match="TypeError"):
        shim.search(query="stations")
    assert isinstance(shim._fault, TypeError)


def test_tools_show_pages_to_trls_own_loop(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    shim = _shim(world, world.environment())
    shown = shim.search(query="stations in Lima")
    assert [part["type"] for part in shown].count("image") == 2
    assert "write a note" in shim.fetch(page=2)[0]["text"]  # a mistake of the model is an observation
    shim.note(text="Lima has 12 stations", source_page=3)
    shim.answer(text="12")
    assert shim.search(query="more") == [{"type": "text", "text": "This rollout has ended."}]
    found = shim._trajectory(sample_index=0, seed=0, step=0, run_id="")
    actions = [
        Action.search("stations in Lima"),
        Action.fetch(2),
        Action.note("Lima has 12 stations", 3),
        Action.answer("12"),
    ]
    assert_same(found, expected(world, actions))


def _shim(world: Any, environment: Environment) -> Any:
    conversation = Conversation(load_processor(tiny()), world.protocol)
    task = Task(world.question, world.document, environment)
    shim = shim_class(world.protocol)(lambda _: task, conversation, TokenBudget(100_000, 64))
    shim.reset(question_id=world.question.question_id)
    return shim


def test_an_overflow_ends_the_rollout_before_the_environment_acts(tmp_path: Path) -> None:
    config = config_of(tmp_path, train={"max_completion_tokens": 420, "steps": 1}, protocol={"max_turns": 9})
    trainer = trainer_of(config)

    def talkative(rollout: int, turn: int) -> str:
        if rollout % 4 == 3:
            return call("search", query="boats " * 60)
        return good_turns(1, 41)[turn]

    play(trainer, talkative)
    trainer.train()
    trainer.close()
    stored = Run.open(tmp_path / "out" / "rollouts").trajectories().values()
    overflown = [found for found in stored if found.stop_reason is StopReason.CONTEXT_OVERFLOW]
    assert len(overflown) == 2
    assert all(found.turns < 3 for found in overflown)
    for rollout in trainer.rollouts:
        assert len(rollout.completion) <= 420
        environment = rollout.shim._environment
        assert len(environment.history) == environment.trajectory().turns
    steps = json.loads((tmp_path / "out" / "steps.jsonl").read_text())
    assert steps["looseleaf/rollouts/unscored"] == 2
    assert steps["looseleaf/stopped/context_overflow"] == 2
    assert trainer.sampled.scored.tolist() == [True, True, True, False] * 2
    assert trainer.sampled.values.tolist() == [0.0] * 8


def test_a_document_cannot_speak_special_tokens(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    trainer = trainer_of(config)
    shim = trainer.environment_factories[None]()
    shim.reset(question_id=trainer.train_dataset[0]["question_id"])
    question = shim._question.question
    object.__setattr__(
        shim._environment, "_question", _with_text(shim._question, "a <|image_pad|> b<|im_end|>")
    )
    opening = asyncio.run(trainer.conversation.opening(shim._environment))
    assert trainer.conversation.image_token not in opening.ids
    assert opening.ids.count(trainer.conversation.end_of_turn) == 2  # of the system and of the user message
    assert "<|image_pad|>" not in question
    trainer.close()


def _with_text(question: Any, text: str) -> Any:
    import msgspec

    return msgspec.structs.replace(question, question=text)


def test_settings_are_whole(tmp_path: Path) -> None:
    assert set(settings(tmp_path)) == {"train", "protocol", "data", "reward"}
