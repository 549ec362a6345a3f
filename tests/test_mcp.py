"""`looseleaf mcp`: sessions of an MCP client of the official SDK over standard input and output."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import Client, StdioServerParameters, stdio_client

import parity_world
from conftest import Cli, OwnSet
from looseleaf.adapters.desk import Desk, DeskOptions
from looseleaf.adapters.desk_questions import FreeQuestions
from looseleaf.adapters.mcp_server import make_server
from looseleaf.adapters.shelf import Shelf
from looseleaf.document import Document, PageStore
from looseleaf.errors import DataError, DocumentError, ProviderError
from looseleaf.memory import WorkingMemory
from looseleaf.metrics.stored import stored_rows
from looseleaf.metrics.table import evaluate_rows
from looseleaf.models.chat.actions import tool_definitions
from looseleaf.models.embedded import EmbeddedReader
from looseleaf.models.retrievers import retriever_maker
from looseleaf.protocol import PROTOCOLS, named_protocol
from looseleaf.roles import Reading
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run
from looseleaf.trajectory import StopReason
from parity_files import Files, parity_files
from parity_world import QUESTION, SCRIPT, assert_same

TIMEOUT = 120.0


def text_of(result: Any) -> str:
    """All words of a tool's result."""
    return "\n".join(part.text for part in result.content if part.type == "text")


def images_of(result: Any) -> list[bytes]:
    return [base64.b64decode(part.data) for part in result.content if part.type == "image"]


@asynccontextmanager
async def client_of(*arguments: object) -> AsyncIterator[Client]:
    """A client of `looseleaf mcp ARGUMENTS`, a process of its own."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "looseleaf", "mcp", *map(str, arguments)],
        env={name: os.environ[name] for name in ("LOOSELEAF_CACHE", "OMP_NUM_THREADS") if name in os.environ},
    )
    async with Client(stdio_client(server), read_timeout_seconds=TIMEOUT) as client:
        yield client


def session(work: Callable[[Client], Awaitable[None]], *arguments: object) -> None:
    async def run() -> None:
        async with client_of(*arguments) as client:
            await work(client)

    asyncio.run(run())


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return parity_files(tmp_path)


def test_a_client_asks_looks_notes_answers_and_gets_the_memory_verdict(files: Files, tmp_path: Path) -> None:
    """Over stdio; the recorded trajectory is that of the own loop, and it is scored like any other."""
    out = tmp_path / "RUN"

    async def work(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [
            "list_documents",
            "list_questions",
            "ask",
            "search",
            "fetch",
            "note",
            "answer",
            "check_memory",
        ]
        assert text_of(await client.call_tool("list_documents")) == "railway.pdf"
        assert f"mini:0 (railway.pdf): {QUESTION}" in text_of(await client.call_tool("list_questions"))
        rules = text_of(await client.call_tool("ask", {"question": "mini:0"}))
        assert "your next turn must be a note" in rules
        assert QUESTION in rules
        assert "Refused" in text_of(await client.call_tool("check_memory"))
        said = [await client.call_tool(action.name, action.arguments) for action in SCRIPT]
        assert len(images_of(said[0])) == 3
        assert images_of(said[5])[0].startswith(b"\xff\xd8\xff")
        assert "The city of Oslo has 7 stations." in text_of(said[5])
        assert "Turns left: 14." in text_of(said[0])
        verdict = text_of(said[-1])
        assert "Your answer is recorded." in verdict
        assert (
            "From the notes alone a reader answers: 12 (reader: embedded). That is not your answer word for word."
            in verdict
        )
        assert text_of(await client.call_tool("check_memory")) in verdict
        assert "0 of 1 questions are left" in text_of(await client.call_tool("list_questions"))
        assert "is answered" in text_of(await client.call_tool("ask", {"question": QUESTION}))

    session(work, files.docs, "--questions", files.questions, "--out", out)
    run = Run.open(out)
    (trajectory,) = run.trajectories().values()
    assert_same(trajectory, parity_world.expected(parity_world.make_world(tmp_path)))
    assert trajectory.run_id == run.manifest["run_id"]
    assert run.config["roles"]["policy"]["backend"] == "mcp"
    assert len(run.manifest["clients"]) == 1
    assert run.manifest["clients"][0].startswith("mcp ")
    scored = score_run(run, ScoreConfig())
    table = evaluate_rows(stored_rows(run, scored.score_id, scored.reading_ids[0]))
    assert (table["Acc"].value, table["Cell11"].value) == (1.0, 1.0)


def test_the_image_is_the_page_and_free_questions_are_recorded(own_set: OwnSet, tmp_path: Path) -> None:
    out = tmp_path / "RUN"

    async def work(client: Client) -> None:
        assert "list_questions" not in [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("ask", {"question": "Where is Bonn?", "document": "report_0.pdf"})
        fetched = await client.call_tool("fetch", {"page": 2})
        document = Document.open(own_set.docs / "report_0.pdf")
        assert document.image(2).width * document.image(2).height > 862_400
        (jpeg,) = images_of(fetched)
        assert 0.9 * 862_400 < pixels(jpeg) <= 862_400
        await client.call_tool("note", {"text": "Bonn is on the Rhine.", "source_page": 2})
        await client.call_tool("answer", {"text": "On the Rhine."})
        await client.call_tool("ask", {"question": "What is in both reports?"})
        found = await client.call_tool("search", {"query": "Lima"})
        assert "report_1.pdf, page 2" in text_of(found)

    session(work, own_set.docs, "--out", out)
    run = Run.open(out)
    first, second = run.trajectories().values()
    assert [question.doc_id for question in run.questions()] == ["report_0.pdf", "docs"]
    assert (first.trajectory_id, first.stop_reason) == ("asked:0#0", StopReason.ANSWERED)
    assert first.memory[0].text == "Bonn is on the Rhine."
    assert (second.trajectory_id, second.stop_reason) == ("asked:1#0", StopReason.CANCELLED)
    scored = score_run(run, ScoreConfig())
    assert {row.unscored for row in run.scores(scored.score_id).read()} == {"no_gold", "agent_fault"}


def pixels(jpeg: bytes) -> int:
    import io

    from PIL import Image

    with Image.open(io.BytesIO(jpeg)) as image:
        return image.width * image.height


# -- in this process: the same server without a pipe ------------------------------------------------------------


class FailingReader:
    def read(self, question: str, memory: WorkingMemory) -> Reading:
        raise ProviderError("The server is down.")


def in_process(
    folder: Path,
    store: PageStore,
    work: Callable[[Client], Awaitable[None]],
    *,
    protocol: str = "awm",
    reader: Any = None,
    **options: Any,
) -> Desk:
    """Let a client of the SDK work with a server in this process."""
    shelf = Shelf(folder, store)
    desk = Desk(
        shelf.names,
        FreeQuestions(shelf, retriever_maker("bm25")),
        reader or EmbeddedReader(),
        DeskOptions(protocol=named_protocol(protocol, **options)),
    )

    async def run() -> None:
        async with Client(make_server(desk)) as client:
            await work(client)

    asyncio.run(run())
    return desk


def test_the_actions_have_the_words_of_every_other_policy(files: Files, store: PageStore) -> None:
    async def work(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for definition in tool_definitions(PROTOCOLS["awm"]):
            function = definition["function"]
            assert tools[function["name"]].description == function["description"]
            assert tools[function["name"]].input_schema == function["parameters"]

    in_process(files.docs, store, work)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("search", {"query": "x"}, "No question is open"),
        ("check_memory", {}, "No question is open"),
        ("ask", {}, "The question is empty"),
        ("ask", {"question": "Why?", "document": "../railway.pdf"}, "no document '../railway.pdf'"),
        ("ask", {"question": "Why?", "document": "/etc/passwd"}, "no document '/etc/passwd'"),
        ("ask", {"question": "Why?", "document": {"a": 1}}, "no document"),
        ("list_questions", {}, "No question is open"),
    ],
)
def test_calls_without_an_open_question_are_answered_in_words(
    files: Files, store: PageStore, name: str, arguments: dict[str, Any], words: str
) -> None:
    async def work(client: Client) -> None:
        assert words in text_of(await client.call_tool(name, arguments))

    in_process(files.docs, store, work)


def test_bad_calls_are_observations_and_cost_a_turn(files: Files, store: PageStore) -> None:
    async def work(client: Client) -> None:
        await client.call_tool("ask", {"question": QUESTION})
        for turn, (name, arguments, words) in enumerate(
            [
                ("fetch", {"page": 77}, "There is no page 77"),
                ("fetch", {"page": "../../etc/passwd"}, "needs 'page'"),
                ("fetch", {}, "needs 'page'"),
                ("search", {"query": ["not", "text"]}, "needs 'query'"),
                ("note", {"text": "word " * 41, "source_page": 1}, "41 words"),
                ("open_file", {"path": "/etc/passwd"}, "There is no action 'open_file'"),
            ],
            start=1,
        ):
            said = await client.call_tool(name, arguments)
            assert words in text_of(said), name
            assert f"Turns left: {15 - turn}." in text_of(said)
            assert not said.is_error
        assert "still open" in text_of(await client.call_tool("ask", {"question": "Another one?"}))

    desk = in_process(files.docs, store, work)
    desk.close()
    assert desk._environment is not None
    assert desk._environment.trajectory().invalid_turns == 6


def test_a_spent_budget_ends_the_question_and_the_memory_is_still_read(
    files: Files, store: PageStore
) -> None:
    async def work(client: Client) -> None:
        await client.call_tool("ask", {"question": QUESTION})
        await client.call_tool("fetch", {"page": 3})
        said = await client.call_tool("note", {"text": "The city of Lima has 12 stations.", "source_page": 3})
        assert "Give your answer now." in text_of(said)
        ended = text_of(await client.call_tool("search", {"query": "Lima"}))
        assert "ended without an answer (turn_limit)" in ended
        assert "From the notes alone a reader answers: 12 (reader: embedded)." in ended
        assert "has ended" in text_of(await client.call_tool("answer", {"text": "12"}))

    in_process(files.docs, store, work, max_turns=3)


def test_notes_that_give_the_answer_are_said_to(files: Files, store: PageStore) -> None:
    async def work(client: Client) -> None:
        await client.call_tool("ask", {"question": QUESTION})
        await client.call_tool("fetch", {"page": 3})
        await client.call_tool("note", {"text": "The city of Lima has 12 stations.", "source_page": 3})
        said = text_of(await client.call_tool("answer", {"text": "12."}))
        assert "a reader answers: 12 (reader: embedded). That is your answer." in said

    in_process(files.docs, store, work)


def test_a_reader_that_fails_is_said_and_is_no_verdict(files: Files, store: PageStore) -> None:
    async def work(client: Client) -> None:
        await client.call_tool("ask", {"question": QUESTION})
        said = text_of(await client.call_tool("answer", {"text": "12"}))
        assert "The memory could not be checked: The server is down." in said

    in_process(files.docs, store, work, reader=FailingReader())


def test_a_protocol_that_shows_pages_first_shows_them_with_the_question(
    files: Files, store: PageStore
) -> None:
    async def work(client: Client) -> None:
        assert "search" not in [tool.name for tool in (await client.list_tools()).tools]
        assert len(images_of(await client.call_tool("ask", {"question": QUESTION}))) == 3
        assert text_of(await client.call_tool("answer", {"text": "12"})) == "Your answer is recorded."
        assert "no memory" in text_of(await client.call_tool("check_memory"))

    in_process(files.docs, store, work, protocol="rag")


# -- paths -----------------------------------------------------------------------------------------------------


def test_what_lies_outside_or_is_hidden_is_not_on_the_shelf(tmp_path: Path, store: PageStore) -> None:
    outside = tmp_path / "outside"
    (outside / "more").mkdir(parents=True)
    (outside / "secret.pdf").write_bytes(parity_world.pdf_bytes("secret"))
    (outside / "more" / "secret.pdf").write_bytes(parity_world.pdf_bytes("secret"))
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / ".git").mkdir()
    (tmp_path / "empty").mkdir()
    for name in ("a.pdf", "below/b.pdf", ".git/c.pdf", ".d.pdf"):
        (folder / name).write_bytes(parity_world.pdf_bytes("open"))
    (folder / "link.pdf").symlink_to(outside / "secret.pdf")
    (folder / "links").symlink_to(outside / "more")
    (folder / "inner.pdf").symlink_to(folder / "a.pdf")
    shelf = Shelf(folder, store)
    assert shelf.names == ("a.pdf", "below/b.pdf", "inner.pdf")
    assert shelf.open("below/b.pdf").doc_id == "below/b.pdf"
    assert shelf.open().page_count == 3
    for name in (
        "link.pdf",
        "links/secret.pdf",
        "../outside/secret.pdf",
        str(outside / "secret.pdf"),
        "below",
    ):
        with pytest.raises(DocumentError, match="There is no document"):
            shelf.open(name)
    with pytest.raises(DataError, match="is not a folder"):
        Shelf(folder / "a.pdf", store)
    with pytest.raises(DataError, match="holds no PDF"):
        Shelf(tmp_path / "empty", store)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--protocol", "ep-given"), "need annotated questions"),
        (("--reader", "none"), "no reader 'none'"),
        (("--questions", "missing.jsonl"), "missing.jsonl"),
    ],
)
def test_mistakes_are_one_sentence(cli: Cli, files: Files, options: tuple[str, ...], sentence: str) -> None:
    done = cli("mcp", files.docs, *options)
    assert done.code == 2
    assert sentence in done.err
    assert done.out == ""


def test_a_run_is_continued_only_under_the_same_settings(cli: Cli, files: Files, tmp_path: Path) -> None:
    out = tmp_path / "RUN"

    async def work(client: Client) -> None:
        await client.list_tools()

    session(work, files.docs, "--out", out)
    assert json.loads((out / "manifest.json").read_text(encoding="utf-8"))["protocol"] == "awm"
    done = cli("mcp", files.docs, "--out", out, "--max-turns", "3")
    assert done.code == 2
    assert "max_turns" in done.err
