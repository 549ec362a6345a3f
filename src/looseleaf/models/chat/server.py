"""`ChatServer`: where requests go. Over HTTP with the openai SDK, whoever runs the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, NoReturn

from looseleaf.models.chat.backoff import retry_after
from looseleaf.models.chat.faults import Fault, FaultKind, error_words, fault_of_status
from looseleaf.models.chat.keys import Key

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["ChatServer", "ServerError"]

CONNECT_SECONDS = 20.0
"""Longest wait for a connection; a server that is up answers at once, whatever its queue."""


class ServerError(Exception):
    """A request that brought no completion.

    Attributes:
        fault: what went wrong.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.words)
        self.fault = fault


class _Session:
    """The SDK's client in one event loop, closed when the loop shuts down."""

    def __init__(self, client: AsyncOpenAI) -> None:
        self.client = client
        self._keeper = _keep(client)

    async def start(self) -> None:
        """From here on, the loop's own shutdown (`asyncio.run` does one) closes the client."""
        await anext(self._keeper)

    async def close(self) -> None:
        await self._keeper.aclose()


async def _keep(client: AsyncOpenAI) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        await client.close()


class ChatServer:
    """One server that speaks OpenAI's chat completions.

    Args:
        base_url: up to and including `/v1`.
        key: sent as a bearer token.
        timeout: seconds for a whole request.
    """

    def __init__(self, base_url: str, key: Key, timeout: float) -> None:
        self.base_url = base_url
        self.key = key
        self._timeout = timeout
        self._sessions: dict[asyncio.AbstractEventLoop, _Session] = {}

    def each(self) -> tuple[ChatServer, ...]:
        """The servers one by one: this one."""
        return (self,)

    def with_timeout(self, timeout: float) -> ChatServer:
        """The same server, to be asked with another limit."""
        return ChatServer(self.base_url, self.key, timeout)

    async def post(self, path: str, body: bytes, *, document: str = "") -> bytes:
        """Send a JSON body and return the response's body.

        Args:
            path: below the base URL.
            body: JSON.
            document: what the request is about; only several servers make use of it (`ChatServers`).

        Raises:
            ServerError: any other status than success, no connection, no answer in time.
        """
        return await self._send("post", path, content=body)

    async def get(self, path: str) -> bytes:
        """The body under a path, e.g. `/models`.

        Raises:
            ServerError: as for `post`.
        """
        return await self._send("get", path)

    async def _send(self, method: str, path: str, **content: Any) -> bytes:
        import openai

        client = await self._client()
        headers = {"Content-Type": "application/json"} if content else {}
        send = getattr(client, method)
        try:
            async with asyncio.timeout(self._timeout):
                body: bytes = await send(path, cast_to=bytes, options={"headers": headers}, **content)
            return body
        except openai.APIStatusError as problem:
            self._raise_status(problem)
        except TimeoutError:
            self._raise(FaultKind.SLOW, f"nothing within {self._timeout:g} seconds")
        except openai.APITimeoutError:
            self._raise(
                FaultKind.PASSING, f"no connection within {CONNECT_SECONDS:g} seconds", unreachable=True
            )
        except openai.APIConnectionError as problem:
            self._raise(FaultKind.PASSING, _cause(problem), unreachable=_is_unreachable(problem))

    async def _client(self) -> AsyncOpenAI:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.client.is_closed():
            for old in [old for old in self._sessions if old.is_closed()]:
                del self._sessions[old]
            session = self._sessions[loop] = _Session(self._new_client())
            await session.start()
        return session.client

    def _new_client(self) -> AsyncOpenAI:
        import openai

        client = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self.key.reveal(),
            max_retries=0,
            timeout=openai.Timeout(self._timeout, connect=min(CONNECT_SECONDS, self._timeout)),
        )
        if self.key.variable != "OPENAI_API_KEY":
            client.organization = client.project = (
                None  # read from the environment, and nobody else's business
            )
        return client

    async def close(self) -> None:
        """Close the connections of the running loop; a later request opens new ones."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    def _raise_status(self, problem: Any) -> NoReturn:
        headers = problem.response.headers
        body = problem.body if problem.body is not None else problem.message
        words = self.key.redact(error_words(body))
        raise ServerError(fault_of_status(problem.status_code, words, retry_after(headers))) from None

    def _raise(self, kind: FaultKind, words: str, *, unreachable: bool = False) -> NoReturn:
        raise ServerError(Fault(kind, 0, self.key.redact(words), unreachable=unreachable)) from None


def _is_unreachable(problem: BaseException) -> bool:
    """Whether no connection could be made, as against one that broke (openai 2 stands on httpx, 3 on httpx2)."""
    return type(problem.__cause__).__name__ == "ConnectError"


def _cause(problem: BaseException) -> str:
    """The innermost cause's words: the SDK only says "Connection error."."""
    cause: BaseException = problem
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return str(cause) or type(cause).__name__
