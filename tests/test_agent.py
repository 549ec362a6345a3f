"""The loop: a policy that fails ends its trajectory and is recorded; it never takes the run down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from fakes import FakeDocument, FakeRetriever, make_question
from looseleaf import Action, Environment, PolicyTurn, PolicyView, StopReason, Trajectory
from looseleaf.agent import run_agent
from looseleaf.errors import ContextOverflowError, ProviderError
from looseleaf.models.scripted import ScriptedPolicy
from looseleaf.protocol import PROTOCOLS
from looseleaf.roles import Usage

PAGES = [f"Text of page {page}, which is long enough." for page in range(1, 6)]


def run(policy: Any, **document: Any) -> Trajectory:
    env = Environment(
        make_question(), FakeDocument(PAGES, **document), FakeRetriever((2, 3)), PROTOCOLS["awm"]
    )
    record = asyncio.run(run_agent(policy, env, run_id="r", sample_index=1, seed=8))
    assert msgspec.json.decode(msgspec.json.encode(record), type=Trajectory) == record
    return record


class Acting:
    """A policy made of one function."""

    def __init__(self, act: Callable[[PolicyView], Any]) -> None:
        self.act = act


def test_a_script_runs_to_its_answer() -> None:
    script = [Action.search("rates"), Action.note("A fact.", 2), Action.answer("42")]
    record = run(ScriptedPolicy(script))
    assert (record.stop_reason, record.answer, record.turns) == (StopReason.ANSWERED, "42", 3)
    assert (record.run_id, record.sample_index, record.seed) == ("r", 1, 8)
    assert record.seconds > 0


def test_an_exhausted_script_gives_up() -> None:
    assert run(ScriptedPolicy([])).answer == "Not answerable"


def test_a_policy_may_be_asynchronous_and_return_bare_actions() -> None:
    class Slow:
        async def act(self, view: PolicyView) -> Action:
            await asyncio.sleep(0)
            return Action.answer(f"{view.turns_left} turns")

    assert run(Slow()).answer == "15 turns"


def test_the_policy_sees_the_view_and_what_it_was_shown() -> None:
    seen: list[Any] = []

    def act(view: PolicyView) -> Action:
        seen.append((view.question, view.page_count, view.protocol.name, len(view.history), view.shown_pages))
        if not view.history:
            return Action.fetch(3)
        if not view.memory.findings:
            return Action.note(view.page_text(3)[:14], 3)
        return Action.answer(view.page_label(3))

    record = run(Acting(act))
    assert seen == [("What is number 0?", 5, "awm", turn, (3,) if turn else ()) for turn in range(3)]
    assert record.answer == "p-3"
    assert record.memory[0].text == "Text of page 3"


def raising(error: Exception) -> Callable[[PolicyView], Any]:
    def act(view: PolicyView) -> Any:
        if not view.history:
            return Action.search("rates")
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (ValueError("boom"), StopReason.PROVIDER_ERROR, "ValueError: boom"),
        (KeyError("x"), StopReason.PROVIDER_ERROR, "KeyError"),
        (ProviderError("The server is away."), StopReason.PROVIDER_ERROR, "The server is away."),
        (ContextOverflowError("32,768 tokens"), StopReason.CONTEXT_OVERFLOW, "32,768 tokens"),
    ],
    ids=["own bug", "key error", "provider", "overflow"],
)
def test_a_policy_that_raises_ends_its_trajectory(error: Exception, reason: StopReason, words: str) -> None:
    record = run(Acting(raising(error)))
    assert record.stop_reason is reason
    assert words in (record.error or "")
    assert (record.answer, record.turns, record.shown_pages) == (None, 1, (2, 3))


def test_looking_at_an_unseen_page_is_the_agents_fault() -> None:
    record = run(Acting(lambda view: Action.answer(view.page_text(1))))
    assert record.stop_reason is StopReason.PROVIDER_ERROR
    assert "page 1 was not shown" in (record.error or "")


def test_a_page_that_cannot_be_read_is_a_document_error() -> None:
    def act(view: PolicyView) -> Action:
        return Action.answer(view.page_text(2)) if view.history else Action.fetch(2)

    record = run(Acting(act), unreadable={2: "is damaged; re-save it"})
    assert record.stop_reason is StopReason.DOCUMENT_ERROR
    assert record.error == "Page 2 of fake.pdf is damaged; re-save it."


@pytest.mark.parametrize(
    "turn",
    [
        None,
        "answer: 7",
        {"name": "answer"},
        PolicyTurn(action=Action.answer("7"), thought=7),  # type: ignore[arg-type]
        PolicyTurn(action=Action.answer("7"), model_text=None),  # type: ignore[arg-type]
        PolicyTurn(action=Action.answer("7"), usage=None),  # type: ignore[arg-type]
        PolicyTurn(action=Action.answer("7"), usage={"calls": 1}),  # type: ignore[arg-type]
        PolicyTurn(action=Action.answer("7"), usage=Usage(None)),  # type: ignore[arg-type]
        PolicyTurn(action=Action.answer("7"), notes=7),  # type: ignore[arg-type]
        PolicyTurn(action=Action.answer("7"), notes=("a note",)),  # type: ignore[arg-type]
        PolicyTurn(action={"name": "answer"}),  # type: ignore[arg-type]
    ],
    ids=lambda turn: type(turn).__name__,
)
def test_a_turn_of_the_wrong_type_is_the_agents_fault(turn: Any) -> None:
    record = run(Acting(lambda view: turn))
    assert record.stop_reason is StopReason.PROVIDER_ERROR
    assert (record.error or "").startswith("The policy failed:")


def test_what_a_model_writes_into_arguments_is_no_fault() -> None:
    turns = [
        Action("fetch", {"page": 2**70}),
        Action("search", {"query": "\ud800"}),
        Action("search", ["x"]),  # type: ignore[arg-type]
    ]
    record = run(ScriptedPolicy(turns))
    assert record.stop_reason in (StopReason.ANSWERED, StopReason.TURN_LIMIT)
