"""`ChatPolicy`: a chat model as the agent."""

from __future__ import annotations

from typing import Any

from looseleaf.models.chat.actions import call_schema, notes_ride, tool_definitions
from looseleaf.models.chat.client import ChatClient, RefusedError
from looseleaf.models.chat.conversation import build_conversation
from looseleaf.models.chat.faults import FaultKind
from looseleaf.models.chat.image_tokens import family_of
from looseleaf.models.chat.images import PageImages
from looseleaf.models.chat.parsing import parse_turn
from looseleaf.models.prompts import ActionFormat, default_format
from looseleaf.protocol import Protocol
from looseleaf.roles import PolicyTurn, PolicyView

__all__ = ["ChatPolicy"]


class ChatPolicy:
    """Sends the conversation so far and parses what comes back.

    Where the server takes no tool calls and the user named no action format, actions are written as JSON from then
    on; where it takes no JSON schema and the user did not insist on one, the prompt alone asks for JSON.

    Args:
        client: asks the model.

    Attributes:
        client: for its counters.
    """

    def __init__(self, client: ChatClient) -> None:
        self.client = client
        self._images = PageImages(client.options, family_of(client.model, client.options.image_family))
        self._without: set[FaultKind] = set()

    async def act(self, view: PolicyView) -> PolicyTurn:
        """The next turn; text that holds no action is a malformed turn.

        Raises:
            ContextOverflowError: the conversation does not fit the model's context.
            ProviderError: there is no reply to be had.
            DocumentError: a page cannot be rendered.
        """
        actions = self.format(view.protocol)
        messages = await build_conversation(view, actions, self.client.options, self._images)
        try:
            reply = await self.client.complete(messages, fields=self._fields(view.protocol, actions))
        except RefusedError as refused:
            if not self._can_do_without(refused.fault.kind):
                raise
            self._without.add(refused.fault.kind)
            return await self.act(view)
        return parse_turn(reply, actions, ride=notes_ride(view.protocol), usage=reply.usage)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self.client.server.close()

    def format(self, protocol: Protocol) -> ActionFormat:
        """How actions are written now."""
        usual = default_format(protocol)
        if usual == "text":
            return usual
        named = self.client.options.actions or usual
        return "json" if named == "tools" and FaultKind.TOOLS in self._without else named

    def _fields(self, protocol: Protocol, actions: ActionFormat) -> dict[str, Any]:
        if actions == "tools":
            return {"tools": tool_definitions(protocol)}
        if actions == "json" and self._structured:
            schema = {"name": "turn", "strict": True, "schema": call_schema(protocol)}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        return {}

    @property
    def _structured(self) -> bool:
        asked = self.client.options.structured
        return FaultKind.SCHEMA not in self._without if asked is None else asked

    def _can_do_without(self, kind: FaultKind) -> bool:
        """Whether what the server refuses was our own choice and is still being sent."""
        options = self.client.options
        chosen = {FaultKind.TOOLS: options.actions is None, FaultKind.SCHEMA: options.structured is None}
        return chosen.get(kind, False)
