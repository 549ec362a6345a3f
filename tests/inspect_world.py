"""Models of Inspect that play a script, and running a task with them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval_async
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model

from looseleaf import Action

NOISE = (
    "ignore:The 'initial' parameter is deprecated:DeprecationWarning",
    "ignore:unclosed:ResourceWarning",
    "ignore:Unclosed:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
"""Warnings of Inspect's own libraries (tenacity, anyio) that are no business of ours."""
USAGE = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
"""Set on every output, since mockllm would else fetch a tokenizer to count."""


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

    log = asyncio.run(run())
    gc.collect()  # Inspect leaves streams open; they must complain here, not in somebody else's test
    return log
