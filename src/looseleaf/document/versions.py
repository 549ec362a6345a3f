"""Versions of the packages that what is cached depends on."""

from __future__ import annotations

import functools
import importlib.metadata

__all__ = ["versions"]


@functools.cache
def versions(*packages: str) -> str:
    """Names and versions, for use in a cache key.

    Raises:
        PackageNotFoundError: one is not installed.
    """
    return "-".join(f"{name}{importlib.metadata.version(name)}" for name in packages)
