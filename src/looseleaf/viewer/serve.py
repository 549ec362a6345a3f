"""Serving the viewer on this machine only."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from looseleaf.errors import ConfigError

__all__ = ["HOST", "listen", "make_server", "serve"]

HOST = "127.0.0.1"
"""The only address that is listened on."""
SHUTDOWN_SECONDS = 1
"""How long open connections are waited for at the end."""


def listen(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes any free one.

    Raises:
        ConfigError: the port is taken.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()  # from now on requests wait, so that a browser may be opened before the server runs
    except OSError as problem:
        found.close()
        raise ConfigError(
            f"Port {port} cannot be used ({problem.strerror}); choose another --port."
        ) from problem
    return found


def make_server(app: Starlette) -> uvicorn.Server:
    """The server of an application; it says nothing of itself and waits for nobody at its end."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )


def serve(app: Starlette, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Answer until interrupted.

    Args:
        app: the viewer.
        listening: from `listen`.
        ready: called before the first request is answered.
    """
    ready()
    make_server(app).run(sockets=[listening])
