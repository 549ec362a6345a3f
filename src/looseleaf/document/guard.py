"""Limits that a worker process puts on itself before it touches foreign bytes."""

from __future__ import annotations

import time

from .limits import Limits

__all__ = ["cpu_seconds", "limit_cpu", "limit_memory"]


def limit_memory(limits: Limits) -> None:
    """Limit the address space of this process and forbid core dumps, where the platform can."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_at_most(limits.memory_bytes, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_cpu(limits: Limits) -> None:
    """Give this process `limits.cpu_seconds` more of processor time from now on."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    end = int(cpu_seconds()) + 1 + limits.cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(end, hard), hard))


def cpu_seconds() -> float:
    """Processor time of this process so far."""
    return time.process_time()


def _at_most(value: int, hard: int) -> int:
    return value if hard < 0 else min(value, hard)  # RLIM_INFINITY is -1
