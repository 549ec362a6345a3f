"""The actions as a server is told of them: tool definitions and a JSON schema."""

from __future__ import annotations

from typing import Any

from looseleaf.models.prompts import action_texts
from looseleaf.protocol import Protocol

__all__ = ["ARGUMENTS", "NOTES", "call_schema", "notes_ride", "tool_definitions"]

ARGUMENTS: dict[str, dict[str, str]] = {
    "search": {"query": "string"},
    "fetch": {"page": "integer"},
    "note": {"text": "string", "source_page": "integer"},
    "answer": {"text": "string"},
}
"""Argument names and JSON types of each action, as `looseleaf.roles.Action` has them."""

NOTES = "notes"
"""Argument under which notes ride inside another action."""


def notes_ride(protocol: Protocol) -> bool:
    """Whether notes may ride inside a turn of another action."""
    return protocol.memory != "none" and protocol.note_turn == "inside"


def tool_definitions(protocol: Protocol) -> list[dict[str, Any]]:
    """One function a tool, in OpenAI's form."""
    return [
        {
            "type": "function",
            "function": {
                "name": action,
                "description": action_texts()[action]["description"],
                "parameters": _object(_properties(action), ride=notes_ride(protocol)),
            },
        }
        for action in protocol.actions
    ]


def call_schema(protocol: Protocol) -> dict[str, Any]:
    """Schema of a turn in the `json` format: a thought, and one of the actions under `call`.

    It keeps to what strict servers take: every property required, none besides, no union at the top.
    """
    calls = [
        _object({"action": {"type": "string", "enum": [action]}} | _properties(action), ride=False)
        for action in protocol.actions
    ]
    properties: dict[str, Any] = {"thought": {"type": "string"}}
    if notes_ride(protocol):
        properties[NOTES] = _notes()
    return _object(properties | {"call": {"anyOf": calls}}, ride=False)


def _properties(action: str) -> dict[str, Any]:
    texts = action_texts()[action]
    return {name: {"type": kind, "description": texts[name]} for name, kind in ARGUMENTS[action].items()}


def _notes() -> dict[str, Any]:
    return {"type": "array", "items": _object(_properties("note"), ride=False)}


def _object(properties: dict[str, Any], *, ride: bool) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties | ({NOTES: _notes()} if ride else {}),
        "required": list(properties),
        "additionalProperties": False,
    }
