"""`ChatClient`: asks a server and gets a reply, through cache, limits and retries."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import msgspec

from looseleaf.document.cache import default_cache, default_root
from looseleaf.errors import ContextOverflowError, ProviderError
from looseleaf.models.chat.backoff import MAX_ASKED, wait_seconds
from looseleaf.models.chat.faults import Fault, FaultKind, error_words, fault_of_status, sentence
from looseleaf.models.chat.limiter import Limiter
from looseleaf.models.chat.message import Message, Wire, wire
from looseleaf.models.chat.options import OPENAI_URL, ChatOptions
from looseleaf.models.chat.prices import Price
from looseleaf.models.chat.reply import Reply, ReplyError, read_reply
from looseleaf.models.chat.sampling import current_document, current_sample
from looseleaf.models.chat.server import ChatServer, ServerError
from looseleaf.models.chat.servers import ChatServers
from looseleaf.models.chat.snapshot import heard
from looseleaf.roles import Usage

__all__ = ["ChatClient", "Counters", "RefusedError"]

CHAT_PATH = "/chat/completions"
SUPPRESSED_BIAS = -100.0
"""Logit bias of a suppressed token (ALDEN @ 8a0d3d4: image tokens; OpenAI: -100 bans a token).
A float, since transformers 5.24 refuses integers."""
CACHE_VERSION = 1
"""Version of the response cache's keys; raised when the same request would come to mean something else."""
SLOW_RETRIES = 3
"""Most attempts after one that brought no answer in time: each may cost a whole timeout."""
OUTAGE = 8
"""Requests in a row that must fail on every attempt before the server counts as down: from then on a request gets
one attempt, so that an outage ends a run soon, until one succeeds again."""


class RefusedError(ProviderError):
    """There is no reply, and it is known what kind of fault that is.

    Attributes:
        fault: what.
    """

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class Counters(msgspec.Struct):
    """What a client has done since it was made.

    Attributes:
        sent: requests that went out, attempts counted singly.
        retried: attempts after the first one.
        cached: replies taken from the cache.
        spent: tokens and cost of what went out; cached replies cost nothing.
        most_in_flight: most requests in flight at once.
    """

    sent: int = 0
    retried: int = 0
    cached: int = 0
    spent: Usage = Usage()
    most_in_flight: int = 0


class ChatClient:
    """One model on one server or on several, as one role.

    Args:
        server: where it is.
        model: its name there.
        options: how to ask.
        price: what tokens cost, if the user said so.
        identity: what stands for the server in cache keys; by default its base URL, of several the first one's.
        rng: source of jitter.
    """

    def __init__(
        self,
        server: ChatServer | ChatServers,
        model: str,
        options: ChatOptions,
        *,
        price: Price | None = None,
        identity: str = "",
        rng: random.Random | None = None,
    ) -> None:
        self.server = server
        self.model = model
        self.options = options
        self.counters = Counters()
        self.price = price
        self._identity = identity or server.base_url
        self._rng = rng or random.Random()  # noqa: S311
        self._limiter = Limiter(options.max_in_flight, options.max_tokens_in_flight)
        self._cache = default_cache() if options.cache and default_root() is not None else None
        self._failed_in_a_row = 0

    async def complete(
        self, messages: list[Message], *, fields: dict[str, Any] | None = None, cached: bool = True
    ) -> Reply:
        """The model's reply; its usage carries the cost.

        Args:
            messages: the conversation.
            fields: further fields of the body, e.g. tool definitions.
            cached: whether the cache may be used.

        Raises:
            ContextOverflowError: the conversation does not fit the model's context.
            RefusedError: there is no reply to be had.
        """
        request = wire(self._fields() | (fields or {}) | self.options.extra, messages)
        key = self._key(request) if cached and self._cache is not None else ""
        found = self._look_up(key)
        if found is not None:
            self.counters.cached += 1
            heard(found.model)
            return self._priced(found)
        tokens = sum(message.tokens for message in messages) + self.options.max_tokens
        body, reply = await self._ask(request, tokens)
        heard(reply.model)
        reply = self._priced(reply)
        self.counters.spent += reply.usage
        if key and self._cache is not None:
            self._cache.put(key, body)
        return reply

    # -- the request ------------------------------------------------------------------------------------------

    def _fields(self) -> dict[str, Any]:
        options, seed = self.options, current_sample().seed
        bias = {str(token): SUPPRESSED_BIAS for token in options.suppress}
        fields = {
            "model": self.model,
            self.longest_name: options.max_tokens,
            "temperature": None if options.temperature == "default" else options.temperature,
            "top_p": options.top_p,
            "seed": seed if options.send_seed else None,
            "logit_bias": bias or None,
            "stream": False,
        }
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def longest_name(self) -> str:
        """Field of the longest reply: OpenAI's newer models know only the newer name, other servers the old one."""
        return "max_completion_tokens" if self.server.base_url.startswith(OPENAI_URL) else "max_tokens"

    def _key(self, request: Wire) -> str:
        digest = request.key(str(CACHE_VERSION), self._identity, str(current_sample().number))
        return f"replies/{digest[:2]}/{digest}"

    def _look_up(self, key: str) -> Reply | None:
        body = self._cache.get(key) if key and self._cache is not None else None
        try:
            return read_reply(body) if body is not None else None
        except ReplyError:
            return None

    def _priced(self, reply: Reply) -> Reply:
        if self.price is None:
            return reply
        usage = reply.usage
        cost = self.price.cost(usage.prompt_tokens, usage.completion_tokens, reply.cached_tokens)
        return reply._replace(usage=msgspec.structs.replace(usage, cost=cost))

    # -- attempts ---------------------------------------------------------------------------------------------

    async def _ask(self, request: Wire, tokens: int) -> tuple[bytes, Reply]:
        faults: list[Fault] = []
        while True:
            try:
                answered = await self._attempt(request, tokens)
            except ServerError as problem:
                faults.append(problem.fault)
                await self._wait_or_give_up(faults)
                self.counters.retried += 1
            else:
                self._failed_in_a_row = 0
                return answered

    async def _attempt(self, request: Wire, tokens: int) -> tuple[bytes, Reply]:
        async with self._limiter.slot(tokens):
            self.counters.sent += 1
            self.counters.most_in_flight = max(self.counters.most_in_flight, self._limiter.in_flight)
            body = await self.server.post(CHAT_PATH, request.body(), document=current_document())
        try:
            return body, read_reply(body)
        except ReplyError as problem:
            words = self.server.key.redact(error_words(problem.error) if problem.error else str(problem))
            raise ServerError(fault_of_status(200, words)) from None

    async def _wait_or_give_up(self, faults: list[Fault]) -> None:
        """Wait for the next attempt, or raise what the last one's fault means."""
        fault = faults[-1]
        if fault.kind not in {FaultKind.PASSING, FaultKind.SLOW}:
            raise self._final(fault)
        slow = sum(one.kind is FaultKind.SLOW for one in faults)
        allowed = 0 if self._failed_in_a_row >= OUTAGE else self.options.retries
        if len(faults) > allowed or slow > SLOW_RETRIES or (fault.retry_after or 0) > MAX_ASKED:
            self._failed_in_a_row += 1
            raise self._final(fault)
        await asyncio.sleep(wait_seconds(len(faults) - 1, fault.retry_after, self._rng))

    def sentence(self, fault: Fault) -> str:
        """What happened and what to change."""
        return sentence(fault, self.model, self.server.base_url, self.server.key.variable)

    def _final(self, fault: Fault) -> Exception:
        message = self.sentence(fault)
        if fault.kind is FaultKind.OVERFLOW:
            return ContextOverflowError(message)
        return RefusedError(fault, message)
