"""Passwords in addresses are refused before anything is written, and the refusal does not repeat them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli, OwnSet

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
