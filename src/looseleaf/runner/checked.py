"""What the user's own reader, extractor or judge returned, checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import msgspec

from looseleaf.agent import resolved
from looseleaf.errors import AgentError, boundary
from looseleaf.roles import Extraction, Judgement, Reading, Usage

__all__ = ["role_result"]

Result = TypeVar("Result", Reading, Extraction, Judgement)


async def role_result(given: Result | Awaitable[Result], kind: type[Result], who: str) -> Result:
    """The result of a role's method.

    Args:
        given: what the method returned, or the awaitable of it.
        kind: what it must be.
        who: the role, e.g. `reader`, for the sentence.

    Raises:
        FaultError: the role failed, or what it returned is something else.
    """
    with boundary(AgentError, f"The {who} failed"):
        result = await resolved(given)
        if not isinstance(result, kind) or not isinstance(result.text, str):
            raise TypeError(f"it returned {type(result).__name__}, not a {kind.__name__} with a text")
        msgspec.convert(msgspec.to_builtins(result.usage), Usage)
        return result
