"""A stand-in for an OpenAI-compatible server: fast, scriptable, and as faulty as one asks for.

In a test: `with StubServer(answer=…) as stub: … stub.base_url`. As a process of its own, for crash tests and
measurements: `python tests/stub_server.py --faults 1.0`, which prints its base URL; it listens on the loopback
interface only and ends after `--seconds`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import email.utils
import hashlib
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

MODEL = "stub-model"
PROBES = (b"Reply with the word OK.", b'"Begin."', b"printed on this page. Reply with")
TOKENS_PER_IMAGE = 300


class Response(NamedTuple):
    """What the stub sends back."""

    status: int
    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})


@dataclass
class Request:
    """What came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def images(self) -> int:
        return self.body.count(b'"type":"image_url"')

    @property
    def is_probe(self) -> bool:
        """Whether it is one of preflight's questions, which belong to no run."""
        return any(words in self.body[:2000] for words in PROBES)

    @property
    def turn(self) -> int:
        """1-based number of the generation that is asked for."""
        return self.body.count(b'"role":"assistant"') + 1


@dataclass
class Faults:
    """Shares of requests that go wrong, by how."""

    too_many: float = 0.0
    server_error: float = 0.0
    hang: float = 0.0
    reset: float = 0.0
    truncated: float = 0.0
    retry_after: str = "0"

    @classmethod
    def scaled(cls, scale: float) -> Faults:
        """5 % 429 (with Retry-After), 5 % 500, 2 % hang, 2 % reset and 1 % truncated JSON, times `scale`."""
        return cls(0.05 * scale, 0.05 * scale, 0.02 * scale, 0.02 * scale, 0.01 * scale)

    def draw(self, rng: random.Random) -> str | None:
        point = rng.random()
        for name in ("too_many", "server_error", "hang", "reset", "truncated"):
            point -= getattr(self, name)
            if point < 0:
                return name
        return None


@dataclass
class Log:
    """What happened, for assertions."""

    requests: list[Request] = field(default_factory=list)
    whole: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    most_in_flight: int = 0
    keep_bodies: bool = True

    @property
    def chats(self) -> list[Request]:
        return [request for request in self.requests if request.path.endswith("/chat/completions")]


Answer = Callable[[Request], Response]


def completion(text: str | None = "", calls: list[dict[str, Any]] | None = None, **usage: int) -> Response:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    counted = {"prompt_tokens": 100, "completion_tokens": 10, **usage}
    body = {
        "id": "stub",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": counted | {"total_tokens": counted["prompt_tokens"] + counted["completion_tokens"]},
    }
    return Response(200, json.dumps(body).encode())


def call(name: str, **arguments: Any) -> Response:
    """A completion that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return completion("I look.", [{"id": "x", "type": "function", "function": function}])


def error(status: int, message: str, **headers: str) -> Response:
    """An error object."""
    return Response(status, json.dumps({"error": {"message": message}}).encode(), headers)


PAGE = re.compile(rb"Page (\d+)[ :]")
SIX_TURNS = ("search", "note", "search", "note", "note", "answer")


def agent(request: Request) -> Response:
    """Plays `SIX_TURNS` as a policy, and one short line as anybody else."""
    if b'"tools":' not in request.body:
        tokens = 100 + TOKENS_PER_IMAGE * request.images
        return completion("Extracted answer: 42\nAnswer format: Integer", prompt_tokens=tokens)
    action = SIX_TURNS[min(request.turn, len(SIX_TURNS)) - 1]
    if action == "search":
        return call("search", query="the total revenue in the table" if request.turn == 1 else "pages chart")
    if action == "note":
        shown = PAGE.search(request.body)
        return call("note", text=f"finding {request.turn}", source_page=int(shown[1]) if shown else 1)
    return call("answer", text="42")


class StubServer:
    """The server, in a thread of its own."""

    def __init__(
        self, answer: Answer = agent, *, faults: Faults | None = None, seed: int = 0, delay: float = 0.0
    ) -> None:
        self.answer = answer
        self.faults = faults or Faults()
        self.delay = delay
        self.log = Log()
        self._rng = random.Random(seed)
        self._in_flight = 0
        self._loop = asyncio.new_event_loop()
        self._connections: set[_Connection] = set()
        self._port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> StubServer:
        started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _serve(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self.serve(started.set))
        self._loop.close()

    async def serve(self, started: Callable[[], Any], seconds: float | None = None) -> None:
        self._stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, backlog=512)
        self._port = server.sockets[0].getsockname()[1]
        started()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)
        server.close()
        for connection in list(self._connections):
            connection.close()
        await asyncio.sleep(0)

    async def respond(self, request: Request, connection: _Connection) -> None:
        if self.log.keep_bodies:
            self.log.requests.append(request)
        self._in_flight += 1
        self.log.most_in_flight = max(self.log.most_in_flight, self._in_flight)
        try:
            await self._respond(request, connection)
        finally:
            self._in_flight -= 1

    async def _respond(self, request: Request, connection: _Connection) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        if request.path == "/v1/stub/log":
            counts = {"whole": dict(self.log.whole), "faults": dict(self.log.faults)}
            connection.send(Response(200, json.dumps(counts).encode()))
            return
        fault = self.faults.draw(self._rng) if request.path.endswith("/chat/completions") else None
        if fault is not None:
            self.log.faults[fault] += 1
        if fault == "hang":
            return
        if fault == "reset":
            connection.reset()
        elif fault == "too_many":
            connection.send(error(429, "slow down", **{"Retry-After": self._retry_after()}))
        elif fault == "server_error":
            connection.send(error(500, "out of order"))
        else:
            response = self.answer(request)
            if fault == "truncated":
                response = response._replace(body=response.body[: len(response.body) // 2])
            elif response.status == 200 and request.method == "POST" and not request.is_probe:
                self.log.whole[hashlib.sha1(request.body).hexdigest()] += 1
            connection.send(response)

    def _retry_after(self) -> str:
        if self.faults.retry_after == "date":
            return email.utils.format_datetime(email.utils.localtime())
        return self.faults.retry_after


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, as much of it as an API client needs."""

    def __init__(self, server: StubServer) -> None:
        self._server = server
        self._buffer = bytearray()
        self._head: tuple[str, str, dict[str, str], int] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server._connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._head is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self._head = self._read_head(bytes(self._buffer[:end]))
            del self._buffer[: end + 4]
        method, path, headers, length = self._head
        if len(self._buffer) >= length:
            body = bytes(self._buffer[:length])
            del self._buffer[:length]
            self._head = None
            task = asyncio.ensure_future(self._server.respond(Request(method, path, headers, body), self))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @staticmethod
    def _read_head(head: bytes) -> tuple[str, str, dict[str, str], int]:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return method, path, headers, int(headers.get("content-length", "0"))

    def send(self, response: Response) -> None:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(response.body))}
        lines = [
            f"HTTP/1.1 {response.status} stub",
            *(f"{k}: {v}" for k, v in (headers | dict(response.headers)).items()),
        ]
        self._transport.write("\r\n".join(lines).encode() + b"\r\n\r\n" + response.body)

    def reset(self) -> None:
        self._transport.abort()

    def close(self) -> None:
        self._transport.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    stub = StubServer(faults=Faults.scaled(options.faults), seed=options.seed, delay=options.delay)
    stub.log.keep_bodies = False
    asyncio.run(stub.serve(lambda: print(stub.base_url, flush=True), options.seconds))


if __name__ == "__main__":
    main()
