"""One environment: Inspect drives the same code as the own runner, and the same words and images reach a server."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")

from inspect_ai.log import EvalLog
from inspect_ai.model import get_model

import parity_world
from inspect_world import NOISE, playing, run_task
from looseleaf import Trajectory
from looseleaf.adapters.inspect_ai import make_task
from looseleaf.adapters.inspect_score import SCORE_NAME, TRAJECTORY_KEY, trajectory_of
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import named_protocol
from looseleaf.reward import AnswerOnlyReward, AWMReward, stored_outcomes
from looseleaf.reward.stored import score_rows
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run
from parity_files import Files, parity_files, run_config, script_file
from parity_world import REFUSED, SCRIPT, assert_same
from stub_server import Request, Response, StubServer, call, completion

pytestmark = [pytest.mark.filterwarnings(line) for line in NOISE]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return parity_files(tmp_path_factory.mktemp("parity"))


@pytest.fixture(scope="module")
def own_run(files: Files) -> Run:
    """The script through the own runner, scored."""
    folder = files.docs.parent
    policy = RoleSpec(backend="scripted", argument=str(script_file(folder, SCRIPT)))
    run = execute(run_config(files, policy=policy), folder / "RUN").run
    score_run(run, ScoreConfig())
    return run


@pytest.fixture(scope="module")
def log(files: Files) -> EvalLog:
    """The script through Inspect."""
    return run_task(make_task(files.data), playing(SCRIPT), files.docs.parent / "logs")


def trajectory_in(log: EvalLog) -> Trajectory:
    found = trajectory_of((log.samples or [])[0].store[TRAJECTORY_KEY])
    assert found is not None
    return found


def test_the_trajectory_is_that_of_the_own_loop_and_of_the_own_runner(
    tmp_path: Path, own_run: Run, log: EvalLog
) -> None:
    assert log.status == "success", log.error
    through_inspect = trajectory_in(log)
    assert_same(through_inspect, own_run.trajectories()["mini:0#0"])
    assert_same(through_inspect, parity_world.expected(parity_world.make_world(tmp_path)))
    assert tuple(step.turn for step in through_inspect.steps if step.invalid) == REFUSED


def test_scores_cell_and_rewards_are_those_of_the_own_runner(own_run: Run, log: EvalLog) -> None:
    score = (log.samples or [])[0].scores[SCORE_NAME]
    rows = {row.target: row for row in score_rows(own_run, own_run.manifest["score"]["score_id"])}
    outcome = stored_outcomes(own_run)["mini:0#0"]
    assert (
        score.value == {target: row.value for target, row in rows.items()} == {"answer": 1.0, "memory": 1.0}
    )
    assert score.metadata["rewards"] == {
        reward.label: reward.value(outcome) for reward in (AWMReward(), AnswerOnlyReward())
    }
    assert score.metadata["rewards"]["awm(2, 0, -0.1, -1)"] == 2.0
    assert score.metadata["outcome_cell"] == "11"
    assert score.metadata["memory_answers"] is True
    for target in ("answer", "memory"):
        stored = score.metadata["scores"][target]
        assert (stored["prediction"], stored["value"]) == (rows[target].prediction, rows[target].value)


# -- what reaches a server -------------------------------------------------------------------------------------


def scripted_server(request: Request) -> Response:
    """Plays the script as a policy, and a short answer as a reader or extractor."""
    action = SCRIPT[request.turn - 1]
    return call(action.name, **action.arguments)


@pytest.fixture(scope="module")
def own_requests(files: Files) -> list[Any]:
    """What our own client sends."""
    with StubServer(scripted_server) as stub:
        policy = RoleSpec(
            backend="openai",
            argument="stub-model",
            options={"base_url": stub.base_url, "cache": False, "key_env": "STUB_API_KEY"},
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STUB_API_KEY", "none")
            execute(run_config(files, policy=policy), files.docs.parent / "RUN-server")
        return [request.json for request in stub.log.chats]


PROVIDERS = {
    "openai-api/stub/stub-model": {"strict_tools": False},
    "openai/gpt-4o": {"responses_api": False},
}
"""Inspect's provider for compatible servers, and the one for OpenAI itself, with what they add of their own switched
off: the former marks tools as strict."""


@pytest.fixture(params=list(PROVIDERS))
def inspect_requests(
    request: pytest.FixtureRequest, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Any]]:
    """What Inspect's providers send: the one for compatible servers, and the one for OpenAI itself."""
    with StubServer(scripted_server) as stub:
        options: dict[str, Any] = PROVIDERS[request.param]
        model = get_model(request.param, memoize=False, base_url=stub.base_url, api_key="none", **options)
        log = run_task(make_task(files.data), model, tmp_path)
        assert log.status == "success", log.error
        assert_same(trajectory_in(log), parity_world.expected(parity_world.make_world(tmp_path)))
        yield [chat.json for chat in stub.log.chats]


WRITTEN = {
    "alden": (
        "<think>I look for Lima.</think>\n<search>stations in Lima</search>",
        "<think>Page 3 says it.</think>\n<answer>\\boxed{12}</answer>",
    ),
    "rag": ("12",),
    "direct": ("12",),
}
"""What a model writes under protocols without tool calls."""


@pytest.mark.parametrize("protocol", list(WRITTEN))
def test_protocols_without_tool_calls_reach_a_server_alike(
    files: Files, tmp_path: Path, protocol: str
) -> None:
    """Tags with their reasoning, which Inspect takes out of the text, and pages that come with the question."""

    def write(request: Request) -> Response:
        return completion(WRITTEN[protocol][request.turn - 1])

    with StubServer(write) as own, StubServer(write) as other:
        policy = RoleSpec(
            backend="openai", argument="stub-model", options={"base_url": own.base_url, "cache": False}
        )
        config = run_config(files, policy=policy, protocol=named_protocol(protocol))
        run = execute(config, tmp_path / "RUN").run
        model = get_model(
            "openai-api/stub/stub-model", memoize=False, base_url=other.base_url, api_key="none"
        )
        log = run_task(make_task(files.data, protocol=protocol), model, tmp_path)
        requests = [[chat.json for chat in stub.log.chats] for stub in (own, other)]
    assert_same(trajectory_in(log), run.trajectories()["mini:0#0"])
    assert [step.model_text for step in trajectory_in(log).steps if step.turn] == list(WRITTEN[protocol])
    ours, theirs = (
        [[words_and_images(message) for message in body["messages"]] for body in bodies]
        for bodies in requests
    )
    assert ours == theirs
    assert any(isinstance(part, bytes) for message in theirs[-1] for part in message[1])


def words_and_images(message: dict[str, Any]) -> tuple[Any, ...]:
    """Who speaks, what, the images as bytes, and the calls; without spellings that mean the same."""
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    calls = [
        (one["id"], one["function"]["name"], json.loads(one["function"]["arguments"]))
        for one in message.get("tool_calls") or ()
    ]
    return message["role"], [_part(part) for part in parts], calls, message.get("tool_call_id")


def _part(part: dict[str, Any]) -> str | bytes:
    if part["type"] == "text":
        return str(part["text"])
    head, _, data = part["image_url"]["url"].partition(",")
    assert head == "data:image/jpeg;base64"
    assert part["image_url"].get("detail", "auto") == "auto"
    return base64.b64decode(data)


def tools_of(body: dict[str, Any]) -> list[Any]:
    """Tool definitions; one that says it is not strict says what one that says nothing means."""
    functions = [tool["function"] for tool in body["tools"]]
    assert not any(function.get("strict") for function in functions)
    return [{name: value for name, value in one.items() if name != "strict"} for one in functions]


SHOWN = 4
"""Page images in the last request: three pages of the search and one that was fetched."""


def test_the_same_messages_images_and_tools_reach_an_openai_compatible_server(
    own_requests: list[Any], inspect_requests: list[Any]
) -> None:
    assert len(inspect_requests) == len(own_requests) == len(SCRIPT)
    for ours, theirs in zip(own_requests, inspect_requests, strict=True):
        assert [words_and_images(one) for one in theirs["messages"]] == [
            words_and_images(one) for one in ours["messages"]
        ]
        assert tools_of(theirs) == tools_of(ours)
        assert theirs["temperature"] == ours["temperature"]
    images = [
        (message["role"], part)
        for message in inspect_requests[-1]["messages"]
        for part in words_and_images(message)[1]
        if isinstance(part, bytes)
    ]
    assert len(images) == SHOWN
    assert {role for role, _ in images} == {"user"}
    assert all(jpeg.startswith(b"\xff\xd8\xff") for _, jpeg in images)


def test_the_page_follows_its_own_line_and_no_tool_message_holds_an_image(
    inspect_requests: list[Any],
) -> None:
    """Inspect moves images of tool results into user messages of its own making; ours hold none to be moved."""
    messages = [words_and_images(one) for one in inspect_requests[-1]["messages"]]
    for role, parts, _, _ in messages:
        assert role == "user" or not any(isinstance(part, bytes) for part in parts)
        for line, image in itertools.pairwise(parts):
            if isinstance(image, bytes):
                assert re.fullmatch(r"Page \d+:", line)
