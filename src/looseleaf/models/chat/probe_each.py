"""Probing every server of a role: the first that is up as the run will ask it, the others with a word."""

from __future__ import annotations

from looseleaf.models.chat.client import ChatClient
from looseleaf.models.chat.estimate import Load
from looseleaf.models.chat.image_tokens import ImageFamily
from looseleaf.models.chat.probe import PROBE_TIMEOUT, Findings, probe
from looseleaf.models.chat.server import ChatServer, ServerError
from looseleaf.protocol import Protocol

__all__ = ["probe_each"]


async def probe_each(
    client: ChatClient,
    *,
    protocol: Protocol | None = None,
    load: Load | None = None,
    family: ImageFamily | None = None,
) -> Findings:
    """What `probe` finds, once all servers that are up have answered to the model's name.

    Servers of one role are taken to be equal, so what costs tokens is asked of one. One that is down is a note, since
    the run can do without it; if all are, it is the fault of the first.

    Raises:
        ConfigError: the run cannot work with one of the servers.
    """
    servers = client.server.each()
    if len(servers) == 1:
        return await probe(client, protocol=protocol, load=load, family=family)
    up = [server for server in servers if await _is_up(server)]
    first, *others = up or servers[:1]
    found = await probe(_alone(client, first), protocol=protocol, load=load, family=family)
    for other in others:
        found.usage += (await probe(_alone(client, other))).usage
    found.notes += [
        f"The server at {server.base_url} is down; the others do its work until it is up."
        for server in servers
        if server not in up
    ]
    return found


def _alone(client: ChatClient, server: ChatServer) -> ChatClient:
    return ChatClient(server, client.model, client.options)


async def _is_up(server: ChatServer) -> bool:
    """Whether it answers at all, whatever it says."""
    asked = server.with_timeout(PROBE_TIMEOUT)
    try:
        await asked.get("/models")
    except ServerError as problem:
        return problem.fault.status != 0
    finally:
        await asked.close()
    return True
