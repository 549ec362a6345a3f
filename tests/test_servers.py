"""Several servers behind one role: nothing lost and nothing twice when one dies, and a document keeps its server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from fakes import pdf_bytes
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError, ProviderError, RunError
from looseleaf.models.chat import servers
from looseleaf.models.chat.client import ChatClient
from looseleaf.models.chat.keys import Key
from looseleaf.models.chat.make import chat_client
from looseleaf.models.chat.message import Message, TextPart
from looseleaf.models.chat.options import OPENAI_URL
from looseleaf.models.chat.sampling import about
from looseleaf.models.chat.server import ServerError
from looseleaf.models.chat.servers import ChatServers
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import named_protocol
from looseleaf.runner.config import DataConfig, RunConfig
from looseleaf.runner.execute import RunOutcome, execute
from stub_server import MODEL, SIX_TURNS, Faults, Request, Response, StubServer, agent, completion, error

DEAD = "http://127.0.0.1:9/v1"
DOCUMENTS = 6
CONCURRENCY = 8
HELLO = [Message("user", (TextPart("hello"),))]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("looseleaf.models.chat.backoff.FIRST_WAIT", 0.01)


def questions_over_documents(folder: Path, count: int) -> tuple[Path, Path]:
    docs = folder / "docs"
    docs.mkdir()
    pages = [f"On page {n} the total revenue in the table is {n}. Other pages hold a chart." for n in (1, 2)]
    for number in range(DOCUMENTS):
        (docs / f"report_{number}.pdf").write_bytes(pdf_bytes(f"Report {number}.", *pages))
    rows = [
        {
            "document": f"report_{n * DOCUMENTS // count}.pdf",
            "question": f"What is value {n}?",
            "answer": "42",
        }
        for n in range(count)
    ]
    questions = folder / "many.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return questions, docs


def config_of(made: tuple[Path, Path], urls: list[str], **options: Any) -> RunConfig:
    spec = RoleSpec.parse(f"openai:{MODEL}", base_urls=urls, max_image_side=64, **options)
    return RunConfig(
        data=DataConfig(benchmark=str(made[0]), path=str(made[1])),
        policy=spec,
        protocol=named_protocol("awm", max_turns=len(SIX_TURNS)),
        concurrency=CONCURRENCY,
    )


class DyingServer(StubServer):
    """Plays the agent until it has answered so often, and then goes down, connections and all."""

    def __init__(self, after: int) -> None:
        super().__init__(self._play, delay=0.005)
        self._left = after

    def _play(self, request: Request) -> Response:
        self._left -= 1
        if self._left == 0:
            self._stop.set()
        return agent(request)

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        assert self._loop.is_closed(), "it should have died by itself"


def check_whole(out: Path, count: int, *stubs: StubServer, may_be_lost: int = 0) -> None:
    """Every question is there once, and every call was answered once.

    Args:
        out: the run.
        count: questions.
        stubs: who answered.
        may_be_lost: answers at most that a server wrote while it died: they may not have arrived and been asked for
            again, or have arrived before the server counted them.
    """
    rows = [json.loads(line) for line in (out / "trajectories.jsonl").read_bytes().splitlines()]
    assert Counter(row["trajectory_id"] for row in rows) == {f"many:{n}#0": 1 for n in range(count)}
    assert {row["stop_reason"] for row in rows} == {"answered"}
    answered = sum((stub.log.whole for stub in stubs), Counter[str]())
    assert 0 <= count * len(SIX_TURNS) - len(answered) <= may_be_lost
    assert answered.total() - len(answered) <= may_be_lost, "a call was answered twice"


# -- a server dies in mid-run ----------------------------------------------------------------------------------


def test_one_of_two_servers_dies_and_no_question_is_lost_or_asked_twice(
    tmp_path: Path, store: PageStore
) -> None:
    count = 24
    made = questions_over_documents(tmp_path, count)
    dying = DyingServer(after=20)
    with dying, StubServer(delay=0.005) as living:
        urls = [dying.base_url, living.base_url]
        outcome = execute(config_of(made, urls, retries=1), tmp_path / "run", store=store)
    assert (outcome.finished_now, outcome.faults) == (count, 0)
    check_whole(tmp_path / "run", count, dying, living, may_be_lost=CONCURRENCY)
    told = outcome.run.manifest["last_session"]["servers"]
    assert list(told) == urls
    # An answer that was on its way when a connection was refused puts the server back once more.
    assert 1 <= told[urls[0]]["times_out"] <= CONCURRENCY
    lost = dying.log.whole.total() - told[urls[0]]["answered"]
    assert abs(lost) <= CONCURRENCY
    assert dying.log.whole.total() >= 20 - CONCURRENCY
    assert told[urls[1]]["answered"] == living.log.whole.total()
    assert sum(each["answered"] for each in told.values()) == count * len(SIX_TURNS)
    assert outcome.run.manifest["last_session"]["model_calls"]["retried"] == 0, "it went elsewhere at once"


def test_two_faulty_servers_lose_nothing(tmp_path: Path, store: PageStore) -> None:
    count = 12
    made = questions_over_documents(tmp_path, count)
    faults = Faults(too_many=0.1, server_error=0.1, reset=0.05, truncated=0.05)
    with StubServer(faults=faults, seed=1) as first, StubServer(faults=faults, seed=2) as second:
        config = config_of(made, [first.base_url, second.base_url], timeout=8.0)
        outcome = execute(config, tmp_path / "run", store=store)
    assert (outcome.finished_now, outcome.faults) == (count, 0)
    check_whole(tmp_path / "run", count, first, second)
    assert first.log.faults
    assert second.log.faults


def test_only_when_all_are_dead_it_is_an_outage(tmp_path: Path, store: PageStore) -> None:
    made = questions_over_documents(tmp_path, 6)
    out = tmp_path / "run"

    def session(urls: list[str]) -> RunOutcome:
        return execute(config_of(made, urls, retries=1), out, store=store)

    with StubServer() as alive:
        first = alive.base_url
    dead = session([first, DEAD])
    assert (dead.finished_now, dead.faults) == (0, 6)
    errors = {found.error for found in dead.run.trajectories().values()}
    assert all("did not answer" in str(each) and "/v1" in str(each) for each in errors)
    with StubServer() as spare:
        revived = session([first, spare.base_url])
        assert (revived.finished_now, revived.faults) == (6, 0)
        with pytest.raises(RunError, match="base_url"):
            session([spare.base_url])
    assert set(spare.log.whole.values()) == {1}


# -- which server ----------------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pool(*stubs: StubServer | str, timeout: float = 5.0, clock: Clock | None = None) -> ChatServers:
    urls = [stub if isinstance(stub, str) else stub.base_url for stub in stubs]
    return ChatServers(urls, Key("", "none"), timeout, clock=clock or Clock())


def ask(made: ChatServers, *documents: str) -> None:
    """One request after the other."""

    async def all_of_them() -> None:
        try:
            for document in documents:
                await made.post("/chat/completions", b"{}", document=document)
        finally:
            await made.close()

    asyncio.run(all_of_them())


def sent(made: ChatServers) -> list[int]:
    return [counts.sent for counts in made.counts.values()]


def say_hi(request: Request) -> Response:
    return completion("hi")


def test_a_document_keeps_its_server_and_documents_are_spread() -> None:
    with StubServer(say_hi) as first, StubServer(say_hi) as second, StubServer(say_hi) as third:
        names = [f"doc-{n}" for n in range(60)]
        once, again = pool(first, second, third), pool(third, first, second)
        ask(once, *names)
        assert min(sent(once)) >= 10
        ask(again, *names)
        by_url = {url: counts.sent for url, counts in again.counts.items()}
        assert by_url == {url: counts.sent for url, counts in once.counts.items()}, (
            "the order changes nothing"
        )
        one_document = pool(first, second, third)
        ask(one_document, *["doc-1"] * 20)
        assert sorted(sent(one_document)) == [0, 0, 20]


def test_a_server_that_leaves_takes_only_its_own_documents_along() -> None:
    everywhere = pool("http://a/v1", "http://b/v1", "http://c/v1")
    names = [f"doc-{n}" for n in range(50)]
    before = {name: everywhere._chosen(name, []).url for name in names}
    everywhere._members[0].out = True
    after = {name: everywhere._chosen(name, []).url for name in names}
    assert all(after[name] == before[name] for name in names if before[name] != "http://a/v1")
    assert {after[name] for name in names if before[name] == "http://a/v1"} == {"http://b/v1", "http://c/v1"}


def test_a_busy_server_spills_over_and_requests_without_a_document_go_where_least_is_done() -> None:
    made = pool("http://a/v1", "http://b/v1")
    own = made._chosen("doc", [])
    other = next(member for member in made._members if member is not own)
    for busy, less, expected in ((3, 0, own), (4, 0, other), (9, 4, own), (10, 4, other)):
        own.in_flight, other.in_flight = busy, less
        assert made._chosen("doc", []) is expected
    own.in_flight, other.in_flight = 2, 1
    assert made._chosen("", []) is other
    own.in_flight = other.in_flight = 0
    own.counts.sent = 1
    assert made._chosen("", []) is other


def test_the_policy_tells_which_document_its_questions_are_about() -> None:
    with StubServer(say_hi) as first, StubServer(say_hi) as second:
        spec = RoleSpec.parse(f"openai:{MODEL}", base_urls=[first.base_url, second.base_url], cache=False)
        client = chat_client("policy", spec)

        async def some() -> None:
            with about("doc-1"):
                for _ in range(8):
                    await client.complete(HELLO)
            await client.server.close()

        asyncio.run(some())
    assert sorted(len(stub.log.chats) for stub in (first, second)) == [0, 8]


# -- how servers are doing -------------------------------------------------------------------------------------


def own_document(made: ChatServers, place: int) -> str:
    """A document that belongs to the server at this place."""
    return next(
        name for name in map("doc-{}".format, range(99)) if made._chosen(name, []) is made._members[place]
    )


def test_a_server_is_out_after_three_strikes_and_back_once_a_probe_succeeds() -> None:
    clock, ill = Clock(), threading.Event()
    ill.set()

    def moody(request: Request) -> Response:
        return error(500, "out of order") if ill.is_set() else completion("hi")

    with StubServer(moody) as first, StubServer(say_hi) as second:
        made = pool(first, second, clock=clock)
        document = own_document(made, 0)
        for strike in range(1, servers.STRIKES + 1):
            ask(made, document)
            assert made._members[0].out == (strike == servers.STRIKES)
            clock.now += servers.REST_SECONDS
        assert sent(made) == [servers.STRIKES] * 2
        ask(made, document)
        assert sent(made) == [servers.STRIKES, servers.STRIKES + 1], "it is left alone"
        clock.now += servers.OUT_SECONDS
        ask(made, document)
        assert [request.path for request in first.log.requests][-1] == "/v1/models", (
            "no question is spent on it"
        )
        assert made._members[0].out
        ill.clear()
        clock.now += servers.OUT_SECONDS
        ask(made, document)
        assert sent(made) == [servers.STRIKES + 1, servers.STRIKES + 2]
        assert made.counts[first.base_url] == servers.ServerCounts(
            sent=servers.STRIKES + 1, answered=1, passed_on=servers.STRIKES, times_out=1
        )


def test_a_server_without_a_connection_is_out_at_once() -> None:
    with StubServer(say_hi) as living:
        made = pool(DEAD, living)
        ask(made, own_document(made, 0))
        assert made._members[0].out
        assert sent(made) == [1, 1]


def test_a_server_that_is_too_busy_rests_as_long_as_it_asks_and_is_not_ill() -> None:
    clock = Clock()

    def busy(request: Request) -> Response:
        return error(429, "slow down", **{"Retry-After": "7"})

    with StubServer(busy) as first, StubServer(say_hi) as second:
        made = pool(first, second, clock=clock)
        document = own_document(made, 0)
        ask(made, document, document)
        assert sent(made) == [1, 2]
        clock.now = 7.0
        ask(made, document)
        assert sent(made) == [2, 3]
        assert made._members[0].strikes == 0


def test_a_server_that_hangs_costs_one_timeout_and_the_next_attempt_goes_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(servers, "PROBE_SECONDS", 0.1)
    clock = Clock()
    with StubServer(say_hi, faults=Faults(hang=1.0)) as first, StubServer(say_hi) as second:
        made = pool(first, second, timeout=0.1, clock=clock)
        document = own_document(made, 0)
        with pytest.raises(ServerError, match="nothing within"):
            ask(made, document)
        ask(made, document)
        assert sent(made) == [1, 1]
        made._take_out(made._members[0])
        first.delay = 60.0
        clock.now += servers.OUT_SECONDS
        ask(made, document)
        assert made._members[0].out, "a probe that hangs says so too"


def test_what_a_request_has_of_itself_is_no_fault_of_the_server() -> None:
    with StubServer(lambda _: error(400, "unknown field")) as first, StubServer(say_hi) as second:
        made = pool(first, second)
        with pytest.raises(ServerError, match="unknown field") as caught:
            ask(made, own_document(made, 0))
        assert caught.value.fault.server == first.base_url
        assert sent(made) == [1, 0]
        assert made._members[0].strikes == 0


def test_an_error_names_the_server_that_it_came_from() -> None:
    with StubServer(say_hi) as first, StubServer(lambda _: error(401, "no")) as second:
        spec = RoleSpec.parse(f"openai:{MODEL}", base_urls=[first.base_url, second.base_url], cache=False)
        client = chat_client("policy", spec)
        assert isinstance(client.server, ChatServers)
        document = own_document(client.server, 1)

        async def one() -> None:
            try:
                with about(document):
                    await client.complete(HELLO)
            finally:
                await client.server.close()

        with pytest.raises(ProviderError, match=second.base_url):
            asyncio.run(one())


# -- roles and commands ----------------------------------------------------------------------------------------


def test_the_first_server_stands_for_all_and_the_others_may_come_and_go() -> None:
    one = RoleSpec.on_servers("openai:m", ["http://a/v1"])
    two = RoleSpec.on_servers("openai:m", ["http://a/v1", "http://b/v1"])
    assert one.options == {"base_url": "http://a/v1"}
    assert RoleSpec.on_servers("embedded", ["http://a/v1"]).options == {}
    listed = RoleSpec.parse("openai:m", base_urls=["http://a/v1", "http://c/v1"])
    assert one.identity() == two.identity() == listed.identity()
    assert listed.as_config()["options"]["base_url"] == "http://a/v1"
    client = chat_client("policy", two)
    assert isinstance(client, ChatClient)
    assert [server.base_url for server in client.server.each()] == ["http://a/v1", "http://b/v1"]
    assert len(chat_client("policy", one).server.each()) == 1
    assert (
        chat_client("policy", RoleSpec.parse("openai:m", base_url="http://a/v1")).server.base_url
        == "http://a/v1"
    )


@pytest.mark.parametrize(
    ("urls", "words"),
    [
        (["http://a/v1", ""], "base URL '' of openai:m is not one"),
        (["http://a/v1", "http://u:p@b/v1"], "must hold no user"),
        (["http://a/v1", OPENAI_URL], "take different keys"),
    ],
)
def test_servers_that_cannot_be_used_are_a_sentence(
    urls: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    with pytest.raises(ConfigError, match=words):
        chat_client("policy", RoleSpec.on_servers("openai:m", urls))


def run_command(cli: Cli, made: tuple[Path, Path], out: Path, urls: list[str]) -> Any:
    servers_given = [word for url in urls for word in ("--base-url", url)]
    turns = ("--max-turns", len(SIX_TURNS))
    return cli(
        "run", made[0], "--docs", made[1], "--out", out, "--policy", f"openai:{MODEL}", *servers_given, *turns
    )


def test_the_command_takes_several_servers_and_says_which_one_is_down(cli: Cli, tmp_path: Path) -> None:
    made = questions_over_documents(tmp_path, 6)

    def played(request: Request) -> Response:
        return read_canary(request) or agent(request)

    with StubServer(played) as first, StubServer(played) as second:
        said = run_command(cli, made, tmp_path / "run", [first.base_url, second.base_url, DEAD])
    assert f"The server at {DEAD} is down; the others do its work" in said.err
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    told = manifest["last_session"]["servers"]
    assert sum(each["answered"] for each in told.values()) == 6 * len(SIX_TURNS)
    assert min(told[stub.base_url]["answered"] for stub in (first, second)) > 0
    assert said.code == 0


def test_preflight_asks_every_server_for_the_model(cli: Cli, tmp_path: Path) -> None:
    made = questions_over_documents(tmp_path, 6)

    def other_model(request: Request) -> Response:
        return error(404, f"The model {MODEL} does not exist.")

    with StubServer() as first, StubServer(other_model) as second:
        said = run_command(cli, made, tmp_path / "run", [second.base_url, first.base_url])
        assert said.code == 2
        assert f"{second.base_url} has no model" in said.err
    assert not (tmp_path / "run" / "trajectories.jsonl").exists()


def read_canary(request: Request) -> Response | None:
    """Preflight's test page is taken for read by the tokens that are counted for it."""
    if not request.is_probe:
        return None
    return completion("OK", prompt_tokens=100 + 300 * request.images)
