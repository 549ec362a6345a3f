"""Which requests are answered: from this machine, asked by this page; and the headers that keep it so."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "LOOPBACK_NAMES", "Guard"]

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names under which this machine may be asked. Another name that leads here is DNS rebinding."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Sent with every response; a response may say another `cache-control`."""


class Guard:
    """Middleware that refuses foreign hosts and writes from other sites."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = _refusal(scope["method"], Headers(scope=scope))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = PlainTextResponse(refusal, status_code=403) if refusal else self._app
        await answer(scope, receive, with_headers)


def _refusal(method: str, headers: Headers) -> str:
    host = headers.get("host", "")
    if _name(host) not in LOOPBACK_NAMES:
        return "This server answers under the name of this machine only."
    if method in {"GET", "HEAD"}:
        return ""
    if headers.get("origin", f"http://{host}") != f"http://{host}":
        return "Labels are written from the viewer's own page only."
    kinds: Iterable[str] = (headers.get("content-type", "").split(";")[0].strip(),)
    return "" if "application/json" in kinds else "Labels are sent as JSON."


def _name(host: str) -> str:
    """The host without its port."""
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.split(":")[0]
