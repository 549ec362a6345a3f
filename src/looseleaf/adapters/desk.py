"""`Desk`: one question after another over a folder of documents, for an assistant that calls tools.

It drives the same `Environment` as everything else, one call a turn. What the assistant does wrong is an observation;
a question ends with its answer, with the budget, or on a fault, and is then a trajectory like any other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from looseleaf.adapters.desk_questions import FreeQuestions, ListedQuestions
from looseleaf.adapters.desk_record import DeskRecord
from looseleaf.adapters.desk_tools import ASK, CHECK_MEMORY, LIST_DOCUMENTS, LIST_QUESTIONS
from looseleaf.agent import resolved
from looseleaf.environment import Environment
from looseleaf.errors import AgentError, FaultError, UserError, boundary
from looseleaf.models.chat.actions import tool_definitions
from looseleaf.models.chat.images import shrink
from looseleaf.models.prompts import render_question, render_system
from looseleaf.protocol import ALDEN_MAX_PIXELS, Protocol
from looseleaf.roles import Action, Observation, PolicyTurn, Reader
from looseleaf.trajectory import StopReason

__all__ = ["Desk", "DeskOptions", "PagePart", "Said"]

NOTHING_OPEN = "No question is open; open one with ask."
STILL_OPEN = "Refused: a question is still open; give its answer with answer first."
NOT_YET = "Refused: the memory is checked when the question has ended; give your answer first."
OVER = "This question has ended; open another one with ask."
NO_MEMORY = "This protocol has no memory to be checked."


class PagePart(NamedTuple):
    """One shown page.

    Attributes:
        text: its line, and what is printed on it.
        jpeg: its image, or `None` where pages are shown as text.
    """

    text: str
    jpeg: bytes | None


class Said(NamedTuple):
    """What a tool answers: words, and the pages that are shown."""

    text: str
    pages: tuple[PagePart, ...] = ()


class DeskOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a desk works.

    Attributes:
        protocol: the rules.
        pages: what the assistant sees of a page: its image, its text layer, or both.
        max_pixels: pages are made smaller until width × height is at most this; replies of tools may not be large.
        reader: name of the reader, for the verdict.
    """

    protocol: Protocol
    pages: Literal["images", "text", "both"] = "both"
    max_pixels: int = ALDEN_MAX_PIXELS
    reader: str = "embedded"


class Desk:
    """Answers tool calls, one at a time.

    Args:
        documents: names of the documents.
        questions: what can be asked.
        reader: answers from the findings alone.
        options: how it works.
        record: where trajectories go, if they are kept.

    Attributes:
        client: name of the assistant, for the record.
    """

    def __init__(
        self,
        documents: tuple[str, ...],
        questions: FreeQuestions | ListedQuestions,
        reader: Reader,
        options: DeskOptions,
        record: DeskRecord | None = None,
    ) -> None:
        self._documents = documents
        self._questions = questions
        self._reader = reader
        self._options = options
        self._record = record
        self.client = ""
        self._environment: Environment | None = None
        self._lock = asyncio.Lock()
        self._opened = self._last = time.perf_counter()

    def tools(self) -> list[dict[str, Any]]:
        """Tools as function definitions: those of the desk, and the protocol's actions in the usual words."""
        listed = [LIST_QUESTIONS] if isinstance(self._questions, ListedQuestions) else []
        actions = [definition["function"] for definition in tool_definitions(self._options.protocol)]
        return [LIST_DOCUMENTS, *listed, ASK, *actions, CHECK_MEMORY]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Said:
        """Answer a call; never raises for what the assistant did."""
        async with self._lock:
            said = await self._answer(name, arguments)
            self._last = time.perf_counter()
            return said

    async def _answer(self, name: str, arguments: Mapping[str, Any]) -> Said:
        if name == LIST_DOCUMENTS["name"]:
            return Said("\n".join(self._documents))
        if name == LIST_QUESTIONS["name"] and isinstance(self._questions, ListedQuestions):
            return Said(self._questions.listing())
        if name == ASK["name"]:
            return await asyncio.to_thread(self._ask, arguments)
        if name == CHECK_MEMORY["name"]:
            return Said(await self._check_memory())
        return await self._act(name, arguments)

    def close(self) -> None:
        """End an open question as cancelled: the assistant went away, which is no answer of its own."""
        if self._environment is not None and not self._environment.done:
            self._environment.stop(StopReason.CANCELLED, "The client went away.")
            self._keep(self._environment)

    # -- a question ---------------------------------------------------------------------------------------------

    def _ask(self, arguments: Mapping[str, Any]) -> Said:
        if self._environment is not None and not self._environment.done:
            return Said(STILL_OPEN)
        try:
            inquiry = self._questions.open(
                str(arguments.get("question", "")), str(arguments.get("document") or "")
            )
            environment = Environment(*inquiry[:3], self._options.protocol, window=inquiry.window)
        except (UserError, FaultError) as problem:
            return Said(str(problem))
        self._environment = environment
        self._opened = self._last = time.perf_counter()
        rules = render_system(self._options.protocol, "tools")
        opening = environment.opening
        text = f"{rules}\n\n{render_question(environment.question, environment.page_count)}"
        return Said(text, () if opening is None else self._pages(environment, opening))

    async def _act(self, name: str, arguments: Mapping[str, Any]) -> Said:
        environment = self._environment
        if environment is None or environment.done:
            return Said(NOTHING_OPEN if environment is None else OVER)
        turn = PolicyTurn(action=Action(name, dict(arguments)))
        try:
            observation = await asyncio.to_thread(
                environment.step, turn, seconds=time.perf_counter() - self._last
            )
        except FaultError as problem:
            environment.stop(StopReason.PROVIDER_ERROR, str(problem))
            observation = Observation(str(problem))
        if environment.done:
            self._keep(environment)
            return Said(await self._ending(environment, observation))
        left = environment.turns_left
        words = f"{observation.text}\nTurns left: {left}.{' Give your answer now.' if left == 1 else ''}"
        return Said(words, await asyncio.to_thread(self._pages, environment, observation))

    def _keep(self, environment: Environment) -> None:
        if self._record is not None:
            trajectory = environment.trajectory(seconds=time.perf_counter() - self._opened)
            self._record.append(trajectory, self.client)

    async def _ending(self, environment: Environment, observation: Observation) -> str:
        reason = environment.stop_reason
        lines = [observation.text] if observation.text else []
        lines.append(
            "Your answer is recorded."
            if reason is StopReason.ANSWERED
            else f"The question has ended without an answer ({reason})."
        )
        if self._options.protocol.memory != "none":
            lines.append(await self._check_memory())
        return "\n".join(lines)

    def _pages(self, environment: Environment, observation: Observation) -> tuple[PagePart, ...]:
        return tuple(self._page(environment, page) for page in observation.shown)

    def _page(self, environment: Environment, page: int) -> PagePart:
        label = environment.page_label(page)
        line = f"Page {page}:" if label == str(page) else f"Page {page} (printed number {label}):"
        if self._options.pages != "images":
            line = f"{line}\n{environment.page_text(page)}"
        if self._options.pages == "text":
            return PagePart(line, None)
        return PagePart(line, shrink(environment.page_image(page), self._options.max_pixels, None).jpeg)

    # -- the memory check ---------------------------------------------------------------------------------------

    async def _check_memory(self) -> str:
        """What a reader makes of the notes alone; only of a question that has ended, so that it is no hint."""
        environment = self._environment
        if environment is None or not environment.done:
            return NOTHING_OPEN if environment is None else NOT_YET
        if self._options.protocol.memory == "none":
            return NO_MEMORY
        try:
            with boundary(AgentError, "The reader failed"):
                reading = await resolved(self._reader.read(environment.question, environment.memory))
        except FaultError as problem:
            return f"The memory could not be checked: {problem}"
        said = f"From the notes alone a reader answers: {reading.text} (reader: {self._options.reader})."
        if environment.answer is None:
            return said
        same = _normalised(reading.text) == _normalised(environment.answer)
        return f"{said} {'That is your answer.' if same else 'That is not your answer word for word.'}"


def _normalised(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .")
