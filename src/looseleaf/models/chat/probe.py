"""Probing a server with a few small requests before the first question is spent on it."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import msgspec

from looseleaf.errors import ConfigError, ContextOverflowError
from looseleaf.models.chat.actions import call_schema, tool_definitions
from looseleaf.models.chat.canary import Canary, blank_page
from looseleaf.models.chat.client import ChatClient, RefusedError
from looseleaf.models.chat.estimate import Load
from looseleaf.models.chat.faults import FaultKind
from looseleaf.models.chat.image_tokens import ImageFamily
from looseleaf.models.chat.message import Message, Part, TextPart
from looseleaf.models.chat.parsing import spoken_text
from looseleaf.models.chat.reply import Reply
from looseleaf.models.chat.sampling import sampling
from looseleaf.models.chat.server import ServerError
from looseleaf.models.prompts import default_format, prompt_text
from looseleaf.protocol import Protocol
from looseleaf.roles import Usage

__all__ = ["Findings", "probe"]

PROBE_TIMEOUT = 120.0
"""Most seconds for one probe: loading a model takes long, answering a word does not."""
PROBE_RETRIES = 1
FEW_TOKENS = 16
"""Longest reply of probes whose reply does not matter."""
LISTED = 8
"""Most names of a server's models that a message lists."""
CONTEXT_NAMES = ("max_model_len", "context_length", "max_context_length", "n_ctx", "context_window")
"""What servers call the context length in `/models`: vLLM and SGLang, OpenRouter, LM Studio, llama.cpp, Groq."""


class Findings(msgspec.Struct, kw_only=True):
    """What is known about a server and its model.

    Attributes:
        models: names that the server lists; empty where it lists none.
        context: tokens of the model's context, where the server tells.
        reads_images: whether the model read the canary; `None` where no image is needed.
        image_tokens: tokens that the server counted for the canary, and the formula's count.
        images: images that went through in one request.
        seconds: seconds that a probe with an image took, or the text probe where no image is needed.
        usage: what the probes took.
        notes: what is worth knowing, in sentences.
    """

    models: tuple[str, ...] = ()
    context: int | None = None
    reads_images: bool | None = None
    image_tokens: tuple[int, int] | None = None
    images: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
    notes: list[str] = []

    @property
    def token_scale(self) -> float:
        """Counted tokens of an image as a multiple of the formula's."""
        return self.image_tokens[0] / self.image_tokens[1] if self.image_tokens else 1.0


async def probe(
    client: ChatClient,
    *,
    protocol: Protocol | None = None,
    load: Load | None = None,
    family: ImageFamily | None = None,
    rng: random.Random | None = None,
) -> Findings:
    """Ask a server what a run will ask of it.

    Args:
        client: as the run will use it.
        protocol: for a policy, whose actions and images are probed too.
        load: the estimate, for how many images and bytes a request will have.
        family: how image tokens are counted.
        rng: source of the canary's code.

    Raises:
        ConfigError: the run cannot work with this server, in one sentence that says what to change.
    """
    return await _Probe(_patient(client), Findings(notes=[])).run(
        protocol, load, family, rng or random.SystemRandom()
    )


def _patient(client: ChatClient) -> ChatClient:
    """The client with fewer retries: a probe is there to find faults."""
    options = msgspec.structs.replace(
        client.options,
        retries=min(client.options.retries, PROBE_RETRIES),
        timeout=min(client.options.timeout, PROBE_TIMEOUT),
        prices="",
    )
    return ChatClient(client.server.with_timeout(options.timeout), client.model, options)


class _Probe:
    def __init__(self, client: ChatClient, found: Findings) -> None:
        self._client = client
        self._found = found

    async def run(
        self, protocol: Protocol | None, load: Load | None, family: ImageFamily | None, rng: random.Random
    ) -> Findings:
        try:
            with sampling(0):  # a seed, as in the run, since some servers refuse it
                await self._check(protocol, load, family, rng)
        finally:
            await self._client.server.close()
        return self._found

    async def _check(
        self, protocol: Protocol | None, load: Load | None, family: ImageFamily | None, rng: random.Random
    ) -> None:
        await self._list_models()
        said = await self._say_something()
        if protocol is None:
            return
        await self._act(protocol)
        if load is not None and load.most_images and family is not None:
            await self._show_canary(family, rng, said)
            await self._show_many(load, family)

    # -- steps ------------------------------------------------------------------------------------------------

    async def _list_models(self) -> None:
        """Names and context length, where there is such a list; a server without one is probed all the same."""
        try:
            listed = json.loads(await self._client.server.get("/models"))
        except ServerError as problem:
            if problem.fault.status in {0, 401}:  # not 403: a key may be barred from listing and free to chat
                raise ConfigError(self._client.sentence(problem.fault)) from None
            return
        except (ValueError, RecursionError):
            return
        entries = listed.get("data") if isinstance(listed, dict) else None
        models = [
            entry for entry in entries or () if isinstance(entry, dict) and isinstance(entry.get("id"), str)
        ]
        self._found.models = tuple(entry["id"] for entry in models)
        mine = next((entry for entry in models if self._is_mine(entry["id"])), None)
        if mine is None and len(models) == 1:
            mine = models[0]  # a server of one model answers to any name (llama.cpp)
        self._found.context = _context(mine) if mine is not None else None

    def _is_mine(self, listed: str) -> bool:
        """Gemini lists its models as `models/NAME`."""
        return listed in {self._client.model, f"models/{self._client.model}"}

    async def _say_something(self) -> Reply:
        return await self._ask([TextPart("Reply with the word OK.")], FEW_TOKENS)

    async def _act(self, protocol: Protocol) -> None:
        """Tool calls and JSON by schema, as the policy will ask for them."""
        options = self._client.options
        named = options.actions or default_format(protocol)
        if default_format(protocol) == "text" or named == "tags":
            return
        if named == "tools":
            if await self._takes(
                {"tools": tool_definitions(protocol)}, FaultKind.TOOLS, options.actions is None
            ):
                return
            self._found.notes.append("It takes no tool calls, so actions are written as JSON.")
        if options.structured is not False:
            schema = {"name": "turn", "strict": True, "schema": call_schema(protocol)}
            fields = {"response_format": {"type": "json_schema", "json_schema": schema}}
            if not await self._takes(fields, FaultKind.SCHEMA, options.structured is None):
                self._found.notes.append("It takes no JSON schema, so only the prompt asks for JSON.")

    async def _takes(self, fields: dict[str, Any], kind: FaultKind, dispensable: bool) -> bool:
        try:
            await self._client.complete(
                _message([TextPart("Begin.")]), fields=fields | _few(self._client), cached=False
            )
        except RefusedError as refused:
            if refused.fault.kind is kind and dispensable:
                return False
            raise ConfigError(str(refused)) from refused
        except ContextOverflowError as problem:
            raise ConfigError(str(problem)) from problem
        return True

    async def _show_canary(self, family: ImageFamily, rng: random.Random, said: Reply) -> None:
        canary = Canary.draw(family, rng)
        words = TextPart(prompt_text("canary").strip())
        without = await self._ask([words], FEW_TOKENS)
        began = time.perf_counter()
        reply = await self._ask([words, canary.image])
        self._found.seconds = time.perf_counter() - began
        self._found.reads_images = canary.read_in(f"{reply.reasoning} {spoken_text(reply)}")
        counted = reply.usage.prompt_tokens - without.usage.prompt_tokens
        if said.usage.prompt_tokens and counted > 0:
            self._found.image_tokens = (counted, canary.image.tokens)
        if not self._found.reads_images:
            self._judge_blind(counted, counts=said.usage.prompt_tokens > 0)

    def _judge_blind(self, counted: int, *, counts: bool) -> None:
        """A model that did not read the canary: does its server drop images, or can it just not read?"""
        if counts and counted > 0:
            self._found.notes.append(
                f"The model did not read the test page, though its server counted {counted} tokens for it; expect "
                "poor answers."
            )
            return
        raise ConfigError(
            f"{self._client.model} at {self._client.server.base_url} accepts page images but does not see them: it "
            'could not read a test page, and no tokens were counted for it; choose a vision model, or pages = "text".'
        )

    async def _show_many(self, load: Load, family: ImageFamily) -> None:
        """As many images and bytes as the largest request will have, in images of few tokens."""
        size = int((load.request_bytes - load.largest * 4) * 3 / 4 / load.most_images)
        page = blank_page(max(size, 0), family)
        await self._ask([TextPart("Reply with the word OK."), *[page] * load.most_images], FEW_TOKENS)
        self._found.images = load.most_images

    # -- asking -----------------------------------------------------------------------------------------------

    async def _ask(self, parts: list[Part], most: int | None = None) -> Reply:
        began = time.perf_counter()
        try:
            reply = await self._client.complete(
                _message(parts), fields=_few(self._client) if most else None, cached=False
            )
        except RefusedError as problem:
            raise ConfigError(self._with_names(problem)) from problem
        except ContextOverflowError as problem:
            raise ConfigError(str(problem)) from problem
        self._found.seconds = time.perf_counter() - began
        self._found.usage += reply.usage
        return reply

    def _with_names(self, problem: RefusedError) -> str:
        names = self._found.models
        if problem.fault.kind is not FaultKind.MODEL or not names:
            return str(problem)
        more = ", …" if len(names) > LISTED else ""
        return f"{str(problem).rstrip('.')}, it has {', '.join(names[:LISTED])}{more}."


def _message(parts: list[Part]) -> list[Message]:
    return [Message("user", parts)]


def _few(client: ChatClient) -> dict[str, Any]:
    return {client.longest_name: FEW_TOKENS}


def _context(entry: dict[str, Any]) -> int | None:
    """The context length of an entry of `/models`, wherever the server puts it."""
    meta = entry.get("meta")
    for place in (entry, meta if isinstance(meta, dict) else {}):
        for name in CONTEXT_NAMES:
            value = place.get(name)
            if isinstance(value, int) and value > 0:
                return value
    return None
