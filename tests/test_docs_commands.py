"""Commands that are shown and not run, of the documentation and of the recipes: their verbs and options are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import typer

from doc_snippets import ROOT, Block, blocks_of, pages
from looseleaf.cli.app import app

COMMAND = re.compile(r"^(?:\$ |.* -m )?looseleaf (?P<words>.*)$")
DEFAULT_VERB = "start"
"""What a group takes an unknown first word for: `looseleaf train CONFIG.toml`."""
LEAST = 80
"""Commands that there are at least; fewer, and they are no longer found."""


class Shown(NamedTuple):
    """A command that a page shows."""

    where: str
    words: list[str]


def shown() -> Iterator[Shown]:
    for page in [*pages(), *sorted((ROOT / "recipes").rglob("*.md"))]:
        for block in blocks_of(page):
            if not block.runs or block.exempt is not None:
                yield from _commands(block)


def _commands(block: Block) -> Iterator[Shown]:
    for line in re.sub(r"\\\n\s*", " ", block.text).splitlines():
        if found := COMMAND.match(line):
            yield Shown(block.where, shlex.split(found["words"], comments=True))


def _unknown(words: list[str]) -> list[str]:
    """Verbs and options of a command that do not exist."""
    left, verb = list(words), typer.main.get_command(app)
    while left and (verbs := getattr(verb, "commands", None)) is not None and not left[0].startswith("-"):
        if left[0] not in verbs and DEFAULT_VERB not in verbs:
            return left[:1]
        verb = verbs[left.pop(0) if left[0] in verbs else DEFAULT_VERB]
    known = {"--help", *_options(verb)}
    return [word for word in left if word.startswith("--") and word.partition("=")[0] not in known]


def _options(verb: Any) -> Iterator[str]:
    for parameter in verb.params:
        yield from (*parameter.opts, *parameter.secondary_opts)


def test_commands_that_are_not_run_have_verbs_and_options_that_exist() -> None:
    every = list(shown())
    assert len(every) >= LEAST
    assert {command.where: unknown for command in every if (unknown := _unknown(command.words))} == {}


def test_a_command_that_does_not_exist_would_be_found() -> None:
    assert _unknown(["evaluate", "x"]) == ["evaluate"]
    assert _unknown(["train", "a.toml", "--dry-run", "--dri-run"]) == ["--dri-run"]
    assert _unknown(["data", "check", "x", "--data=d", "--where", "d"]) == ["--where"]
