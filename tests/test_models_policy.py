"""A chat model as the agent: conversations, action formats, page images and the rules by which they go."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from fakes import FakeDocument, FakeRetriever
from looseleaf.agent import run_agent
from looseleaf.document import PageImage
from looseleaf.environment import Environment
from looseleaf.models.chat.image_tokens import FAMILIES, family_of
from looseleaf.models.chat.images import OPENING_TOKEN_BUDGET, shrink
from looseleaf.models.prompts import VERSIONS, prompt_hashes, render_prompt
from looseleaf.models.registry import make_policy
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import PROTOCOLS, Protocol, named_protocol
from looseleaf.question import Question
from looseleaf.trajectory import StopReason, Trajectory
from stub_server import MODEL, Request, Response, StubServer, call, completion, error


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))


def jpeg(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(buffer, "JPEG")
    return buffer.getvalue()


class PictureDocument(FakeDocument):
    """Pages with an image each, as large as one likes."""

    def __init__(self, pages: int = 6, size: tuple[int, int] = (280, 560)) -> None:
        super().__init__([f"Text of page {page}." for page in range(1, pages + 1)])
        self.labels = ("i", "ii", *map(str, range(3, pages + 1)))
        self._size = size

    def image(self, page: int, *, dpi: int = 144, max_pixels: int | None = None) -> PageImage:
        self._check(page)
        self.images_asked.append((page, max_pixels))
        return PageImage(jpeg(*self._size), *self._size)


def play(
    answer: Callable[[Request], Response],
    protocol: Protocol,
    document: FakeDocument | None = None,
    **options: Any,
) -> tuple[Trajectory, list[Request]]:
    document = document or PictureDocument()
    retriever = FakeRetriever([1, 3, 4, 5, 6])
    question = Question(
        question_id="own:0",
        native_id="0",
        benchmark="own",
        split="",
        doc_id="fake.pdf",
        question="What is it?",
        references=(),
        answer_format="",
    )
    environment = Environment(question, document, retriever, protocol)  # type: ignore[arg-type]
    with StubServer(answer) as stub:
        policy = make_policy(RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url, **options))
        return asyncio.run(run_agent(policy, environment, seed=5)), stub.log.chats


def script(*responses: Response) -> Callable[[Request], Response]:
    return lambda request: responses[request.turn - 1]


def shape(request: Request) -> list[str]:
    """A conversation as `role: text, [image], text, …` lines, without the system message."""
    lines = []
    for message in request.json["messages"][1:]:
        content = message.get("content")
        if isinstance(content, list):
            content = " ".join(part.get("text", "[image]") for part in content)
        calls = "".join(f" {one['function']['name']}()" for one in message.get("tool_calls", ()))
        lines.append(f"{message['role']}: {content or ''}{calls}".replace("\n", " | "))
    return lines


AWM = PROTOCOLS["awm"]
ALDEN = PROTOCOLS["alden"]


def test_awm_with_tool_calls() -> None:
    trajectory, sent = play(
        script(
            call("search", query="it"),
            call("note", text="It is 4.", source_page=1),
            call("fetch", page=2),
            call("note", text="Nothing.", source_page=2),
            call("answer", text="4"),
        ),
        AWM,
    )
    assert trajectory.answer == "4"
    assert trajectory.invalid_turns == 0
    assert [finding.text for finding in trajectory.memory] == ["It is 4.", "Nothing."]
    assert trajectory.usage.calls == 5
    assert shape(sent[-1]) == [
        "user: The document has 6 pages. |  | Question: What is it?",
        "assistant: I look. search()",
        "tool: Pages 1, 3, 4: | Turns left: 14.",
        "user: Page 1 (printed number i): [image] Page 3: [image] Page 4: [image]",
        "assistant: I look. note()",
        "tool: Noted. | Turns left: 13.",
        "assistant: I look. fetch()",
        "tool: Page 2: | Turns left: 12.",
        "user: Page 2 (printed number ii): [image]",
        "assistant: I look. note()",
        "tool: Noted. | Turns left: 11.",
    ]
    assert [tool["function"]["name"] for tool in sent[0].json["tools"]] == [
        "search",
        "fetch",
        "note",
        "answer",
    ]
    assert sent[0].json["seed"] == 5
    answered = [message["tool_call_id"] for message in sent[-1].json["messages"] if message["role"] == "tool"]
    made = [
        message["tool_calls"][0]["id"] for message in sent[-1].json["messages"] if "tool_calls" in message
    ]
    assert answered == made == ["call00001", "call00002", "call00003", "call00004"]


def test_alden_with_tags() -> None:
    trajectory, sent = play(
        script(
            completion("<think>a</think><search>it</search>"),
            completion("<think>b</think><fetch>2-th</fetch>"),
            completion("<think>c</think><answer>\\boxed{4}</answer>"),
        ),
        ALDEN,
    )
    assert trajectory.answer == "4"
    assert [step.thought for step in trajectory.steps] == ["a", "b", "c"]
    assert shape(sent[-1])[1:] == [
        "assistant: <think>a</think><search>it</search>",
        "user: <result> | Pages 1, 3, 4: | Turns left: 5. Page 1 (printed number i): [image] Page 3: [image] Page 4: "
        "[image] </result>",
        "assistant: <think>b</think><fetch>2-th</fetch>",
        "user: <result> | Page 2: | Turns left: 4. Page 2 (printed number ii): [image] </result>",
    ]
    assert "tools" not in sent[0].json
    assert "<search>" in sent[0].json["messages"][0]["content"]


def test_notes_ride_in_alden_with_memory_on() -> None:
    trajectory, _ = play(
        script(
            completion("<search>it</search>"),
            completion('<think>t</think><note page="3">It is 4.</note><fetch>2</fetch>'),
            completion("<answer>4</answer>"),
        ),
        named_protocol("alden", memory="optional"),
    )
    assert [(finding.text, finding.source_page) for finding in trajectory.memory] == [("It is 4.", 3)]


def test_json_by_schema_and_the_same_without_one() -> None:
    replies = [
        completion('{"thought": "t", "call": {"action": "search", "query": "it"}}'),
        completion('{"thought": "t", "call": {"action": "note", "text": "It is 4.", "source_page": 1}}'),
        completion('{"thought": "t", "call": {"action": "answer", "text": "4"}}'),
    ]
    with_schema, sent = play(script(*replies), AWM, actions="json")
    assert with_schema.answer == "4"
    schema = sent[0].json["response_format"]["json_schema"]
    assert schema["strict"] is True
    calls = schema["schema"]["properties"]["call"]["anyOf"]
    assert [one["properties"]["action"]["enum"] for one in calls] == [
        ["search"],
        ["fetch"],
        ["note"],
        ["answer"],
    ]
    assert [line.partition(":")[0] for line in shape(sent[-1])] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]

    def refuse(request: Request) -> Response:
        if "response_format" in request.json:
            return error(422, "Unsupported fields in the request: {'response_format'}")
        return script(*replies)(request)

    without, sent = play(refuse, AWM, actions="json")
    assert without.answer == "4"
    assert sum("response_format" in request.json for request in sent) == 1


def test_a_server_without_tools_gets_json_instead() -> None:
    def answer(request: Request) -> Response:
        if "tools" in request.json:
            return error(400, "this model does not support tools")
        return completion('{"thought": "t", "call": {"action": "answer", "text": "4"}}')

    trajectory, sent = play(answer, AWM)
    assert trajectory.answer == "4"
    assert '"call"' in sent[-1].json["messages"][0]["content"]
    insisting, _ = play(answer, AWM, actions="tools")
    assert insisting.stop_reason is StopReason.PROVIDER_ERROR
    assert 'use actions = "json"' in str(insisting.error)


GARBAGE = [
    "",
    "<|image_pad|>" * 50,
    "lorem ipsum",
    "\ud800",
    '{"action":',
    "<search></search>",
    '{"action": "fly"}',
]


@pytest.mark.parametrize("text", GARBAGE)
@pytest.mark.parametrize("actions", ["tools", "tags", "json"])
def test_garbage_is_an_invalid_turn_and_no_error(text: str, actions: str) -> None:
    trajectory, _ = play(
        lambda request: completion(text), named_protocol("awm", max_turns=3), actions=actions
    )
    assert trajectory.stop_reason is StopReason.TURN_LIMIT
    assert trajectory.error is None
    assert trajectory.turns == trajectory.invalid_turns == 3


def test_garbage_ends_an_alden_trajectory() -> None:
    trajectory, _ = play(lambda request: completion("lorem ipsum"), ALDEN)
    assert trajectory.stop_reason is StopReason.MALFORMED
    assert trajectory.turns == 1


def test_a_malformed_turn_stays_in_the_conversation_as_the_model_said_it() -> None:
    _, sent = play(script(completion(""), completion("hm"), call("answer", text="4")), AWM)
    assert shape(sent[-1])[1:] == [
        "assistant: (nothing)",
        "user: Malformed: The reply was empty. Give exactly one of: search, fetch, note, answer. | Turns left: 14.",
        "assistant: hm",
        "user: Malformed: There is no tool call that can be read. Give exactly one of: search, fetch, note, answer. | "
        "Turns left: 13.",
    ]


def test_an_overflow_ends_the_trajectory_and_is_no_fault() -> None:
    def answer(request: Request) -> Response:
        if request.images:
            return error(
                400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"
            )
        return call("search", query="it")

    trajectory, _ = play(answer, AWM)
    assert trajectory.stop_reason is StopReason.CONTEXT_OVERFLOW
    assert not trajectory.stop_reason.is_fault


def test_an_outage_is_a_fault() -> None:
    trajectory, _ = play(lambda request: error(401, "no"), AWM)
    assert trajectory.stop_reason is StopReason.PROVIDER_ERROR
    assert "refuses requests without a key" in str(trajectory.error)


def test_only_the_newest_images_are_kept() -> None:
    _, sent = play(
        script(
            call("search", query="it"),
            call("note", text="n", source_page=1),
            call("fetch", page=2),
            call("note", text="n", source_page=2),
            call("answer", text="4"),
        ),
        AWM,
        images_kept=2,
    )
    assert [request.images for request in sent] == [0, 2, 2, 2, 2]
    pages = [line for line in shape(sent[-1]) if line.startswith("user: Page ")]
    assert pages == [
        "user: Page 1 (printed number i): (image no longer in this conversation) Page 3: (image no longer in this "
        "conversation) Page 4: [image]",
        "user: Page 2 (printed number ii): [image]",
    ]


@pytest.mark.parametrize(
    ("pages", "images", "text"), [("images", 3, False), ("text", 0, True), ("both", 3, True)]
)
def test_a_page_is_its_image_its_text_or_both(pages: str, images: int, text: bool) -> None:
    _, sent = play(
        script(call("search", query="it"), call("note", text="n", source_page=1), call("answer", text="4")),
        AWM,
        pages=pages,
        text_chars=14,
    )
    assert sent[-1].images == images
    assert ("Text of page 1 … (cut)" in sent[-1].body.decode()) == text


def test_every_page_is_encoded_once() -> None:
    document = PictureDocument()
    turns = [call("fetch", page=1), call("note", text="n", source_page=1)] * 3
    play(script(*turns, call("answer", text="4")), AWM, document)
    assert document.images_asked == [(1, None)]


def image_sizes(request: Request) -> list[tuple[int, int]]:
    found = re.findall(r"base64,([^\"]+)", request.body.decode())
    return [Image.open(io.BytesIO(base64.b64decode(data))).size for data in found]


def test_pages_can_be_made_smaller() -> None:
    turns = script(call("fetch", page=1), call("note", text="n", source_page=1), call("answer", text="4"))
    assert image_sizes(play(turns, AWM)[1][-1]) == [(280, 560)]
    assert image_sizes(play(turns, AWM, max_image_side=280)[1][-1]) == [(140, 280)]
    [(width, height)] = image_sizes(play(turns, AWM, max_image_pixels=10_000)[1][-1])
    assert width * height <= 10_000
    assert height / width == pytest.approx(2, rel=0.05)


def test_direct_shows_all_pages_within_a_token_budget() -> None:
    document = PictureDocument(pages=10, size=(1224, 1584))
    trajectory, sent = play(
        lambda request: completion("4"), PROTOCOLS["direct"], document, image_token_budget=2000
    )
    assert trajectory.answer == "4"
    assert trajectory.turns == 1
    sizes = image_sizes(sent[0])
    assert len(sizes) == 10
    tokens = [family_of(MODEL).tokens(*size) for size in sizes]
    assert 1800 <= sum(tokens) <= 2000
    assert "tools" not in sent[0].json
    assert OPENING_TOKEN_BUDGET == 96_000


def test_rag_shows_what_a_search_for_the_question_finds() -> None:
    trajectory, sent = play(lambda request: completion("4"), PROTOCOLS["rag"])
    assert trajectory.answer == "4"
    assert trajectory.shown_pages == (1, 3, 4)
    assert sent[0].images == 3


# -- image tokens ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", (868, 980), 31 * 35),
        ("Qwen/Qwen3-VL-4B-Instruct", (1024, 1280), 32 * 40),
        ("gpt-4o-2024-08-06", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-4.1-mini", (1024, 1024), 1659),
        ("claude-sonnet-4", (1092, 1092), 1590),
        ("gemini-2.5-flash", (300, 300), 258),
        ("gemini-2.5-flash", (1536, 768), 516),
        ("OpenGVLab/InternVL3-8B", (896, 896), 256 * 5),
    ],
)
def test_image_tokens_by_family(model: str, size: tuple[int, int], tokens: int) -> None:
    """OpenAI's and Anthropic's figures are the examples of their own guides."""
    assert family_of(model).tokens(*size) == tokens


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_a_budget_in_tokens_becomes_one_in_pixels(family: Any) -> None:
    pixels = family.pixels(1100)
    side = int(pixels**0.5)
    assert family.tokens(side, side) <= 1100 * 1.35


def test_an_image_that_fits_is_left_alone() -> None:
    image = PageImage(jpeg(10, 10), 10, 10)
    assert shrink(image, 100, 10) is image


# -- prompts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS.keys())
@pytest.mark.parametrize("actions", [None, "tools", "tags", "json"])
def test_every_protocol_can_be_printed(protocol: Protocol, actions: Any) -> None:
    text = render_prompt(protocol, "What does $5 buy?", 12, actions)
    assert "What does $5 buy?" in text
    assert "12 pages" in text
    assert not re.search(r"\$[a-z_]+", text)
    assert "\n\n\n" not in text


def test_every_prompt_is_hashed() -> None:
    hashes = prompt_hashes()
    assert set(hashes) == {f"{name}.v{version}.md" for name, version in VERSIONS.items()} | {
        "actions.v1.toml",
        "extractor",
    }
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in hashes.values())


def test_ones_own_prompt_is_hashed_too(tmp_path: Path) -> None:
    own = tmp_path / "mine.md"
    own.write_text("$actions")
    assert set(prompt_hashes(str(own))) - set(prompt_hashes()) == {str(own)}


def test_tool_definitions_follow_the_protocol() -> None:
    _, sent = play(
        script(call("answer", text="4")), named_protocol("alden", memory="optional"), actions="tools"
    )
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in sent[0].json["tools"]}
    assert list(tools) == ["search", "fetch", "answer"]
    assert all("notes" in parameters["properties"] for parameters in tools.values())
    json.dumps(tools)
