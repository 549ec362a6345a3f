"""The JSON object in a judge's reply, and the case that is put before a judge."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["case", "json_object"]

LONGEST_REPLY = 100_000
"""Longer replies are not searched for an object, in characters."""


def json_object(reply: str) -> dict[str, Any] | None:
    """The object from the first "{" to the last "}" of a reply (as MDocAgent cuts it), or `None`."""
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0 or end < start or len(reply) > LONGEST_REPLY:
        return None
    try:
        found = json.loads(reply[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def case(**fields: Any) -> str:
    """The fields as one JSON object, so that nothing that a model wrote can pass for a part of the prompt."""
    text = json.dumps(fields, ensure_ascii=False, indent=1, default=str)
    return text.encode("utf-8", "replace").decode("utf-8")
