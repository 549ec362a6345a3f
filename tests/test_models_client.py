"""The client of chat models: requests, retries, limits, the cache, keys and prices."""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from looseleaf.errors import ConfigError, ContextOverflowError, ProviderError
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.models.chat.backoff import MAX_WAIT, retry_after, wait_seconds
from looseleaf.models.chat.client import OUTAGE, SLOW_RETRIES, ChatClient, RefusedError
from looseleaf.models.chat.limiter import Limiter
from looseleaf.models.chat.make import chat_client, openai_role
from looseleaf.models.chat.message import ImagePart, Message, TextPart, wire
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.prices import Price, read_prices
from looseleaf.models.chat.sampling import sampling
from looseleaf.models.registry import make_extractor, make_judge, make_reader
from looseleaf.models.role_spec import RoleSpec
from looseleaf.roles import Usage
from stub_server import MODEL, Faults, Request, Response, StubServer, completion, error

Result = TypeVar("Result")
HELLO = [Message("user", (TextPart("hello"),))]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ports may come again within a session of tests, so every test has its own response cache."""
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("looseleaf.models.chat.backoff.FIRST_WAIT", 0.001)


def client_of(stub: StubServer, **options: Any) -> ChatClient:
    return chat_client("policy", RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url, **options))


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


def say(text: str) -> Callable[[Request], Response]:
    return lambda request: completion(text)


# -- what is sent ----------------------------------------------------------------------------------------------


def test_a_request_carries_the_settings_and_the_reply_its_usage() -> None:
    with StubServer(say("hi")) as stub:
        options = {
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 7,
            "suppress": [5, 6],
            "extra": {"min_p": 0.1},
        }
        client = client_of(stub, **options)
        with sampling(11, 2):
            reply = run(client.complete(HELLO))
        sent = stub.log.chats[0]
    assert reply.text == "hi"
    assert reply.usage == Usage(100, 10, 1)
    assert sent.json == {
        "messages": [{"role": "user", "content": "hello"}],
        "model": MODEL,
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 11,
        "logit_bias": {"5": -100.0, "6": -100.0},
        "stream": False,
        "min_p": 0.1,
    }
    assert sent.headers["content-type"] == "application/json"


def test_settings_that_a_server_does_not_know_can_be_left_out() -> None:
    with StubServer(say("hi")) as stub:
        client = client_of(stub, temperature="default", send_seed=False)
        with sampling(11):
            run(client.complete(HELLO))
        sent = stub.log.chats[0].json
    assert "seed" not in sent
    assert "temperature" not in sent


def test_images_go_out_as_data_uris_and_stand_in_keys_by_their_hash() -> None:
    image, other = ImagePart.of_jpeg(b"one", 10), ImagePart.of_jpeg(b"two", 10)
    messages = [Message("user", (TextPart("Page 1:"), image))]
    with StubServer(say("hi")) as stub:
        run(client_of(stub).complete(messages))
        content = stub.log.chats[0].json["messages"][0]["content"]
    assert content == [
        {"type": "text", "text": "Page 1:"},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,b25l"}},
    ]
    assert wire({}, messages).key("a") == wire({}, messages).key("a")
    assert wire({}, messages).key("a") != wire({}, messages).key("b")
    assert wire({}, messages).key("a") != wire({}, [Message("user", (TextPart("Page 1:"), other))]).key("a")


def test_a_client_works_in_one_event_loop_after_another() -> None:
    with StubServer(say("hi")) as stub:
        client = client_of(stub, cache=False)
        for _ in range(3):
            assert run(client.complete(HELLO)).text == "hi"


def test_a_client_can_be_closed_and_used_again() -> None:
    with StubServer(say("hi")) as stub:
        client = client_of(stub, cache=False)

        async def twice() -> None:
            await client.complete(HELLO)
            await client.server.close()
            await client.complete(HELLO)

        run(twice())
        assert len(stub.log.chats) == 2


# -- faults that pass ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["too_many", "server_error", "hang", "reset", "truncated"])
def test_a_fault_that_passes_is_tried_again(fault: str) -> None:
    with StubServer(say("hi"), faults=Faults(**{fault: 0.3}), seed=3) as stub:
        client = client_of(stub, timeout=0.5, cache=False)

        async def some() -> list[str]:
            return [
                reply.text for reply in await asyncio.gather(*(client.complete(HELLO) for _ in range(20)))
            ]

        assert run(some()) == ["hi"] * 20
        assert stub.log.faults[fault] == client.counters.retried > 0
        assert sum(stub.log.whole.values()) == 20


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_statuses_that_are_tried_again(status: int) -> None:
    answers = iter([error(status, "not now"), completion("hi")])
    with StubServer(lambda request: next(answers)) as stub:
        assert run(client_of(stub).complete(HELLO)).text == "hi"


def test_an_error_inside_a_success_is_tried_again() -> None:
    answers = iter([Response(200, b'{"error": {"message": "overloaded"}}'), completion("hi")])
    with StubServer(lambda request: next(answers)) as stub:
        assert run(client_of(stub).complete(HELLO)).text == "hi"


@pytest.mark.parametrize("kind", ["seconds", "date", "milliseconds"])
def test_retry_after_is_obeyed(kind: str) -> None:
    times: list[float] = []

    def answer(request: Request) -> Response:
        times.append(time.monotonic())
        if len(times) > 1:
            return completion("hi")
        headers = {
            "seconds": {"Retry-After": "1"},
            "milliseconds": {"Retry-After-Ms": "300"},
            # A date has whole seconds, so the wait is between one second and two.
            "date": {"Retry-After": email.utils.formatdate(time.time() + 2, usegmt=True)},
        }[kind]
        return error(429, "slow down", **headers)

    with StubServer(answer) as stub:
        assert run(client_of(stub).complete(HELLO)).text == "hi"
    waited = times[1] - times[0]
    assert {"seconds": 1.0, "milliseconds": 0.3, "date": 0.9}[kind] <= waited < 3.0


def test_a_server_that_asks_for_too_long_a_wait_is_a_fault() -> None:
    with StubServer(lambda request: error(429, "come back tomorrow", **{"Retry-After": "86400"})) as stub:
        with pytest.raises(ProviderError, match="come back tomorrow"):
            run(client_of(stub).complete(HELLO))
        assert len(stub.log.chats) == 1


def test_a_fault_that_stays_is_a_provider_error_with_the_servers_words() -> None:
    with StubServer(lambda request: error(503, "the model is being loaded")) as stub:
        with pytest.raises(
            ProviderError, match=r"did not answer.*the model is being loaded.*run the same command"
        ):
            run(client_of(stub, retries=3).complete(HELLO))
        assert len(stub.log.chats) == 4


def test_no_server_at_all() -> None:
    with StubServer() as stub:
        url = stub.base_url
    client = chat_client("policy", RoleSpec.parse("openai:m", base_url=url, retries=1))
    with pytest.raises(ProviderError, match=r"did not answer.*(refused|connect)"):
        run(client.complete(HELLO))


def test_a_server_that_never_answers_is_tried_a_few_times_only() -> None:
    with StubServer(say("hi"), faults=Faults(hang=1.0)) as stub:
        with pytest.raises(
            ProviderError, match=r"no answer in time .*nothing within 0\.1 seconds.*raise timeout"
        ):
            run(client_of(stub, timeout=0.1).complete(HELLO))
        assert len(stub.log.chats) == 1 + SLOW_RETRIES


def test_an_outage_ends_soon_and_is_noticed_when_it_ends() -> None:
    up = False
    with StubServer(lambda request: completion("hi") if up else error(500, "down")) as stub:
        client = client_of(stub, retries=2, cache=False)

        async def fail() -> None:
            with pytest.raises(ProviderError):
                await client.complete(HELLO)

        async def scenario() -> None:
            nonlocal up
            for _ in range(OUTAGE):
                await fail()
            assert len(stub.log.chats) == OUTAGE * 3
            for _ in range(5):
                await fail()
            assert len(stub.log.chats) == OUTAGE * 3 + 5
            up = True
            await client.complete(HELLO)
            up = False
            await fail()
            assert len(stub.log.chats) == OUTAGE * 3 + 5 + 1 + 3

        run(scenario())


# -- faults that stay ------------------------------------------------------------------------------------------

OVERFLOWS = {
    "OpenAI": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130114 tokens.",
    "OpenAI code": "Your input exceeds the context window of this model. context_length_exceeded",
    "vLLM": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    "vLLM prompt": "The decoder prompt (length 9254) is longer than the maximum model length of 8192.",
    "SGLang": "The input (20000 tokens) is longer than the model's context length (8192 tokens).",
    "SGLang total": "Requested token count exceeds the model's maximum context length of 8192 tokens.",
    "llama.cpp": "request (5031 tokens) exceeds the available context size (2048 tokens), try increasing it",
    "Anthropic": "prompt is too long: 208310 tokens > 200000 maximum",
    "Anthropic sum": "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
    "Gemini": "The input token count (1253245) exceeds the maximum number of tokens allowed (1048576).",
    "TGI": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
    "Mistral": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "Groq": "Please reduce the length of the messages or completion.",
}


@pytest.mark.parametrize("words", OVERFLOWS.values(), ids=OVERFLOWS.keys())
@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_conversation_that_is_too_long_is_an_overflow(words: str, status: int) -> None:
    with StubServer(lambda request: error(status, words)) as stub:
        with pytest.raises(ContextOverflowError, match="does not fit the context"):
            run(client_of(stub).complete(HELLO))
        assert len(stub.log.chats) == 1


FAULTS = [
    (401, "Incorrect API key provided", "refuses requests without a key .*key_env"),
    (403, "Project has no access", "refuses requests without a key"),
    (400, "API key not valid. Please pass a valid API key.", "refuses requests without a key"),
    (404, "The model `gpt-x` does not exist", f"has no model {MODEL}.*check the name"),
    (400, "invalid model ID", f"has no model {MODEL}"),
    (404, "404 page not found", "no chat model under .*check the base URL"),
    (405, "", "no chat model under"),
    (413, "Request Entity Too Large", "refuses requests of this size.*max_image_pixels"),
    (429, "You exceeded your current quota: insufficient_quota", "no credit left"),
    (402, "Payment required", "no credit left"),
    (400, "tiny-lm is not a multimodal model", "does not take images.*vision model"),
    (400, "image_url is only supported by certain models", "does not take images"),
    (500, "image input is not supported - hint: you may need to provide the mmproj", "does not take images"),
    (400, "At most 1 image(s) may be provided in one prompt.", "fewer images .*images_kept"),
    (400, "Unknown parameter: 'seed'.", "refuses the request .*seed.*leave out the option"),
]


@pytest.mark.parametrize(("status", "words", "expected"), FAULTS)
def test_a_fault_that_stays_says_what_to_change_and_is_not_tried_again(
    status: int, words: str, expected: str
) -> None:
    with StubServer(lambda request: error(status, words)) as stub:
        with pytest.raises(ProviderError, match=expected) as caught:
            run(client_of(stub).complete(HELLO))
        assert len(stub.log.chats) == 1
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    "words",
    [
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "registry.ollama.ai/library/x does not support tools",
        "tools param requires --jinja flag",
    ],
)
def test_a_server_without_tools_can_be_told_apart(words: str) -> None:
    with StubServer(lambda request: error(400, words)) as stub, pytest.raises(RefusedError):
        run(client_of(stub).complete(HELLO))


# -- keys ------------------------------------------------------------------------------------------------------

SECRET = "sk-very-secret-0123456789"


def test_the_key_comes_from_the_named_variable_and_shows_nowhere(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    caplog.set_level("DEBUG")
    with StubServer(say("hi")) as stub:
        client = client_of(stub, key_env="MY_KEY")
        run(client.complete(HELLO))
        assert stub.log.chats[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(client.server.key) + repr(client.options) + caplog.text
    for file in own_cache.rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()


def test_a_key_that_a_server_repeats_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    leaking = StubServer(lambda request: error(401, f"Incorrect API key provided: {SECRET}."))
    with leaking as stub, pytest.raises(ProviderError, match=r"the key in MY_KEY.*\[key\]") as caught:
        run(client_of(stub, key_env="MY_KEY").complete(HELLO))
    assert SECRET not in str(caught.value)


def test_the_key_of_openai_goes_to_openai_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_ORG_ID", "my-organisation")
    with StubServer(say("hi")) as stub:
        run(client_of(stub).complete(HELLO))
        headers = stub.log.chats[0].headers
    assert SECRET not in str(headers)
    assert "my-organisation" not in str(headers)


def test_a_missing_key_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"api\.openai\.com needs a key .*OPENAI_API_KEY is not set"):
        chat_client("policy", RoleSpec.parse("openai:gpt-x"))


# -- options ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api_key": "x"}, "Keys are never given as options"),
        ({"temprature": 1}, "temprature"),
        ({"temperature": "hot"}, "temperature"),
        ({"base_url": "localhost:8000"}, "is not one"),
        ({"base_url": "http://user:secret@host/v1"}, "no user, password or query"),
        ({"base_url": "http://host/v1?key=secret"}, "no user, password or query"),
        ({"timeout": 0}, "timeout"),
        ({"images_kept": 0}, "images_kept"),
        ({"image_family": "octopus"}, "octopus"),
        ({"prompt": "/nowhere/at/all.md"}, "cannot be read"),
        ({"prices": "/nowhere/at/all.toml"}, "cannot be used"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        chat_client("policy", RoleSpec.parse("openai:m", **({"base_url": "http://127.0.0.1:1/v1"} | options)))
    assert "secret" not in str(caught.value)


def test_a_model_is_needed() -> None:
    with pytest.raises(ConfigError, match="openai:MODEL"):
        openai_role("reader", RoleSpec.parse("openai"))


def test_options_may_be_words_from_a_command_line() -> None:
    options = ChatOptions.of(
        "reader", RoleSpec.parse("openai:m", temperature="0.3", retries="2", cache="false")
    )
    assert (options.temperature, options.retries, options.cache) == (0.3, 2, False)
    assert options.max_tokens == 512


# -- cache -----------------------------------------------------------------------------------------------------


def test_the_same_request_is_paid_once(tmp_path: Path) -> None:
    with StubServer(say("hi")) as stub:
        for _ in range(3):
            client = client_of(stub)
            assert run(client.complete(HELLO)).usage == Usage(100, 10, 1)
        assert client.counters.cached == 1
        assert client.counters.spent == Usage()
        assert len(stub.log.chats) == 1


@pytest.mark.parametrize("change", ["model", "seed", "sample", "temperature", "text", "server", "field"])
def test_a_request_that_differs_in_anything_is_another(change: str) -> None:
    with StubServer(say("hi")) as stub, StubServer(say("hi")) as other:
        run(client_of(stub).complete(HELLO))
        again = client_of(
            other if change == "server" else stub, **({"temperature": 1} if change == "temperature" else {})
        )
        if change == "model":
            again.model = "another"
        messages = [Message("user", (TextPart("hullo"),))] if change == "text" else HELLO
        fields = {"tools": []} if change == "field" else None
        with sampling(7 if change == "seed" else None, 1 if change == "sample" else 0):
            run(again.complete(messages, fields=fields))
        assert again.counters.cached == 0


def test_faults_are_not_cached_and_damaged_entries_are_not_used(own_cache: Path) -> None:
    answers = iter([error(404, "no such model"), completion("hi"), completion("hi")])
    with StubServer(lambda request: next(answers)) as stub:
        client = client_of(stub)
        with pytest.raises(ProviderError):
            run(client.complete(HELLO))
        assert run(client.complete(HELLO)).text == "hi"
        [entry] = [file for file in (own_cache / "replies").rglob("*") if file.is_file()]
        entry.write_bytes(entry.read_bytes()[:-10])
        assert run(client.complete(HELLO)).text == "hi"
        assert len(stub.log.chats) == 3


def test_the_cache_can_be_switched_off(own_cache: Path) -> None:
    with StubServer(say("hi")) as stub:
        client = client_of(stub, cache=False)
        run(client.complete(HELLO))
        run(client.complete(HELLO))
        assert len(stub.log.chats) == 2
    assert not (own_cache / "replies").exists()


# -- limits ----------------------------------------------------------------------------------------------------


def test_requests_in_flight_are_bounded() -> None:
    with StubServer(say("hi"), delay=0.02) as stub:
        client = client_of(stub, max_in_flight=3, cache=False)

        async def many() -> None:
            await asyncio.gather(*(client.complete(HELLO) for _ in range(12)))

        run(many())
        assert stub.log.most_in_flight == client.counters.most_in_flight == 3


def test_tokens_in_flight_are_bounded() -> None:
    with StubServer(say("hi"), delay=0.02) as stub:
        client = client_of(stub, max_tokens=100, max_tokens_in_flight=250, cache=False)

        async def many() -> None:
            await asyncio.gather(*(client.complete(HELLO) for _ in range(8)))

        run(many())
        assert stub.log.most_in_flight == 2


def test_a_limiter_serves_in_order_and_survives_cancellation() -> None:
    async def scenario() -> list[str]:
        limiter = Limiter(10, tokens=100)
        order: list[str] = []

        async def use(name: str, tokens: int) -> None:
            async with limiter.slot(tokens):
                order.append(name)
                await asyncio.sleep(0.01)

        tasks = [asyncio.create_task(use(*job)) for job in [("a", 60), ("big", 500), ("c", 10), ("d", 10)]]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert limiter.in_flight == 0
        return order

    assert run(scenario()) == ["a", "big", "d"]


def test_a_limiter_gives_back_the_slot_of_a_task_that_was_cancelled_as_it_got_it() -> None:
    async def scenario() -> None:
        limiter = Limiter(1)
        holding = asyncio.Event()

        async def hold() -> None:
            async with limiter.slot(1):
                await holding.wait()

        first, second = asyncio.create_task(hold()), asyncio.create_task(hold())
        await asyncio.sleep(0)
        holding.set()
        await first
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        assert limiter.in_flight == 0
        async with asyncio.timeout(1), limiter.slot(1):
            pass

    run(scenario())


# -- backoff ---------------------------------------------------------------------------------------------------


def test_waits_grow_have_jitter_and_are_never_shorter_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    rng = random.Random(0)
    waits = [[wait_seconds(attempt, None, rng) for _ in range(50)] for attempt in range(12)]
    assert all(0.25 <= wait <= 0.5 for wait in waits[0])
    assert all(1.0 <= wait <= 2.0 for wait in waits[2])
    assert max(waits[11]) <= MAX_WAIT
    assert len(set(waits[0])) == 50
    assert all(30.0 <= wait_seconds(0, 30.0, rng) <= 33.0 for _ in range(50))


@pytest.mark.parametrize(
    ("value", "seconds"), [("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("soon", None), ("nan", None)]
)
def test_retry_after_in_seconds(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds
    assert retry_after({}) is None


def test_retry_after_as_a_date() -> None:
    asked = retry_after({"retry-after": email.utils.formatdate(time.time() + 30, usegmt=True)})
    assert asked is not None
    assert 28 <= asked <= 30
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


# -- prices ----------------------------------------------------------------------------------------------------


def test_cost_comes_from_the_users_table(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text(
        f'currency = "EUR"\n[models."{MODEL}"]\ninput = 2.0\noutput = 10.0\ncached_input = 0.5\n'
    )
    cached = {"prompt_tokens_details": {"cached_tokens": 40}}
    with StubServer(lambda request: completion("hi", **cached)) as stub:
        client = client_of(stub, prices=str(table))
        cost = run(client.complete(HELLO)).usage.cost
        assert cost == pytest.approx((60 * 2.0 + 40 * 0.5 + 10 * 10.0) / 1e6)
        assert client.counters.spent.cost == cost


def test_a_price_without_a_discount() -> None:
    assert Price(input=1.0, output=2.0).cost(1_000_000, 500_000, 10) == 2.0


def test_a_table_without_the_model_says_so(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('[models."other"]\ninput = 1\noutput = 1\n')
    with pytest.raises(ConfigError, match="no price for m; add a table"):
        read_prices(str(table), "m")


# -- reader, extractor, judge ----------------------------------------------------------------------------------


def test_a_reader_sends_the_question_and_the_notes() -> None:
    with StubServer(say("<think>hm</think>4.7 %")) as stub:
        reader = make_reader(RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url))
        memory = WorkingMemory([Finding("the 2020 rate is 4.7 % ($5)", 3)])
        reading: Any = run(reader.read("What is the rate?", memory))  # type: ignore[arg-type]
        sent = stub.log.chats[0].json["messages"]
    assert reading.text == "4.7 %"
    assert reading.usage.calls == 1
    assert len(sent) == 1
    assert "[page 3] the 2020 rate is 4.7 % ($5)" in sent[0]["content"]
    assert "What is the rate?" in sent[0]["content"]


def test_an_extractor_and_a_judge() -> None:
    with StubServer(say("Extracted answer: 4.7\nAnswer format: Float")) as stub:
        spec = RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url)
        extractor, judge = make_extractor(spec), make_judge(spec)
        assert extractor is not None
        assert judge is not None
        extraction: Any = run(extractor.extract("What is the rate?", "It is 4.7 %."))  # type: ignore[arg-type]
        judgement: Any = run(judge.judge("Is it right?"))  # type: ignore[arg-type]
        prompts = [request.json["messages"][0]["content"] for request in stub.log.chats]
    assert extraction.text == judgement.text == "Extracted answer: 4.7\nAnswer format: Float"
    assert "It is 4.7 %." in prompts[0]
    assert "<concise_answer>" in prompts[0]
    assert prompts[1] == "Is it right?"


def test_a_reader_whose_notes_are_too_long_is_unscored_and_not_an_agents_overflow() -> None:
    with StubServer(lambda request: error(400, OVERFLOWS["vLLM"])) as stub:
        reader = make_reader(RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url))
        with pytest.raises(ProviderError):
            run(reader.read("q", WorkingMemory()))  # type: ignore[arg-type]


def test_ones_own_prompt(tmp_path: Path) -> None:
    own = tmp_path / "reader.md"
    own.write_text("$question? Notes: $memory. It costs $$5.")
    with StubServer(say("hi")) as stub:
        reader = make_reader(RoleSpec.parse(f"openai:{MODEL}", base_url=stub.base_url, prompt=str(own)))
        run(reader.read("Why", WorkingMemory()))  # type: ignore[arg-type]
        assert stub.log.chats[0].json["messages"][0]["content"] == "Why? Notes: (no notes). It costs $5."
