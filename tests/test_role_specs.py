"""Roles by name: the words of the command line, one's own code, scripts and fixed replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Action, WorkingMemory
from looseleaf.errors import ConfigError
from looseleaf.models.python_factory import make_from_factory
from looseleaf.models.registry import make_extractor, make_judge, make_policy, make_reader
from looseleaf.models.role_spec import RoleSpec
from looseleaf.models.scripted import ConstantReader, FixedExtractor, FixedJudge, ScriptedPolicy


@pytest.mark.parametrize(
    ("text", "backend", "argument"),
    [
        ("embedded", "embedded", ""),
        ("embedded:echo", "embedded", "echo"),
        ("openai:org/model:free", "openai", "org/model:free"),
        ("python:pkg.mod:make", "python", "pkg.mod:make"),
        (" none ", "none", ""),
    ],
)
def test_one_word_names_a_role(text: str, backend: str, argument: str) -> None:
    spec = RoleSpec.parse(text)
    assert (spec.backend, spec.argument, spec.options) == (backend, argument, {})
    assert spec.name == text.strip()


def test_options_that_were_not_given_are_not_stored() -> None:
    spec = RoleSpec.parse("openai:m", base_url="http://127.0.0.1:8000/v1", temperature=None)
    assert spec.as_config() == {
        "backend": "openai",
        "argument": "m",
        "options": {"base_url": "http://127.0.0.1:8000/v1"},
    }
    assert RoleSpec.parse("embedded").as_config() == {"backend": "embedded", "argument": ""}


@pytest.mark.parametrize("text", ["", "   ", ":x"])
def test_an_empty_role_is_a_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match="A role is empty; use embedded"):
        RoleSpec.parse(text)


@pytest.mark.parametrize("make", [make_policy, make_reader, make_extractor, make_judge])
def test_an_unknown_backend_names_the_known_ones(make: Callable[[RoleSpec], Any]) -> None:
    with pytest.raises(ConfigError, match=r"There is no \w+ 'psychic:x'; use one of .*python:module:factory"):
        make(RoleSpec.parse("psychic:x"))


def test_no_extractor_and_no_judge_are_choices() -> None:
    assert make_extractor(RoleSpec.parse("none")) is None
    assert make_judge(RoleSpec.parse("none")) is None


FACTORY = """
calls = []

class Role:
    def __init__(self, **options):
        self.options = options

    def act(self, view):
        return None

def make(**options):
    calls.append(options)
    return Role(**options)

def broken():
    raise ValueError("no weights here")

def nothing():
    return object()

value = 3
"""


def test_ones_own_factory_gets_the_options(agent_module: Callable[[str], str]) -> None:
    module = agent_module(FACTORY)
    spec = RoleSpec.parse(f"python:{module}:make", size=3)
    assert make_policy(spec).options == {"size": 3}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("{}", "does not name a factory; use python:module:factory"),
        ("{}:", "does not name a factory"),
        (":make", "does not name a factory"),
        ("{}:absent", "no function 'absent'"),
        ("{}:value", "no function 'value'"),
        ("{}:broken", "ValueError: no weights here"),
        ("{}:nothing", "has no method 'act'"),
        ("no.such.module:make", "'no.such.module' cannot be imported"),
    ],
)
def test_a_factory_that_cannot_be_used_is_a_sentence(
    agent_module: Callable[[str], str], argument: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        make_from_factory(argument.format(agent_module(FACTORY)), "act", {})


@pytest.mark.parametrize("source", ["import nothing_of_the_kind\n", "def (\n", "raise RuntimeError('x')\n"])
def test_a_module_that_does_not_import_is_a_sentence(agent_module: Callable[[str], str], source: str) -> None:
    with pytest.raises(ConfigError, match="cannot be imported"):
        make_from_factory(f"{agent_module(source)}:make", "act", {})


def test_a_module_of_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent_of_this_folder.py").write_text(FACTORY, encoding="utf-8")
    monkeypatch.syspath_prepend("/nowhere")  # restores sys.path afterwards
    monkeypatch.chdir(tmp_path)
    assert make_from_factory("agent_of_this_folder:make", "act", {}).options == {}


# -- scripts and fixed replies -------------------------------------------------------------------------------------

LINES = '{"name": "search", "arguments": {"query": "a"}}\n{"name": "answer", "arguments": {"text": "7"}}\n'


class View:
    """As much of a view as a script looks at."""

    def __init__(self, question: str, turns: int) -> None:
        self.question = question
        self.history = ((None, None),) * turns


def test_a_script_is_json_lines_of_actions(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(LINES, encoding="utf-8")
    policy = make_policy(RoleSpec.parse(f"scripted:{path}"))
    turns = [policy.act(View("Q", turn)) for turn in range(3)]  # type: ignore[arg-type]
    assert turns == [Action.search("a"), Action.answer("7"), Action.answer("Not answerable")]


def test_a_script_may_differ_by_question(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    scripts = {"Q": [{"name": "answer", "arguments": {"text": "q"}}], "*": []}
    path.write_text(json.dumps(scripts), encoding="utf-8")
    policy = ScriptedPolicy.from_file(path)
    assert policy.act(View("Q", 0)) == Action.answer("q")  # type: ignore[arg-type]
    assert policy.act(View("Other", 0)) == Action.answer("Not answerable")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content", ["", "hello", "[1]", '{"name": 3}', '{"name": "x", "arguments": []}', "\xff"]
)
def test_a_script_that_cannot_be_read_is_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"script\.jsonl cannot be read .*; give JSON lines of actions"):
        ScriptedPolicy.from_file(path)
    with pytest.raises(ConfigError, match="use scripted:FILE"):
        make_policy(RoleSpec.parse("scripted"))


def test_fixed_replies() -> None:
    assert ConstantReader("7").read("Q", WorkingMemory()).text == "7"
    assert ConstantReader().read("Q", WorkingMemory()).text == "Not answerable"
    assert FixedExtractor("x").extract("Q", "R").text == "x"
    assert FixedJudge("{}").judge("P").text == "{}"
    assert make_reader(RoleSpec.parse("constant:9")).read("Q", WorkingMemory()).text == "9"  # type: ignore[union-attr]
