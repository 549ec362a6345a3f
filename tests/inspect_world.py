"""The scripted world of `parity_world` as a question file, and models of Inspect that play a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import Task, eval_async
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model

import parity_world
from looseleaf import Action
from looseleaf.runner.config import DataConfig, RunConfig

NOISE = (
    "ignore:The 'initial' parameter is deprecated:DeprecationWarning",
    "ignore:unclosed:ResourceWarning",
    "ignore:Unclosed:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
"""Warnings of Inspect's own libraries (tenacity, anyio) that are no business of ours."""
USAGE = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
"""Set on every output, since mockllm would else fetch a tokenizer to count."""


class Files(NamedTuple):
    """A question file and its documents."""

    questions: Path
    docs: Path

    @property
    def data(self) -> DataConfig:
        return DataConfig(benchmark=str(self.questions), path=str(self.docs))


def parity_files(folder: Path) -> Files:
    """The question and the document of `parity_world`."""
    docs = folder / "docs"
    docs.mkdir()
    parity_world.make_world(docs)
    row = {
        "doc_id": "railway.pdf",
        "question": parity_world.QUESTION,
        "answer": "12",
        "answer_format": "Int",
        "evidence_pages": [3],
        "evidence_sources": ["Table", "Chart"],
    }
    questions = folder / "mini.jsonl"
    questions.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return Files(questions, docs)


def output(action: Action | str) -> ModelOutput:
    """A generation that calls one tool, or only says something."""
    if isinstance(action, str):
        made = ModelOutput.from_content("mockllm/model", action)
    else:
        made = ModelOutput.for_tool_call("mockllm/model", action.name, action.arguments, content="I look.")
    made.usage = USAGE
    return made


def playing(script: Sequence[Action | str]) -> Model:
    """A model that plays the script, turn by turn of each conversation."""

    def play(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        return output(script[sum(message.role == "assistant" for message in messages)])

    return get_model("mockllm/model", custom_outputs=play)


def run_task(task: Task, model: Model, folder: Path, **settings: Any) -> EvalLog:
    """Run a task quietly and close the model; the log is in `folder`."""

    async def run() -> EvalLog:
        async with model:
            return (await eval_async(task, model=model, log_dir=str(folder), **settings))[0]

    return asyncio.run(run())


def script_file(folder: Path, script: Sequence[Action]) -> Path:
    """The script as `--policy scripted:FILE` reads it."""
    path = folder / "script.jsonl"
    lines = (json.dumps({"name": action.name, "arguments": action.arguments}) for action in script)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run_config(files: Files, **changes: Any) -> RunConfig:
    """A run over the files by our own runner."""
    return RunConfig(data=files.data, **changes)
