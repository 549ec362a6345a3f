"""`Limiter`: how many requests and estimated tokens of a role may be in flight, first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

__all__ = ["Limiter"]


class _Waiting(NamedTuple):
    tokens: int
    turn: asyncio.Future[None]


class Limiter:
    """Lends slots. A request with more tokens than the limit runs when nothing else does.

    Args:
        requests: most requests in flight.
        tokens: most tokens in flight, or `None`.
    """

    def __init__(self, requests: int, tokens: int | None = None) -> None:
        self._max_requests = requests
        self._max_tokens = tokens
        self._requests = 0
        self._tokens = 0
        self._queue: deque[_Waiting] = deque()

    @property
    def in_flight(self) -> int:
        """Requests in flight."""
        return self._requests

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[None]:
        """Hold a slot for a request of so many tokens, waiting for it if need be."""
        await self._enter(tokens)
        try:
            yield
        finally:
            self._leave(tokens)

    async def _enter(self, tokens: int) -> None:
        if not self._queue and self._fits(tokens):
            self._take(tokens)
            return
        waiting = _Waiting(tokens, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        try:
            await waiting.turn
        except asyncio.CancelledError:
            if waiting.turn.done() and not waiting.turn.cancelled():
                self._leave(tokens)
            else:
                with suppress(ValueError):  # already passed over by `_admit`
                    self._queue.remove(waiting)
                self._admit()
            raise

    def _fits(self, tokens: int) -> bool:
        if self._requests >= self._max_requests:
            return False
        return self._max_tokens is None or self._requests == 0 or self._tokens + tokens <= self._max_tokens

    def _take(self, tokens: int) -> None:
        self._requests += 1
        self._tokens += tokens

    def _leave(self, tokens: int) -> None:
        self._requests -= 1
        self._tokens -= tokens
        self._admit()

    def _admit(self) -> None:
        while self._queue and self._fits(self._queue[0].tokens):
            waiting = self._queue.popleft()
            if not waiting.turn.done():
                self._take(waiting.tokens)
                waiting.turn.set_result(None)
