"""`Executor`: runs stages. There is one for this process and one for a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from looseleaf.errors import ConfigError
from looseleaf.runner.executor.local import LocalExecutor
from looseleaf.runner.executor.stage import Counts, Shape, Stage

__all__ = ["EXECUTORS", "Executor", "executor_named"]

EXECUTORS = ("local", "ray")


class Executor(Protocol):
    """Runs stages. Whoever calls it keeps the ledgers: there is one writer."""

    def shape(self, concurrency: int) -> Shape:
        """How to hand out items of which so many may be in flight."""

    async def run(self, stage: Stage[Any, Any], items: Sequence[Any]) -> list[Any]:
        """The records of a group of items, in order.

        Raises:
            UserError: a setting cannot work where the stage runs.
        """

    def elsewhere(self, kind: str) -> Counts:
        """What other processes have counted for stages of this kind."""


@contextmanager
def executor_named(name: str, ray_address: str = "") -> Iterator[Executor]:
    """The executor of that name, until the block ends.

    Args:
        name: `local` or `ray`.
        ray_address: of a running cluster; a new one on this machine by default.

    Raises:
        ConfigError: there is no such executor, or it cannot be set up.
    """
    if name not in EXECUTORS:
        raise ConfigError(f"There is no executor {name!r}; use local or ray.")
    if name == "local":
        if ray_address:
            raise ConfigError("--ray-address is for --executor ray; add that, or leave the address out.")
        yield LocalExecutor()
        return
    from looseleaf.runner.executor.ray_cluster import ray_cluster
    from looseleaf.runner.executor.ray_executor import RayExecutor

    with ray_cluster(ray_address):
        yield RayExecutor()
