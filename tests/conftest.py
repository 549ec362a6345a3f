"""Fixtures that all tests share: no network, an own cache, small documents, and the command line in-process."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakes import CITIES, city_questions, pdf_bytes
from looseleaf.document import PageStore

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Documents are cached in a folder of this test session, also in subprocesses."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOSELEAF_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Tests talk to this machine only."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to connect to {address[0]}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PageStore]:
    """A page store with an empty cache of its own."""
    with PageStore(tmp_path / "page-cache") as made:
        yield made


class OwnSet(NamedTuple):
    """One's own questions and their documents."""

    questions: Path
    docs: Path
    rows: list[dict[str, Any]]


@pytest.fixture
def own_set(tmp_path: Path) -> OwnSet:
    """`mini.jsonl` with seven questions over `docs/report_0.pdf` and `docs/report_1.pdf` of four pages each."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(2):
        cities = [item for index, item in enumerate(CITIES.items()) if index % 2 == number]
        pages = [f"The city of {city} has {stations} stations in use." for city, stations in cities]
        (docs / f"report_{number}.pdf").write_bytes(pdf_bytes("Railways of the world, a survey.", *pages))
    rows = city_questions()
    questions = tmp_path / "mini.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return OwnSet(questions, docs, rows)


class Outcome(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs `looseleaf ARGUMENTS` in this process."""
    from looseleaf.cli import main

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["looseleaf", *map(str, arguments)])
        capfd.readouterr()
        code: Any = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        out, err = capfd.readouterr()
        return Outcome(int(code or 0), out, err)

    return run


@pytest.fixture
def agent_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes the user's own code as a module that can be imported, here and in subprocesses; returns its name."""
    folder = tmp_path / "own_code"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))

    def write(source: str) -> str:
        name = f"own_{tmp_path.name.replace('-', '_')}_{len(list(folder.glob('*.py')))}"
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
        return name

    return write
