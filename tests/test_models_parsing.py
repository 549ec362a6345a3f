"""What models say becomes turns, whatever they say."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.models.chat.parsing import parse_turn, spoken_text, unboxed
from looseleaf.models.chat.reply import Reply, ReplyError, ToolCall, read_reply
from looseleaf.models.prompts import ActionFormat
from looseleaf.roles import Action, NoteWriting, PolicyTurn, Usage


def reply(text: str = "", *calls: tuple[str, Any], cut_off: bool = False, reasoning: str = "") -> Reply:
    return Reply(text, reasoning, tuple(ToolCall(*call) for call in calls), cut_off, Usage(), 0)


def turn(
    actions: ActionFormat, text: str = "", *calls: tuple[str, Any], ride: bool = False, **more: Any
) -> PolicyTurn:
    return parse_turn(reply(text, *calls, **more), actions, ride=ride, usage=Usage(1, 2, 1))


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("<think>where</think> <search>net revenue 2020</search>", Action.search("net revenue 2020")),
        ("<think>\nTwo lines\n</think>\n\n<fetch>7</fetch>", Action.fetch(7)),
        ("<think>as ALDEN writes it</think><fetch> 7-th </fetch>", Action.fetch(7)),
        ("<fetch>page 12</fetch>", Action.fetch(12)),
        ("<fetch>the next one</fetch>", Action("fetch", {"page": "the next one"})),
        ("<think>t</think><answer>It is \\boxed{4.7 %} there.</answer>", Action.answer("4.7 %")),
        ("<answer>\\boxed{1}; no, \\boxed{\\frac{1}{2}}</answer>", Action.answer("\\frac{1}{2}")),
        ("<answer>plain</answer>", Action.answer("plain")),
        ('<think>x</think><note page="3">The rate is 4.7 %.</note>', Action.note("The rate is 4.7 %.", 3)),
        ("the template opened it</think><search>a</search>", Action.search("a")),
        ("<think>I could <search>this</search></think><fetch>2</fetch>", Action.fetch(2)),
        ("<search>a</search>\n<result>invented</result>", Action.search("a")),
    ],
)
def test_tags(text: str, action: Action) -> None:
    parsed = turn("tags", text)
    assert parsed.action == action
    assert parsed.problem == ""
    assert parsed.model_text == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "The reply was empty."),
        ("I think the answer is 4.", "There is no action tag."),
        ("<search>a</search><search>b</search>", "There are 2 actions in one turn."),
        ('<note page="1">n</note><answer>4</answer>', "There are 2 actions in one turn."),
        ("<think>never closed <search>a</search>", "There is no action tag."),
        ("<search>never closed", "There is no action tag."),
        ("<note page='seven'>n</note>", "There is no action tag."),
    ],
)
def test_tags_that_are_malformed(text: str, problem: str) -> None:
    parsed = turn("tags", text)
    assert parsed.action is None
    assert parsed.problem == problem
    assert parsed.model_text == text


def test_a_cut_off_reply_says_so() -> None:
    assert "cut off" in turn("tags", "<think>and on and on", cut_off=True).problem


def test_notes_ride_inside_a_turn_only_where_they_may() -> None:
    text = '<think>t</think><note page="4">first</note><note page=5>second</note><search>more</search>'
    riding = turn("tags", text, ride=True)
    assert riding.action == Action.search("more")
    assert riding.notes == (NoteWriting("first", 4), NoteWriting("second", 5))
    assert turn("tags", text).action is None


def test_a_tool_call() -> None:
    parsed = turn("tools", "I look at it.", ("note", '{"text": "4.7 %", "source_page": 3}'))
    assert parsed.action == Action.note("4.7 %", 3)
    assert parsed.thought == "I look at it."
    assert parsed.usage == Usage(1, 2, 1)
    assert "note" in parsed.model_text
    assert "4.7 %" in parsed.model_text


def test_arguments_that_are_an_object_already() -> None:
    assert turn("tools", "", ("fetch", {"page": 3})).action == Action.fetch(3)


def test_a_tool_call_that_a_server_left_in_the_text() -> None:
    text = '<think>t</think><tool_call>\n{"name": "search", "arguments": {"query": "rate"}}\n</tool_call>'
    assert turn("tools", text).action == Action.search("rate")


@pytest.mark.parametrize("arguments", ["{", "[1]", "null", '"text"', "\x00", 7, [1]])
def test_arguments_that_cannot_be_read_make_a_malformed_turn(arguments: Any) -> None:
    parsed = turn("tools", "", ("search", arguments))
    assert parsed.action is None
    assert parsed.problem


def test_two_tool_calls_in_one_turn_are_malformed() -> None:
    parsed = turn("tools", "", ("fetch", '{"page": 1}'), ("fetch", '{"page": 2}'))
    assert parsed.action is None
    assert parsed.problem == "There are 2 actions in one turn."


def test_notes_ride_in_tool_arguments() -> None:
    arguments = {"query": "q", "notes": [{"text": "n", "source_page": 2}, "not a note", {"text": 3}]}
    parsed = turn("tools", "", ("search", json.dumps(arguments)), ride=True)
    assert parsed.action == Action.search("q")
    assert parsed.notes == (NoteWriting("n", 2), NoteWriting("3", 0))


@pytest.mark.parametrize(
    "text",
    [
        '{"thought": "t", "call": {"action": "fetch", "page": 3}}',
        '```json\n{"thought": "t", "call": {"action": "fetch", "page": 3}}\n```',
        '{"thought": "t", "action": "fetch", "page": 3}',
        '{"thought": "t", "action": "fetch", "arguments": {"page": 3}}',
        '{"thought": "t", "name": "fetch", "parameters": {"page": 3}}',
        '{"thought": "t", "action": {"name": "fetch", "arguments": {"page": 3}}, "arguments": {"page": 3}}',
        'Let me {see}: {"thought": "t", "action": "fetch", "arguments": "{\\"page\\": 3}"}',
        '<think>long</think>{"thought": "t", "call": {"action": "fetch", "page": 3}}',
    ],
)
def test_json_in_the_forms_that_models_give_it(text: str) -> None:
    parsed = turn("json", text)
    assert parsed.action == Action.fetch(3)
    assert parsed.thought in {"t", "long"}


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 5000, '{"a":' * 50_000, "{}", "[]", '{"action": 3}'])
def test_json_without_an_action(text: str) -> None:
    assert turn("json", text).action is None


def test_plain_text_is_the_answer() -> None:
    assert turn("text", "<think>hm</think> 4.7 % ").action == Action.answer("4.7 %")
    assert turn("text", "<think>hm</think> ").action is None


def test_what_no_record_can_hold_is_made_storable() -> None:
    arguments = (
        '{"page": 123456789012345678901234567890, "q": "\\ud800", "x": 1e999, "deep": '
        + "[" * 50
        + "]" * 50
        + "}"
    )
    parsed = turn("tools", "\ud800", ("fetch", arguments))
    assert parsed.action is not None
    assert isinstance(parsed.action.arguments["page"], str)
    assert msgspec.json.decode(msgspec.json.encode(parsed), type=PolicyTurn) == parsed


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_fragments = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<search>",
        "</search>",
        "<fetch>",
        "</fetch>",
        "<answer>",
        "</answer>",
        '<note page="2">',
        "</note>",
        "\\boxed{",
        "}",
        '{"action":',
        '"call":',
        '"arguments":',
        "7",
        "\ud83d",
        "\x00",
    ]
)


@given(
    st.sampled_from(["tools", "tags", "json", "text"]),
    st.lists(_fragments | st.text(st.characters(), max_size=8), max_size=12).map("".join),
    st.lists(
        st.tuples(
            st.sampled_from(["search", "fetch", "note", "answer", ""]) | st.text(max_size=5),
            _json.map(json.dumps) | _json | st.text(),
        ),
        max_size=2,
    ),
    st.booleans(),
)
def test_anything_becomes_a_turn_that_can_be_stored(
    actions: ActionFormat, text: str, calls: list[tuple[str, Any]], ride: bool
) -> None:
    parsed = turn(actions, text, *calls, ride=ride)
    assert (parsed.action is None) == bool(parsed.problem)
    msgspec.json.decode(msgspec.json.encode(parsed), type=PolicyTurn)


def test_the_last_box_counts() -> None:
    assert unboxed("\\boxed{a} and \\boxed{b{c}}") == "b{c}"
    assert unboxed("\\boxed{never closed") == "\\boxed{never closed"


# -- replies ---------------------------------------------------------------------------------------------------


def body(**message: Any) -> bytes:
    choice = {"message": {"role": "assistant"} | message, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}).encode()


def test_a_reply_and_its_usage() -> None:
    read = read_reply(body(content="hello", reasoning_content="why"))
    assert read.text == "hello"
    assert read.reasoning == "why"
    assert read.usage == Usage(3, 4, 1)


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "refusal": "I would rather not."},
        {"content": [{"type": "text", "text": "I would rather"}, {"type": "text", "text": " not."}]},
    ],
)
def test_text_wherever_servers_put_it(message: dict[str, Any]) -> None:
    assert read_reply(body(**message)).text == "I would rather not."


def test_a_reply_with_broken_text_is_read_all_the_same() -> None:
    lone = body(content="x").replace(b'"x"', b'"a\\ud800b"')
    assert spoken_text(read_reply(lone)) == "a?b"
    assert read_reply(body(content="x").replace(b'"x"', b'"\xff"')).text == "\ufffd"


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"<html>busy</html>",
        body(content="hello")[:40],
        b'{"choices": []}',
        b'{"choices": [{"message": null}]}',
        b'{"object": "list"}',
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_completion(broken: bytes) -> None:
    with pytest.raises(ReplyError):
        read_reply(broken)


def test_an_error_with_status_200_is_an_error() -> None:
    with pytest.raises(ReplyError) as caught:
        read_reply(b'{"error": {"message": "overloaded", "code": 502}}')
    assert caught.value.error == {"message": "overloaded", "code": 502}


@pytest.mark.parametrize(
    "piece", ["<search>", '<note page="1">', "<think>", "\\boxed{", "{", '{"a":', "[", "<tool_call>"]
)
@pytest.mark.parametrize("actions", ["tags", "json", "tools"])
def test_endless_openings_take_no_time(piece: str, actions: ActionFormat) -> None:
    start = time.process_time()
    assert turn(actions, piece * 20_000).action is None
    assert time.process_time() - start < 2.0
