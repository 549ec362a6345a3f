"""Differences and sums of counts that several processes have made."""

from __future__ import annotations

from typing import Any

from looseleaf.runner.executor.stage import Counts

__all__ = ["added", "since"]

PEAKS = frozenset({"most_in_flight"})
"""Counts that are a maximum: those of several processes are not added up."""


def since(before: Counts, after: Counts) -> Counts:
    """What has been counted in between; a name that was not there before counts from nothing."""
    return {name: _difference(name, before.get(name), value) for name, value in after.items()}


def _difference(name: str, before: Any, after: Any) -> Any:
    if isinstance(after, dict):
        return since(before or {}, after)
    if name in PEAKS or not isinstance(after, (int, float)):
        return after
    return after - (before or 0)


def added(one: Counts, other: Counts) -> Counts:
    """Both together."""
    return {name: _sum(name, one.get(name), other.get(name)) for name in {**one, **other}}


def _sum(name: str, one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, dict):
        return added(one, other)
    return max(one, other) if name in PEAKS else one + other
