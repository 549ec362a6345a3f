"""What runs in a Ray worker process: one group of items of one stage, by the same code as in the local path.

Nothing is unpickled here but bytes and the reference to this module's function: requests and replies are MessagePack.
"""

from __future__ import annotations

import asyncio
import functools
import os
import sys
from typing import Any

import msgspec

from looseleaf import __version__
from looseleaf.errors import UserError
from looseleaf.runner.executor.counting import since
from looseleaf.runner.executor.kinds import Kind, kind_named
from looseleaf.runner.executor.stage import Stage
from looseleaf.runner.executor.wire import Reply, Request, decoded, encoded

__all__ = ["serve", "use_cache"]

KEPT_STAGES = 4
"""Stages that a process keeps made: a run and its scoring have no more at once."""

CACHE_VARIABLE = "LOOSELEAF_CACHE"


def serve(request: bytes) -> bytes:
    """Answer one `Request` with a `Reply`, both encoded."""
    return msgspec.msgpack.encode(_serve(msgspec.msgpack.decode(request, type=Request)))


def _serve(request: Request) -> Reply:
    if request.version != __version__:
        return Reply(
            refusal=f"This machine has looseleaf {request.version} and a node of the Ray cluster has {__version__}; "
            "install the same version everywhere."
        )
    use_cache(request.cache)
    sys.path += [folder for folder in request.modules if folder not in sys.path]
    kind = kind_named(request.kind)
    try:
        stage = _made(request.kind, request.context)
        return _loop().run(_records(kind, stage, request))
    except UserError as problem:
        return Reply(refusal=str(problem))


async def _records(kind: Kind, stage: Stage[Any, Any], request: Request) -> Reply:
    before = stage.counts()
    items = decoded(request.items, kind.item)
    records = await asyncio.gather(*(stage.one(item) for item in items))
    return Reply(records=encoded(records), counts=since(before, stage.counts()))


@functools.lru_cache(maxsize=KEPT_STAGES)
def _made(kind: str, context: bytes) -> Stage[Any, Any]:
    """The stage, made once a process: its documents, models and connections stay open for the next group."""
    return kind_named(kind).make(context)


@functools.cache
def _loop() -> asyncio.Runner:
    """One event loop for the life of the process, so that connections to model servers outlive a group."""
    return asyncio.Runner()


def use_cache(root: str) -> None:
    """Let this process use the driver's cache folder or remote cache."""
    if root:
        os.environ[CACHE_VARIABLE] = root
