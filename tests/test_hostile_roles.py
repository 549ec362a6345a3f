"""RUN folders of other people: what they name as readers, judges and policies is never loaded or sent to by itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from lab_runs import Case, config_for, write_run
from looseleaf.errors import ConfigError
from looseleaf.models.role_spec import RoleSpec
from looseleaf.runner.lab.answers import answerer_of
from looseleaf.runner.lab.config import last_score_config, stored_role
from looseleaf.runstore import Run

TRAP = "from pathlib import Path\nPath({mark!r}).write_text('run')\ndef make(**options): raise SystemExit\n"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Path]:
    """A stored role whose module leaves a mark when it is imported, and the mark."""
    mark = tmp_path / "mark"
    (tmp_path / "trap_of_a_run.py").write_text(TRAP.format(mark=str(mark)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "trap_of_a_run", raising=False)
    return {"backend": "python", "argument": "trap_of_a_run:make", "options": {}}, mark


def foreign(folder: Path, **roles: Any) -> Run:
    run = write_run(folder, [Case("7 m", "7 m", [(2, "The oak is 7 m.")])])
    run.write_config(run.config | {"roles": roles})
    return run


@pytest.mark.parametrize("role", ["reader", "extractor", "judge"])
def test_the_lab_imports_nothing_that_a_run_names(
    tmp_path: Path, cli: Cli, trap: tuple[dict[str, Any], Path], role: str
) -> None:
    table, mark = trap
    foreign(tmp_path / "run", **{role: [table] if role == "reader" else table})
    done = cli("lab", tmp_path / "run", "--grounding", "none")
    assert done.code == 2
    assert f"--{role}" in done.err
    assert not mark.exists()


def test_replay_imports_no_policy_that_only_the_run_names(
    tmp_path: Path, cli: Cli, trap: tuple[dict[str, Any], Path]
) -> None:
    table, mark = trap
    run = foreign(tmp_path / "run", policy=table)
    with pytest.raises(ConfigError, match="--answer-model"):
        answerer_of(run, config_for("nobody", answerer="replay"))
    done = cli("lab", tmp_path / "run", "--answerer", "replay", "--grounding", "none")
    assert done.code == 2
    assert not mark.exists()


def test_the_user_may_name_the_policy_but_no_other_one(tmp_path: Path) -> None:
    table = {"backend": "python", "argument": "mine:make", "options": {"command": "rm"}}
    run = foreign(tmp_path / "run", policy=table)
    mine = RoleSpec(backend="python", argument="mine:make")
    assert answerer_of(run, config_for("nobody", answerer="replay", answer_model=mine))[1] is mine
    other = RoleSpec(backend="embedded")
    with pytest.raises(ConfigError, match="is python:mine:make and not embedded"):
        answerer_of(run, config_for("nobody", answerer="replay", answer_model=other))


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "http://collector.example/v1"},
        {"base_url": "http://127.0.0.1@collector.example/v1"},
        {"base_url": "http://[::1"},
        {"base_urls": ["http://127.0.0.1:1/v1", "http://collector.example/v1"]},
        {"base_urls": "http://collector.example/v1"},
        {"key_env": "AWS_SECRET_ACCESS_KEY"},
        {"base_url": "http://127.0.0.1:1/v1", "prompt": "/etc/passwd"},
    ],
)
def test_memories_go_to_no_server_and_with_no_key_that_a_run_chooses(options: dict[str, Any]) -> None:
    table = {"backend": "openai", "argument": "m", "options": options}
    with pytest.raises(ConfigError, match="if you trust it, name it with --reader"):
        stored_role(table, "reader")


@pytest.mark.parametrize("backend", ["python", "gguf", "hf", "scripted", "unheard-of"])
def test_backends_that_load_something_are_named_by_the_user(backend: str) -> None:
    with pytest.raises(ConfigError, match="name it with --judge"):
        stored_role({"backend": backend, "argument": "os:system"}, "judge")


@pytest.mark.parametrize("table", [5, [], {}, {"backend": 5}, {"backend": "embedded", "options": 5}])
def test_roles_of_wrong_types_are_one_sentence(table: Any) -> None:
    with pytest.raises(ConfigError, match=r"add --judge\.$"):
        stored_role(table, "judge")


def test_harmless_roles_are_taken_as_stored_and_the_user_has_the_last_word(
    tmp_path: Path, trap: tuple[dict[str, Any], Path]
) -> None:
    local = {"backend": "openai", "argument": "m", "options": {"base_url": "http://127.0.0.1:8000/v1"}}
    run = foreign(tmp_path / "run", reader=[local, {"backend": "embedded"}], judge=trap[0])
    mine = RoleSpec(backend="openai", argument="judge")
    found = last_score_config(run, {"judge": mine})
    assert [reader.name for reader in found.readers] == ["openai:m", "embedded"]
    assert found.judge is mine
