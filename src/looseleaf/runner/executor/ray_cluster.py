"""A Ray cluster: a running one, or one on this machine that ends with the block.

Ray has no dashboard here and sends no usage statistics, and a cluster that is started here listens on the loopback
interface only.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from looseleaf.errors import ConfigError

__all__ = ["LOCAL_SETTINGS", "SETTINGS", "ray_cluster"]

STORE_BYTES = 128 << 20
"""Ray's shared memory on this machine: what travels is paths, questions and rows, never page images."""
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # keeps Ray from warning about graphics cards that no task asks for
}
LOCAL_SETTINGS = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
"""For a cluster of this machine alone. Ray has one switch that lets all of its servers listen on the loopback interface
(`ray._private.ray_constants.ENABLE_RAY_CLUSTER`, Ray 2.60); given a loopback address instead, it puts the machine's own
in its place and listens everywhere. The switch is read when Ray is imported."""


@contextmanager
def ray_cluster(address: str = "") -> Iterator[None]:
    """Be connected to a cluster; one that was connected before stays so.

    Args:
        address: `HOST:PORT` or `auto`; a new cluster on this machine by default.

    Raises:
        ConfigError: Ray is not installed, or the cluster cannot be reached.
    """
    if importlib.util.find_spec("ray") is None:
        raise ConfigError("--executor ray needs Ray; run: pip install 'looseleaf[ray]'")
    for name, value in (SETTINGS if address else SETTINGS | LOCAL_SETTINGS).items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield
        return
    _connect(ray, address)
    try:
        yield
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            ray.init(
                address="local",
                include_dashboard=False,
                object_store_memory=STORE_BYTES,
                **quiet,
            )
    except Exception as problem:  # whatever Ray raises, there is no cluster
        where = f"at {address}" if address else "on this machine"
        raise ConfigError(
            f"There is no Ray cluster {where} ({problem}); check --ray-address and that `ray status` works there."
        ) from problem
