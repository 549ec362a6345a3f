"""How long to wait before the next attempt: exponential with jitter, and never shorter than the server asks."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

__all__ = ["MAX_ASKED", "retry_after", "wait_seconds"]

FIRST_WAIT = 0.5
"""Seconds before the second attempt, doubled before each further one."""

MAX_WAIT = 60.0
"""Longest wait of our own choosing, in seconds."""

MAX_ASKED = 600.0
"""Longest wait that a server may ask for, in seconds; beyond it the request fails and a later run tries again."""

SPREAD = 0.1
"""Share by which an asked wait is lengthened at random, so that waiting requests do not return all at once."""


def wait_seconds(attempt: int, asked: float | None, rng: random.Random) -> float:
    """Seconds to wait after the attempt with this 0-based number.

    Args:
        attempt: 0 after the first one.
        asked: what the server asked for; the wait is never shorter.
        rng: source of jitter.
    """
    own = min(MAX_WAIT, FIRST_WAIT * 2.0**attempt) * rng.uniform(0.5, 1.0)
    return own if asked is None else max(own, asked * rng.uniform(1.0, 1.0 + SPREAD))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait (RFC 9110, 10.2.3: seconds or an HTTP date; also milliseconds).

    Args:
        headers: of the response, looked up by lower-case name.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return None if seconds is None else max(0.0, seconds)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is None or number == number else None  # not NaN
