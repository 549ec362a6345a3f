"""`RayExecutor`: groups of items as Ray tasks. A task whose node dies runs again elsewhere; rows go to the driver."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from looseleaf import __version__
from looseleaf.document.cache import cache_place
from looseleaf.errors import ConfigError
from looseleaf.runner.executor.counting import added
from looseleaf.runner.executor.kinds import kind_named
from looseleaf.runner.executor.ray_worker import serve
from looseleaf.runner.executor.stage import Counts, Shape, Stage
from looseleaf.runner.executor.wire import Reply, Request, decoded, encoded

__all__ = ["RayExecutor"]

MOST_IN_GROUP = 8
"""Items of a group: they share an open document and its index, and a node that dies costs no more than these."""
RETRIES = 3
"""How often a group is run again because its process or node died. Then its items run one by one, as often each; what
is still lost becomes a fault, which the same command tries again. So a question that kills every process which takes it
costs the others nothing but time, and does not go round the cluster for ever."""
LOST = "It was running when its process or node was lost, {} times"


class RayExecutor:
    """Runs stages on the cluster that this process is connected to; each group takes one processor.

    The driver is the only writer of a RUN: a task has no access to it, and a row is appended when its group is back.
    So a group that ran twice leaves its rows once.
    """

    def __init__(self) -> None:
        import ray

        self._ray = ray
        self._task = ray.remote(serve).options(num_cpus=1, max_retries=RETRIES)
        self._elsewhere: dict[str, Counts] = {}

    def shape(self, concurrency: int) -> Shape:
        """Groups for all processors, and groups no larger than `concurrency` allows."""
        processors = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        group = max(1, min(MOST_IN_GROUP, concurrency // processors))
        return Shape(group, max(1, concurrency // group))

    async def run(self, stage: Stage[Any, Any], items: Sequence[Any]) -> list[Any]:
        """The records of a group; for an item that was lost too often, the stage's record of that.

        Raises:
            ConfigError: a setting does not work on the node.
        """
        request = Request(
            __version__, cache_place().word, _own_modules(), stage.kind, stage.context(), encoded(items)
        )
        try:
            answer = await self._task.remote(msgspec.msgpack.encode(request))
        except self._ray.exceptions.RayTaskError:
            raise  # a mistake in our own code, as it would be here
        except self._ray.exceptions.RayError:
            return await self._one_by_one(stage, items)
        reply = msgspec.msgpack.decode(answer, type=Reply)
        if reply.refusal:
            raise ConfigError(reply.refusal)
        self._elsewhere[stage.kind] = added(self.elsewhere(stage.kind), reply.counts)
        return decoded(reply.records, kind_named(stage.kind).record)

    async def _one_by_one(self, stage: Stage[Any, Any], items: Sequence[Any]) -> list[Any]:
        """The records of a group that was lost too often."""
        if len(items) == 1:
            return [stage.failed(items[0], LOST.format(RETRIES + 1))]
        return [record for item in items for record in await self.run(stage, [item])]

    def elsewhere(self, kind: str) -> Counts:
        """What the tasks have counted."""
        return self._elsewhere.get(kind, {})


def _own_modules() -> list[str]:
    """Where `python:module:factory` is looked for, besides what is installed on the nodes."""
    return [folder for folder in sys.path if folder and not folder.startswith((sys.prefix, sys.base_prefix))]
