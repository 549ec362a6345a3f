"""The scripted world for verl: a configuration over its files, a tiny model's processor, and a server with a script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from looseleaf import Action
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import load_config
from looseleaf.training.conversation import Conversation
from looseleaf.training.processing import pictures_and_words
from parity_files import Files, parity_files
from parity_world import SCRIPT
from tiny_training import PIXELS, tiny_model

TURN = 160
"""Longest turn of the tests in tokens; the longest of the script has fewer."""
COMPLETION = 6000
"""Tokens of a rollout: the script's nine turns and three pages have fewer."""
GROUP = 4
LOGPROB = -0.5
"""What the server says of every token."""


class VerlWorld(NamedTuple):
    """Everything that a rollout on verl is made of.

    Attributes:
        files: question file and documents.
        config_file: the training configuration.
        config: the same, read.
        model: folder of the tiny model.
        processor: its processor.
    """

    files: Files
    config_file: Path
    config: TrainConfig
    model: Path
    processor: Any

    @property
    def conversation(self) -> Conversation:
        return Conversation(self.processor, self.config.protocol)


def verl_world(folder: Path, model: Path, **changes: Any) -> VerlWorld:
    """Write the world's files and a configuration; `changes` are tables that are merged into its tables."""
    files = parity_files(folder)
    given: dict[str, Any] = {
        "train": {
            "stage": "grpo",
            "model": str(model),
            "output": str(folder / "out"),
            "steps": 2,
            "groups_per_step": 1,
            "group_size": GROUP,
            "max_completion_tokens": COMPLETION,
            "max_turn_tokens": TURN,
        },
        "data": {"benchmark": str(files.questions), "path": str(files.docs)},
        "protocol": {"max_pixels": PIXELS},
        "reward": {"name": "awm"},
    }
    for name, table in changes.items():
        given[name] = given.get(name, {}) | table
    config_file = folder / "train.toml"
    config_file.write_bytes(tomli_w.dumps(given).encode())
    return VerlWorld(files, config_file, load_config(config_file), model, processor_of(model))


def processor_of(model: Path) -> Any:
    return pictures_and_words().from_pretrained(model)


def make_model(folder: Path) -> Path:
    return tiny_model(folder / "model")


def reply(conversation: Conversation, action: Action) -> list[int]:
    """The tokens with which a model would take that action."""
    call = json.dumps({"name": action.name, "arguments": action.arguments})
    return list(conversation.tokens_of_reply(f"<tool_call>{call}</tool_call>"))


def script_replies(conversation: Conversation, script: Sequence[Action] = SCRIPT) -> list[list[int]]:
    return [reply(conversation, action) for action in script]


class Reply:
    """verl's `TokenOutput` (0.9.1, `workers/rollout/replica.py`), for where there is no verl."""

    def __init__(self, **fields: Any) -> None:
        self.token_ids: list[int] = fields["token_ids"]
        self.log_probs: list[float] | None = fields.get("log_probs")
        self.stop_reason: str | None = fields.get("stop_reason")
        self.num_preempted: int | None = fields.get("num_preempted")
        self.extra_fields: dict[str, Any] = fields.get("extra_fields", {})


class Asked(NamedTuple):
    """One generation that was asked for."""

    request_id: str
    prompt_ids: list[int]
    sampling: dict[str, Any]
    images: int


class ScriptServer:
    """Stands for verl's `LLMServerClient`: every conversation is given the next script.

    Args:
        scripts: replies of each conversation; the last script serves all further ones.
        make: builds the reply.
        fails: raise in the place of the first generation.
    """

    def __init__(
        self, *scripts: Sequence[Sequence[int]], make: Any = Reply, fails: Exception | None = None
    ) -> None:
        self.asked: list[Asked] = []
        self._scripts = list(scripts)
        self._make = make
        self._fails = fails
        self._open: dict[str, Iterator[Sequence[int]]] = {}

    async def generate(
        self,
        request_id: str,
        *,
        prompt_ids: list[int],
        sampling_params: dict[str, Any],
        image_data: list[Any] | None = None,
    ) -> Any:
        if self._fails is not None:
            raise self._fails
        self.asked.append(Asked(request_id, prompt_ids, dict(sampling_params), len(image_data or [])))
        if request_id not in self._open:
            script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
            self._open[request_id] = iter(script)
        ids = list(next(self._open[request_id]))
        sampling_params.clear()  # servers take it apart
        return self._make(
            token_ids=ids,
            log_probs=[LOGPROB] * len(ids),
            extra_fields={"global_steps": 4, "min_global_steps": 4, "max_global_steps": 4},
        )
