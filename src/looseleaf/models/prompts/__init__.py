"""Prompts: our own wording, one versioned file each, hashed so that a run says which ones it used.

A file is `<name>.v<version>.md` with `$placeholders` of `string.Template`. A changed wording is a new version, a
new file; the old one goes. `prompt_hashes()` belongs into the manifest of every run with a model.
"""

from __future__ import annotations

import functools
import hashlib
import string
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from looseleaf.errors import ConfigError
from looseleaf.memory import MAX_FINDING_WORDS
from looseleaf.protocol import PROTOCOLS, Protocol
from looseleaf.scoring import extraction

__all__ = [
    "ActionFormat",
    "action_texts",
    "default_format",
    "fill",
    "prompt_hash",
    "prompt_hashes",
    "prompt_text",
    "render_prompt",
    "render_question",
    "render_system",
]

ActionFormat = Literal["tools", "tags", "json", "text"]
"""How actions are written: tool calls, tags, one JSON object, or (for protocols with one answer) plain text."""

VERSIONS = {
    "awm": 1,
    "alden": 1,
    "direct": 1,
    "rag": 1,
    "ep-given": 1,
    "question": 1,
    "memory-mandatory": 1,
    "memory-optional": 1,
    "actions-tools": 1,
    "actions-tags": 1,
    "actions-json": 1,
    "actions-text": 1,
    "reader": 1,
    "canary": 1,
}
"""The version in use of each prompt."""

ACTIONS_FILE = "actions.v1.toml"
"""Descriptions of the actions, shared by tool definitions and the tag and JSON forms."""


def prompt_text(name: str, own_file: str = "") -> str:
    """The wording of a prompt, with its placeholders.

    Args:
        name: one of `VERSIONS`.
        own_file: the user's own wording in place of it, or empty.

    Raises:
        ConfigError: the user's file cannot be read.
    """
    if not own_file:
        return _shipped(f"{name}.v{VERSIONS[name]}.md")
    try:
        return Path(own_file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(
            f"The prompt file {own_file} cannot be read ({problem}); give a UTF-8 text file."
        ) from problem


@functools.cache
def _shipped(file: str) -> str:
    return resources.files(__name__).joinpath(file).read_text(encoding="utf-8")


@functools.cache
def action_texts() -> dict[str, dict[str, str]]:
    """What each action does and takes, by action name."""
    texts: dict[str, dict[str, str]] = tomllib.loads(_shipped(ACTIONS_FILE))
    return texts


def prompt_hash(text: str) -> str:
    """SHA-256 of a prompt's wording, placeholders unfilled."""
    return hashlib.sha256(text.encode()).hexdigest()


def prompt_hashes(*own_files: str) -> dict[str, str]:
    """SHA-256 of every shipped prompt and of the user's own ones, by file name or path.

    The extractor's is kept with the scorers that parse what it leads to (`looseleaf.scoring.extraction`).

    Raises:
        ConfigError: one of the user's files cannot be read.
    """
    files = [f"{name}.v{version}.md" for name, version in VERSIONS.items()] + [ACTIONS_FILE]
    shipped = {file: prompt_hash(_shipped(file)) for file in sorted(files)}
    shipped["extractor"] = prompt_hash(extraction.INSTRUCTIONS)
    return shipped | {file: prompt_hash(prompt_text("", file)) for file in own_files if file}


def default_format(protocol: Protocol) -> ActionFormat:
    """The action format of a protocol: ALDEN's tags, plain text where there is only an answer, else tool calls."""
    if protocol.actions == ("answer",):
        return "text"
    return "tags" if _base_name(protocol) == "alden" else "tools"


def render_prompt(
    protocol: Protocol, question: str, page_count: int, actions: ActionFormat | None = None
) -> str:
    """Everything that a policy reads before its first turn, as one text to print.

    Args:
        protocol: the rules.
        question: as asked.
        page_count: pages of the document.
        actions: how actions are written; by default the protocol's own format.
    """
    system = render_system(protocol, actions or default_format(protocol))
    return f"{system}\n\n{render_question(question, page_count)}"


def render_system(protocol: Protocol, actions: ActionFormat, own_file: str = "") -> str:
    """The system message of a protocol.

    Raises:
        ConfigError: the user's own prompt cannot be read or has an unknown placeholder.
    """
    text = fill(
        prompt_text(_base_name(protocol), own_file),
        own_file or _base_name(protocol),
        max_turns=protocol.max_turns,
        shown_k=protocol.shown_k,
        finding_words=MAX_FINDING_WORDS,
        memory=_memory_rules(protocol),
        actions=_action_rules(protocol, actions),
    )
    return _without_gaps(text)


def render_question(question: str, page_count: int) -> str:
    """The user's first message."""
    return fill(prompt_text("question"), "question", question=question, page_count=page_count).strip()


def fill(text: str, where: str, **values: Any) -> str:
    """Fill the placeholders.

    Raises:
        ConfigError: there is a placeholder without a value, or a stray `$`.
    """
    try:
        return string.Template(text).substitute(values)
    except (KeyError, ValueError) as problem:
        raise ConfigError(
            f"The prompt {where} has a placeholder that cannot be filled ({problem}); "
            f"it may use ${', $'.join(values)}, and $$ for a dollar sign."
        ) from problem


def _base_name(protocol: Protocol) -> str:
    """The named protocol that this one is or was made from; a home-made one by how it starts."""
    name = protocol.name.partition("[")[0]
    if name in PROTOCOLS:
        return name
    return {"nothing": "awm", "all-pages": "direct", "search": "rag"}[protocol.opening]


def _memory_rules(protocol: Protocol) -> str:
    if protocol.memory == "none":
        return ""
    mandatory = protocol.memory == "mandatory" and protocol.note_turn == "own"
    name = "memory-mandatory" if mandatory else "memory-optional"
    return fill(prompt_text(name), name, finding_words=MAX_FINDING_WORDS).strip()


def _action_rules(protocol: Protocol, actions: ActionFormat) -> str:
    name = f"actions-{actions}"
    riding = protocol.memory != "none" and protocol.note_turn == "inside" and actions != "text"
    return fill(
        prompt_text(name),
        name,
        forms="\n".join(_form(action, actions) for action in protocol.actions),
        riding="\n" + action_texts()["riding"][actions] if riding else "",
    ).strip()


def _form(action: str, actions: ActionFormat) -> str:
    texts = action_texts()[action]
    if actions == "tags":
        return f"- {texts['tag']}  {texts['description']}"
    arguments = ", ".join(f'"{name}": …' for name in texts if name not in {"description", "tag"})
    return f'- {{"thought": "…", "call": {{"action": "{action}", {arguments}}}}}  {texts["description"]}'


def _without_gaps(text: str) -> str:
    """One empty line where an empty section left several."""
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip()
