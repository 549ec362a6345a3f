"""`looseleaf doctor`: what it sees, what it calls a problem, and what it never shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from looseleaf import __version__
from looseleaf.cli import doctor_checks
from looseleaf.cli.doctor_checks import Check, all_checks
from looseleaf.document import PageStore
from looseleaf.errors import DocumentError
from stub_server import Response, StubServer, error

KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY")
SECRET = "sk-never-to-be-seen-0123456789"


def by_name(checks: list[Check]) -> dict[tuple[str, str], Check]:
    return {(check.section, check.name): check for check in checks}


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEYS:
        monkeypatch.delenv(variable, raising=False)


def test_a_healthy_installation_is_0_and_names_versions_place_and_page(
    cli: Cli, no_keys: None, cache_of_this_session: Path
) -> None:
    done = cli("doctor")
    assert done.code == 0, done.out
    for words in (
        f"looseleaf              ok {__version__}",
        f"numpy                  ok {metadata.version('numpy')}",
        f"folder                 ok {cache_of_this_session}",
        "worker                 ok 288 × 288 pixels and text in",
        "OPENAI_API_KEY         – no (api.openai.com)",
    ):
        assert words in done.out
    assert "problem" not in done.out


def test_json_says_the_same(cli: Cli, no_keys: None) -> None:
    done = cli("doctor", "--json")
    told = json.loads(done.out)
    assert done.code == 0
    assert told["ok"] is True
    sections = {check["section"] for check in told["checks"]}
    assert sections == {"looseleaf", "packages", "extras", "cache", "pages", "programs", "keys"}
    assert {check["status"] for check in told["checks"]} <= {"ok", "absent"}
    assert all(set(check) == {"section", "name", "status", "detail"} for check in told["checks"])


def test_keys_are_yes_or_no_and_never_shown(cli: Cli, no_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("MY_KEY", SECRET)

    def repeats(request: Any) -> Response:
        return error(401, f"the key {request.headers['authorization']} is wrong")

    with StubServer(repeats) as stub:
        for form in ((), ("--json",)):
            done = cli("doctor", "--base-url", stub.base_url, "--key-env", "MY_KEY", *form)
            assert done.code == 1
            assert SECRET not in done.out + done.err
            assert "yes (api.openai.com)" in done.out
            assert "[key]" in done.out
    assert stub.log.requests[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("response", "status", "words"),
    [
        (Response(200, b'{"data": [{"id": "qwen"}, {"id": "llama"}]}'), "ok", "it lists qwen, llama"),
        (Response(200, b'{"data": [' + b",".join([b'{"id": "m"}'] * 9) + b"]}"), "ok", "m and 4 more"),
        (Response(200, b'{"data": []}'), "ok", "lists no models"),
        (Response(200, b"<html>"), "ok", "cannot be read"),
        (error(404, "no such path"), "ok", "no list of models"),
        (error(500, "out of order"), "problem", "out of order"),
    ],
)
def test_a_server_is_asked_for_its_models(response: Response, status: str, words: str) -> None:
    with StubServer(lambda _: response) as stub:
        check = list(all_checks([stub.base_url]))[-1]
    assert (check.section, check.status) == ("servers", status)
    assert words in check.detail
    assert stub.base_url.split("/")[2] == check.name


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:9/v1", "check the address"),
        ("127.0.0.1:9", "is not one"),
        ("http://user:pass@127.0.0.1:9/v1", "no user, password"),
    ],
)
def test_a_server_that_is_not_there_is_a_problem(url: str, words: str) -> None:
    check = list(all_checks([url]))[-1]
    assert check.status == "problem"
    assert words in check.detail
    assert "pass@" not in check.name


def test_a_known_host_without_its_key_is_a_problem(no_keys: None) -> None:
    check = list(all_checks(["https://openrouter.ai/api/v1"]))[-1]
    assert check.status == "problem"
    assert "OPENROUTER_API_KEY is not set" in check.detail


# -- what can be wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["file", "home"])
def test_a_cache_that_cannot_be_used_is_a_problem(
    cli: Cli, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "file" / "below") if name == "file" else "")
    if name == "home":
        monkeypatch.setattr("looseleaf.document.cache.default_root", lambda: None)
    done = cli("doctor")
    assert done.code == 1
    assert "set LOOSELEAF_CACHE to a folder" in done.out


def test_a_worker_that_does_not_render_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: PageStore, *arguments: Any) -> Any:
        raise DocumentError("Page 1 took too long.")

    monkeypatch.setattr(PageStore, "image", broken)
    check = by_name(list(all_checks()))["pages", "worker"]
    assert (check.status, check.detail) == ("problem", "no page could be rendered: Page 1 took too long.")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[tuple[str, str], Check]]:
    """Checks with other packages installed than there are."""

    def check(requirements: list[str], **versions: str) -> dict[tuple[str, str], Check]:
        def version(name: str) -> str:
            if name not in versions:
                raise metadata.PackageNotFoundError(name)
            return versions[name]

        monkeypatch.setattr(doctor_checks.metadata, "requires", lambda _: requirements)
        monkeypatch.setattr(doctor_checks.metadata, "version", version)
        return by_name(list(doctor_checks._packages()))

    return check


def test_missing_and_old_packages(installed: Callable[..., dict[tuple[str, str], Check]]) -> None:
    lines = [
        "numpy>=1.26",
        "openai>=2.16",
        "msgspec>=0.20",
        "inspect-ai<0.4,>=0.3.285; extra == 'inspect'",
        "sentence-transformers[image]>=6.0; extra == 'vision'",
        "torch>=2; extra == 'vision'",
        "starlette>=0.46; extra == 'view'",
        'uvicorn>=0.34; extra == "view"',
    ]
    checks = installed(
        lines,
        looseleaf="1",
        numpy="1.25.9",
        openai="2.16.0rc1",
        torch="2.13.0+cpu",
        starlette="1.10.0",
        uvicorn="0.34",
        **{"inspect-ai": "0.4.1"},
    )
    found = {name: (check.status, check.detail) for (_, name), check in checks.items()}
    assert found["numpy"] == (
        "problem",
        "is 1.25.9 and must be >=1.26; use: pip install --upgrade looseleaf",
    )
    assert found["msgspec"][0] == "problem"
    assert "is not installed" in found["msgspec"][1]
    assert found["openai"] == ("ok", "2.16.0rc1")
    assert found["inspect"][0] == "problem"
    assert "inspect-ai must be <0.4,>=0.3.285" in found["inspect"][1]
    assert found["vision"] == ("absent", 'pip install "looseleaf[vision]" (there is torch 2.13.0+cpu)')
    assert found["view"] == ("ok", "starlette 1.10.0, uvicorn 0.34")


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("2.0", ">=2", True),
        ("2", ">=2.0.0", True),
        ("0.3.284", "<0.4,>=0.3.285", False),
        ("0.3.285", "<0.4,>=0.3.285", True),
        ("0.10", ">=0.9", True),
        ("3.0", "<3", False),
        ("1", "==1.0", True),
        ("1", "", True),
    ],
)
def test_version_ranges(version: str, wanted: str, fits: bool) -> None:
    assert doctor_checks._fits(version, wanted) is fits
