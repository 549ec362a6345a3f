"""`ChatServers`: several servers of one model behind one role.

A request goes to the server that its document belongs to, so that what that server has cached of the document's pages
and of the conversation so far is used; to another where that one is much busier. A server that fails is left alone
for a while and its requests go on elsewhere; only when all are out is it the outage that one server would be.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence

import msgspec

from looseleaf.models.chat.faults import Fault, FaultKind
from looseleaf.models.chat.keys import Key
from looseleaf.models.chat.server import ChatServer, ServerError

__all__ = ["ChatServers", "ServerCounts"]

TOO_MANY_REQUESTS = 429
SERVER_TROUBLE = 500
"""Statuses from here on are a server's own trouble."""

SPILL_FACTOR = 1.5
SPILL_SLACK = 4
"""A server is much busier from `SPILL_FACTOR` × the requests of the least busy one and `SPILL_SLACK` more: a cached
prefix is worth waiting for a few requests, not for a queue. The slack keeps a document's first questions together."""

STRIKES = 3
"""Failures in a row (status ≥ 500, a reset, no answer in time) after which a server is out; a connection that cannot be
made takes it out at once."""
REST_SECONDS = 5.0
"""How long a server that failed or was too busy is passed over, where there is another."""
OUT_SECONDS = 30.0
"""How long a server that is out is left alone before it is probed."""
PROBE_SECONDS = 5.0
"""Longest wait for a probe: a server that is up lists its models at once, whatever its queue."""


class ServerCounts(msgspec.Struct):
    """What one server has done.

    Attributes:
        sent: requests that went to it.
        answered: of those, how many brought a whole response.
        passed_on: requests that failed here and went to another server.
        times_out: how often it was taken out.
    """

    sent: int = 0
    answered: int = 0
    passed_on: int = 0
    times_out: int = 0


class _Member:
    """One server and how it is doing."""

    def __init__(self, server: ChatServer) -> None:
        self.server = server
        self.counts = ServerCounts()
        self.in_flight = 0
        self.strikes = 0
        self.out = False
        self.probing = False
        self.rests_until = 0.0

    @property
    def url(self) -> str:
        return self.server.base_url

    def weight(self, document: str) -> bytes:
        """Rendezvous weight: each document has its own order of the servers, whoever else is there."""
        return hashlib.sha256(f"{self.url}\n{document}".encode("utf-8", "surrogatepass")).digest()


class ChatServers:
    """Servers that serve the same model, with the methods of one `ChatServer`.

    Args:
        base_urls: two or more, each up to and including `/v1`; the first stands for all in cache keys and records.
        key: sent to every one of them.
        timeout: seconds for a whole request.
        clock: seconds that only go forward.
    """

    def __init__(
        self,
        base_urls: Sequence[str],
        key: Key,
        timeout: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.key = key
        self._timeout = timeout
        self._clock = clock
        self._members = [_Member(ChatServer(url, key, timeout)) for url in base_urls]

    @property
    def base_url(self) -> str:
        """The first server's."""
        return self._members[0].url

    @property
    def counts(self) -> dict[str, ServerCounts]:
        """What each server has done, by base URL."""
        return {member.url: member.counts for member in self._members}

    def each(self) -> tuple[ChatServer, ...]:
        """The servers one by one."""
        return tuple(member.server for member in self._members)

    def with_timeout(self, timeout: float) -> ChatServers:
        """The same servers, to be asked with another limit."""
        return ChatServers([member.url for member in self._members], self.key, timeout)

    async def post(self, path: str, body: bytes, *, document: str = "") -> bytes:
        """Send a JSON body to one server after the other until one answers, and return the response's body.

        Args:
            path: below the base URL.
            body: JSON.
            document: what the request is about; requests about the same go to the same server. Empty: anywhere.

        Raises:
            ServerError: as for `ChatServer.post`, when no server is left to ask or another one would say the same.
        """
        tried: list[_Member] = []
        while True:
            await self._probe_if_due()
            member = self._chosen(document, tried)
            tried.append(member)
            try:
                return await self._send(member, path, body)
            except ServerError as problem:
                if not self._goes_on(member, problem.fault, tried):
                    raise
                member.counts.passed_on += 1

    async def get(self, path: str) -> bytes:
        """The body under a path of the least busy server.

        Raises:
            ServerError: as for `ChatServer.get`.
        """
        return await self._chosen("", []).server.get(path)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        for member in self._members:
            await member.server.close()

    # -- which server -----------------------------------------------------------------------------------------

    def _chosen(self, document: str, tried: Sequence[_Member]) -> _Member:
        """The document's own server, or the next in its order that is not much busier than the least busy one."""
        usable = self._usable(tried)
        if (
            not usable
        ):  # all are out: ask the one that has been left alone longest, as one would a single server
            return min(self._members, key=lambda member: (member in tried, member.rests_until))
        least = min(usable, key=lambda member: (member.in_flight, member.counts.sent))
        if not document:
            return least
        busy = SPILL_FACTOR * least.in_flight + SPILL_SLACK
        order = sorted(usable, key=lambda member: member.weight(document), reverse=True)
        return next((member for member in order if member.in_flight < busy), least)

    def _usable(self, tried: Sequence[_Member]) -> list[_Member]:
        """Servers that are in and were not tried yet for this request, rested ones if there are any."""
        present = [member for member in self._members if not member.out and member not in tried]
        rested = [member for member in present if member.rests_until <= self._clock()]
        return rested or present

    # -- how servers are doing --------------------------------------------------------------------------------

    async def _send(self, member: _Member, path: str, body: bytes) -> bytes:
        member.in_flight += 1
        member.counts.sent += 1
        try:
            response = await member.server.post(path, body)
        except ServerError as problem:
            self._failed(member, problem.fault)
            raise ServerError(problem.fault._replace(server=member.url)) from None
        finally:
            member.in_flight -= 1
        member.counts.answered += 1
        self._is_up(member)
        return response

    def _goes_on(self, member: _Member, fault: Fault, tried: Sequence[_Member]) -> bool:
        """Whether another server is asked at once. One that gave no answer in time has cost a whole timeout: the
        client counts those, and its next attempt finds the server resting.
        """
        return fault.kind is FaultKind.PASSING and bool(self._usable(tried))

    def _failed(self, member: _Member, fault: Fault) -> None:
        if fault.status == TOO_MANY_REQUESTS:
            self._rest(member, fault.retry_after or REST_SECONDS)
        elif _is_trouble(fault):
            member.strikes += 1
            self._rest(member, REST_SECONDS)
            if fault.unreachable or member.strikes >= STRIKES:
                self._take_out(member)

    def _rest(self, member: _Member, seconds: float) -> None:
        member.rests_until = max(member.rests_until, self._clock() + seconds)

    def _take_out(self, member: _Member) -> None:
        member.counts.times_out += not member.out
        member.out = True
        self._rest(member, OUT_SECONDS)

    def _is_up(self, member: _Member) -> None:
        member.strikes, member.out, member.rests_until = 0, False, 0.0

    async def _probe_if_due(self) -> None:
        """Ask a server that has been out long enough for its models; the request that does so waits for the answer."""
        now = self._clock()
        due = (m for m in self._members if m.out and not m.probing and m.rests_until <= now)
        member = next(due, None)
        if member is None or all(each.out for each in self._members):
            return
        member.probing = True
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await member.server.get("/models")
            self._is_up(member)
        except TimeoutError:
            self._take_out(member)
        except ServerError as problem:
            (self._take_out if _is_trouble(problem.fault) else self._is_up)(member)
        finally:
            member.probing = False


def _is_trouble(fault: Fault) -> bool:
    """Whether a fault says that the server is not well, rather than something about the request."""
    if fault.kind is FaultKind.SLOW:
        return True
    return fault.kind is FaultKind.PASSING and (fault.status == 0 or fault.status >= SERVER_TROUBLE)
