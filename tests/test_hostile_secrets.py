"""Passwords in addresses are refused before anything is written, and the refusal does not repeat them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli, OwnSet
from looseleaf.document.cache import cache_place
from looseleaf.errors import ConfigError
from looseleaf.retrieval.spec import RetrieverSpec

SECRET = "passw0rd9"
ADDRESSES = [
    f"http://user:{SECRET}@127.0.0.1:9/v1",
    f"http://:{SECRET}@127.0.0.1:9/v1",
    f"http://127.0.0.1:9/v1?api_key={SECRET}",
    f"http://127.0.0.1:9/v1#{SECRET}",
    f"ftp://user:{SECRET}@127.0.0.1:9/v1",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("place", ["policy", "second", "retriever"])
def test_a_secret_in_an_address_is_neither_stored_nor_said(
    own_set: OwnSet, tmp_path: Path, cli: Cli, address: str, place: str
) -> None:
    out = tmp_path / "run"
    given = {
        "policy": ("--policy", "openai:m", "--base-url", address),
        "second": ("--policy", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--base-url", address),
        "retriever": ("--retriever", f"dense-openai:m(base_url={address})"),
    }[place]
    said = cli("run", own_set.questions, "--docs", own_set.docs, "--out", out, "--yes", *given)
    assert said.code == 2
    assert SECRET not in said.out + said.err
    assert not any(SECRET in path.read_text() for path in out.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "text",
    [
        "dense:wordllama(store=qdrant:http://me:sk-secret-123@127.0.0.1:6333)",
        "rrf(bm25,dense:wordllama(store=qdrant:http://127.0.0.1:6333?api_key=sk-secret-123))",
    ],
)
def test_the_address_of_a_store_holds_no_secret(text: str) -> None:
    with pytest.raises(ConfigError, match="QDRANT_API_KEY") as problem:
        RetrieverSpec.parse(text)
    assert "secret" not in str(problem.value)
    assert RetrieverSpec.parse("dense:wordllama(store=qdrant:http://127.0.0.1:6333)").options["store"]


def test_the_address_of_a_cache_holds_no_secret() -> None:
    with pytest.raises(ConfigError, match="AWS_SECRET_ACCESS_KEY") as problem:
        cache_place("s3://AKIA:sk-secret-123@bucket/folder")
    assert "secret-123" not in str(problem.value)
    assert cache_place("s3://bucket/folder").remote == "s3://bucket/folder"
