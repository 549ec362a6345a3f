"""Closing the connections of a role that a stage made for itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from looseleaf.models.chat.policy import ChatPolicy
from looseleaf.models.chat.text_roles import ChatExtractor, ChatJudge, ChatReader

__all__ = ["closing"]

Role = TypeVar("Role")


@asynccontextmanager
async def closing(role: Role) -> AsyncIterator[Role]:
    """Use a role inside the block; a chat model's connections are closed at its end, not when it is collected."""
    try:
        yield role
    finally:
        if isinstance(role, (ChatPolicy, ChatReader, ChatExtractor, ChatJudge)):
            await role.aclose()
