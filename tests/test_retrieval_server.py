"""Encoders on a server: what is sent and read, against a stub that speaks vLLM's protocol; no model answers here."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Cli, OwnSet
from embedding_server import DIMENSION, MODEL, embed, problem
from fakes import FakeDocument
from looseleaf.document import PageImage
from looseleaf.errors import DocumentError, ProviderError
from looseleaf.models.embedding.reply import EmbeddingReplyError, read_vectors
from looseleaf.models.retrievers import retriever_maker
from looseleaf.retrieval import Retriever
from stub_server import Request, Response, StubServer

PAGES = ["alpha beta", "", "gamma delta", "epsilon alpha epsilon"]


class PictureDocument(FakeDocument):
    """Its page images say what is on them, for the stub."""

    def image(self, page: int, *, dpi: int = 144, max_pixels: int | None = None) -> PageImage:
        text = self.text(page)
        if not text:
            raise DocumentError(f"Page {page} cannot be rendered.")
        self.images_asked.append((page, max_pixels))
        return PageImage(b"\xff\xd8\xff" + text.encode(), 10, 10)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("looseleaf.models.chat.backoff.FIRST_WAIT", 0.001)


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer(embed) as running:
        yield running


def made(stub: StubServer, kind: str, **options: object) -> Retriever:
    given = {"base_url": stub.base_url} | options
    return retriever_maker(
        f"{kind}:{MODEL}({','.join(f'{name}={value}' for name, value in given.items())})"
    )()


def bodies(stub: StubServer) -> list[Any]:
    return [request.json for request in stub.log.requests]


@pytest.mark.parametrize("kind", ["dense-openai", "late-openai"])
@pytest.mark.parametrize("pages", ["text", "image"])
def test_the_page_that_says_it_comes_first(stub: StubServer, kind: str, pages: str) -> None:
    searching = made(stub, kind, pages=pages)
    searching.index(PictureDocument(PAGES))  # type: ignore[arg-type]
    assert searching.search("delta", 1)[0].page == 3
    assert searching.search("epsilon", 1)[0].page == 4
    assert {page.page for page in searching.search("alpha", 9)} == {1, 3, 4}


def test_texts_are_sent_as_inputs_with_their_prompts(stub: StubServer) -> None:
    searching = made(stub, "dense-openai", query_prompt="query:%20", page_prompt="page:%20", dimensions=8)
    searching.index(FakeDocument(PAGES))  # type: ignore[arg-type]
    searching.search("alpha", 1)
    assert all(request.path == "/v1/embeddings" for request in stub.log.requests)
    common = {"model": MODEL, "encoding_format": "float", "dimensions": 8}
    assert sorted(bodies(stub), key=json.dumps) == sorted(
        [
            {**common, "input": ["page: alpha beta"]},
            {**common, "input": ["page: gamma delta"]},
            {**common, "input": ["page: epsilon alpha epsilon"]},
            {**common, "input": ["query: alpha"]},
        ],
        key=json.dumps,
    )


def test_images_are_sent_as_messages_and_token_vectors_are_asked_of_pooling(stub: StubServer) -> None:
    searching = made(
        stub,
        "late-openai",
        pages="image",
        page_prompt="Describe the image.",
        system="Find pages.",
        truncate="true",
    )
    searching.index(PictureDocument(["alpha"]))  # type: ignore[arg-type]
    searching.search("alpha", 1)
    assert {request.path for request in stub.log.requests} == {"/pooling"}
    common = {"model": MODEL, "encoding_format": "float", "task": "token_embed", "truncate_prompt_tokens": -1}
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/YWxwaGE="}}
    text = {"type": "text", "text": "Describe the image."}
    assert bodies(stub) == [
        {
            **common,
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "Find pages."}]},
                {"role": "user", "content": [picture, text]},
            ],
        },
        {**common, "input": ["alpha"]},
    ]


def test_queries_may_go_through_the_chat_template_too(stub: StubServer) -> None:
    made(stub, "dense-openai", messages="true").index(FakeDocument(["alpha"]))  # type: ignore[arg-type]
    [body] = bodies(stub)
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "alpha"}]}]


def test_a_long_page_is_sent_in_windows_and_found_by_its_best_one(stub: StubServer) -> None:
    long = " ".join(["filler"] * 100 + ["needle"])
    searching = made(stub, "dense-openai", window=60)
    searching.index(FakeDocument([long, "needle " + "other words here " * 3]))  # type: ignore[arg-type]
    assert max(len(body["input"]) for body in bodies(stub)) > 10
    assert all(len(text) <= 60 for body in bodies(stub) for text in body["input"])
    assert {page.page for page in searching.search("needle", 2)} == {1, 2}


def test_vectors_have_as_many_dimensions_as_the_model_gives(stub: StubServer) -> None:
    for dimensions in (3, DIMENSION, 320):
        searching = made(stub, "late-openai", dimensions=dimensions)
        searching.index(FakeDocument(PAGES))  # type: ignore[arg-type]
        assert searching.search("delta", 1)[0].page == 3


def test_the_pages_cap_goes_to_the_renderer(stub: StubServer) -> None:
    document = PictureDocument(["alpha"])
    made(stub, "dense-openai", pages="image", max_pixels=1000).index(document)  # type: ignore[arg-type]
    made(stub, "dense-openai", pages="image").index(document)  # type: ignore[arg-type]
    assert document.images_asked == [(1, 1000), (1, 862_400)]


def test_nothing_is_asked_twice(stub: StubServer) -> None:
    searching = made(stub, "late-openai")
    for _ in range(3):
        searching.index(FakeDocument(PAGES))  # type: ignore[arg-type]
        searching.search("alpha", 1)
    assert len(stub.log.requests) == 4


def test_several_pages_are_in_flight_but_no_more_than_allowed() -> None:
    with StubServer(embed, delay=0.02) as stub:
        made(stub, "dense-openai", max_in_flight=4).index(FakeDocument(["word"] * 40))  # type: ignore[arg-type]
        assert len(stub.log.requests) == 40
        assert 2 <= stub.log.most_in_flight <= 4


def failing(times: int, response: Response) -> Callable[[Request], Response]:
    left = [times]

    def answer(request: Request) -> Response:
        if left[0]:
            left[0] -= 1
            return response
        return embed(request)

    return answer


@pytest.mark.parametrize(
    "response",
    [
        problem(429, "slow down"),
        problem(500, "out of order"),
        Response(200, b'{"data": [{"index": 0, "embed'),
        Response(200, b'{"error": {"message": "busy"}}'),
        Response(200, b'{"data": []}'),
    ],
    ids=["429", "500", "cut", "error with 200", "empty"],
)
def test_faults_that_pass_are_tried_again(response: Response) -> None:
    with StubServer(failing(3, response)) as stub:
        searching = made(stub, "dense-openai", max_in_flight=1)
        searching.index(FakeDocument(["alpha", "beta"]))  # type: ignore[arg-type]
        assert searching.search("beta", 1)[0].page == 2
        assert len(stub.log.requests) == 6


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (problem(404, "Not Found"), "no embedding model under .*embeddings"),
        (problem(404, "The model `m` does not exist."), "has no model"),
        (problem(401, "Invalid API key"), "refuses requests without a key"),
        (problem(400, "This model's maximum context length is 512 tokens."), "set window to fewer"),
        (problem(400, "m is not a multimodal model"), "takes no images"),
        (Response(200, b'{"data": [{"index": 0, "data": [[1.0]]}]}'), "does not hold one vector"),
        (Response(200, b'{"data": [{"index": 0, "embedding": [1e9]}]}'), "cannot be used"),
    ],
)
def test_faults_that_stay_say_what_to_change_and_are_not_repeated(response: Response, says: str) -> None:
    with StubServer(lambda request: response) as stub:
        with pytest.raises(ProviderError, match=says):
            made(stub, "dense-openai").index(FakeDocument(["alpha"]))  # type: ignore[arg-type]
        assert len(stub.log.requests) == 1


def test_a_server_that_is_down_is_given_up_in_one_sentence() -> None:
    with StubServer(embed) as stub:
        searching = made(stub, "dense-openai", retries=1, timeout=1)
    with pytest.raises(ProviderError, match="did not answer"):
        searching.index(FakeDocument(["alpha"]))  # type: ignore[arg-type]


def test_the_key_goes_to_the_server_and_into_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sesame-9")
    with StubServer(lambda request: problem(400, f"bad {request.headers['authorization']}")) as stub:
        with pytest.raises(ProviderError) as caught:
            made(stub, "dense-openai", key_env="MY_KEY").index(FakeDocument(["alpha"]))  # type: ignore[arg-type]
        assert stub.log.requests[0].headers["authorization"] == "Bearer sesame-9"
        assert "sesame" not in str(caught.value)
        assert "[key]" in str(caught.value)


def test_what_was_encoded_before_a_fault_is_not_encoded_again() -> None:
    broken = threading.Event()

    def answer(request: Request) -> Response:
        return (
            problem(400, "bad page") if b"poison" in request.body and not broken.is_set() else embed(request)
        )

    with StubServer(answer) as stub:
        searching = made(stub, "dense-openai", max_in_flight=1)
        document = FakeDocument([*(f"page {number}" for number in range(8)), "poison", "last"])
        with pytest.raises(ProviderError):
            searching.index(document)  # type: ignore[arg-type]
        before = len(stub.log.requests)
        broken.set()
        searching.index(document)  # type: ignore[arg-type]
        assert (before, len(stub.log.requests)) == (9, 9 + 2)
        assert searching.search("last", 1)[0].page == 10


RECORDED = {
    "embeddings": (
        b'{"id":"embd-86b1","object":"list","created":1771000000,"model":"m","data":[{"index":0,"object":"embedding",'
        b'"embedding":[0.5,-0.25]},{"index":1,"object":"embedding","embedding":[0.0,1.0]}],"usage":{"prompt_tokens":9,'
        b'"total_tokens":9,"completion_tokens":0,"prompt_tokens_details":null}}',
        False,
        [[[0.5, -0.25]], [[0.0, 1.0]]],
    ),
    "pooling": (
        b'{"id":"pool-77aa","object":"list","created":1771000000,"model":"m","data":[{"index":0,"object":"pooling",'
        b'"data":[[0.5,-0.25],[1,0]]},{"index":1,"object":"pooling","data":[[0.0,1.0]]}],"usage":{"prompt_tokens":3,'
        b'"total_tokens":3,"completion_tokens":0,"prompt_tokens_details":null}}',
        True,
        [[[0.5, -0.25], [1.0, 0.0]], [[0.0, 1.0]]],
    ),
}
"""Replies in the shape that vLLM's protocol files give (see `embedding_server`), with short vectors."""


@pytest.mark.parametrize("name", RECORDED)
def test_replies_are_read(name: str) -> None:
    body, multi, expected = RECORDED[name]
    found = read_vectors(body, 2, multi=multi)
    assert [vectors.tolist() for vectors in found] == expected
    assert all(vectors.dtype == np.float32 for vectors in found)
    with pytest.raises(EmbeddingReplyError, match="2 embeddings for 3 inputs"):
        read_vectors(body, 3, multi=multi)
    with pytest.raises(EmbeddingReplyError):
        read_vectors(body, 2, multi=not multi)


def test_a_run_searches_with_a_server_and_names_it(
    stub: StubServer, own_set: OwnSet, cli: Cli, tmp_path: Path
) -> None:
    spec = f"rrf(bm25,late-openai:{MODEL}(base_url={stub.base_url}))"
    arguments = (
        "eval",
        own_set.questions,
        "--docs",
        own_set.docs,
        "--out",
        tmp_path / "run",
        "--retriever",
        spec,
    )
    outcome = cli(*arguments)
    assert outcome.code == 0, outcome.err
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["retriever"]["name"] == f"rrf(bm25,late-openai:{MODEL})"
    assert manifest["retriever"]["family"] == "fused"
    assert manifest["retriever"]["encoders"][0].startswith(f"late-openai-{MODEL}-")
    before = len(stub.log.requests)
    assert cli(*arguments).code == 0
    assert len(stub.log.requests) == before


def test_an_encoder_that_is_down_leaves_rows_unscored_and_the_next_run_goes_on(
    own_set: OwnSet, cli: Cli, tmp_path: Path
) -> None:
    up = threading.Event()
    with StubServer(lambda request: embed(request) if up.is_set() else problem(400, "no")) as stub:
        spec = f"dense-openai:{MODEL}(base_url={stub.base_url})"
        arguments = (
            "eval",
            own_set.questions,
            "--docs",
            own_set.docs,
            "--out",
            tmp_path / "run",
            "--retriever",
            spec,
        )
        outcome = cli(*arguments)
        assert outcome.code == 1
        assert "7 rows are unscored" in outcome.err
        up.set()
        assert cli(*arguments).code == 0


def test_searches_of_several_questions_wait_side_by_side(own_set: OwnSet, cli: Cli, tmp_path: Path) -> None:
    """Seven questions search at the same time: a slow encoder must not hold up the others' turns."""
    with StubServer(embed, delay=0.1) as stub:
        spec = f"dense-openai:{MODEL}(base_url={stub.base_url})"
        begun = time.perf_counter()
        arguments = (
            "run",
            own_set.questions,
            "--docs",
            own_set.docs,
            "--out",
            tmp_path / "run",
            "--retriever",
            spec,
        )
        assert cli(*arguments).code == 0
        assert stub.log.most_in_flight > 2
        assert time.perf_counter() - begun < 60
