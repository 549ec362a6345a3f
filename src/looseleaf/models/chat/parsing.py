"""From what a model said to a turn. Whatever it said, the result is a `PolicyTurn`; nothing here raises."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from looseleaf.models.chat.actions import ARGUMENTS, NOTES
from looseleaf.models.chat.reply import Reply, ToolCall
from looseleaf.models.prompts import ActionFormat
from looseleaf.roles import Action, NoteWriting, PolicyTurn, Usage

__all__ = ["parse_turn", "spoken_text", "unboxed"]

MAX_STORED_INT = 2**63 - 1
"""Largest integer of a stored record (msgspec writes 64-bit integers); larger ones are kept as text."""

MAX_DEPTH = 16
"""Deepest nesting of arguments that is kept; anything deeper becomes text."""

MAX_STARTS = 100
"""Opening braces at which a JSON object is looked for: a text full of them must not take minutes."""

_THINK = re.compile(r"\s*(?:<think(?:ing)?>)?(.*?)</think(?:ing)?>", re.DOTALL)
_OPEN_THINK = re.compile(r"\s*<think(?:ing)?>", re.DOTALL)
_OPENING_TAG = re.compile(
    r"""<(search|fetch|answer)>|<(note)\s+(?:source_)?page\s*=\s*["']?(\d{1,9})["']?\s*>"""
)
_FETCH_BODY = re.compile(r"\s*(?:page\s*)?(\d{1,9})(?:-?(?:th|st|nd|rd))?\s*", re.IGNORECASE)
"""A page number, alone or as ALDEN writes it, `7-th` (gipplab/ALDEN @ 8a0d3d4, fetch syntax)."""
_BOX = "\\boxed{"

CUT_OFF = "The reply was cut off before it was complete."


def parse_turn(reply: Reply, actions: ActionFormat, *, ride: bool, usage: Usage) -> PolicyTurn:
    """The turn that a reply stands for; a malformed one has no action and says what is wrong.

    Args:
        reply: what the server sent.
        actions: how actions are written.
        ride: whether notes may ride inside a turn.
        usage: tokens of the reply, for the record.
    """
    text = scrubbed(reply.text)
    thought, rest = _split_thought(text)
    thought = scrubbed(reply.reasoning) or thought
    notes: list[NoteWriting] = []
    if actions == "tags":
        found, notes = _tagged(rest, ride)
    elif actions == "text":
        found = [Action.answer(rest.strip())] if rest.strip() else []
    else:
        found, notes, spoken = _called(reply.calls, rest, actions)
        thought = thought or spoken
    action = found[0] if len(found) == 1 else None
    return PolicyTurn(
        action=action,
        thought=thought.strip(),
        notes=tuple(notes) if action is not None else (),
        model_text=_raw(text, reply.calls),
        usage=usage,
        problem="" if action is not None else _problem(found, text, reply, actions),
    )


def spoken_text(reply: Reply) -> str:
    """What the model said after its reasoning, for roles that give a text."""
    return _split_thought(scrubbed(reply.text))[1].strip()


def scrubbed(text: str) -> str:
    """The text without lone surrogates, which no UTF-8 record can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unboxed(answer: str) -> str:
    """The content of the last `\\boxed{…}` of an answer, or the whole answer (ALDEN's answer syntax)."""
    start = answer.rfind(_BOX)
    if start < 0:
        return answer.strip()
    depth = 1
    body = start + len(_BOX)
    for position in range(body, len(answer)):
        depth += {"{": 1, "}": -1}.get(answer[position], 0)
        if depth == 0:
            return answer[body:position].strip()
    return answer.strip()


def _split_thought(text: str) -> tuple[str, str]:
    """What stands in the think block, and the rest; a block that is never closed is all thought."""
    closed = _THINK.match(text)
    if closed:
        return closed[1], text[closed.end() :]
    opened = _OPEN_THINK.match(text)
    return (text[opened.end() :], "") if opened else ("", text)


def _problem(found: Sequence[Action], text: str, reply: Reply, actions: ActionFormat) -> str:
    if len(found) > 1:
        return f"There are {len(found)} actions in one turn."
    if reply.cut_off:
        return CUT_OFF
    if not text.strip() and not reply.calls:
        return "The reply was empty."
    return {
        "tags": "There is no action tag.",
        "json": "There is no JSON object with an action.",
        "tools": "There is no tool call that can be read.",
        "text": "There is no text after the reasoning.",
    }[actions]


# -- tags ------------------------------------------------------------------------------------------------------


class _Tag(NamedTuple):
    name: str
    page: str
    body: str


def _tagged(text: str, ride: bool) -> tuple[list[Action], list[NoteWriting]]:
    """Actions outside the think block; notes are actions of their own unless they ride."""
    tags = list(_tags(text))
    if not ride:
        return [_tag_action(tag) for tag in tags], []
    notes = [NoteWriting(tag.body.strip(), int(tag.page)) for tag in tags if tag.name == "note"]
    return [_tag_action(tag) for tag in tags if tag.name != "note"], notes


def _tags(text: str) -> Iterator[_Tag]:
    """Whole tags, outermost ones, in order; in linear time, whatever is opened and never closed."""
    position = 0
    never_closed: set[str] = set()
    while opening := _OPENING_TAG.search(text, position):
        position = opening.end()
        name = opening[1] or opening[2]
        end = -1 if name in never_closed else text.find(f"</{name}>", position)
        if end < 0:
            never_closed.add(name)
            continue
        yield _Tag(name, opening[3] or "", text[position:end])
        position = end


def _tag_action(tag: _Tag) -> Action:
    if tag.name == "search":
        return Action.search(tag.body.strip())
    if tag.name == "answer":
        return Action.answer(unboxed(tag.body))
    if tag.name == "note":
        return Action.note(tag.body.strip(), int(tag.page))
    number = _FETCH_BODY.fullmatch(tag.body)
    return Action.fetch(int(number[1])) if number else Action("fetch", {"page": tag.body.strip()})


# -- tool calls and JSON ---------------------------------------------------------------------------------------


def _called(
    calls: Sequence[ToolCall], text: str, actions: ActionFormat
) -> tuple[list[Action], list[NoteWriting], str]:
    """Actions, riding notes and reasoning: from tool calls, or else from JSON objects in the text.

    A server without a parser for its model's tool calls leaves them in the text as JSON, so the text is read too.
    """
    if calls:
        spelled = [call for call in (_from_call(call) for call in calls) if call is not None]
        thought = text
    else:
        spelled = list(_json_calls(text))
        thought = next((str(value["thought"]) for value in spelled if value.get("thought")), "")
        if not thought and actions == "tools":
            thought = text.partition("{")[0].replace("<tool_call>", "")
    notes = [note for value in spelled for note in _notes(value)]
    return [_action(value) for value in spelled], notes, scrubbed(thought)


def _from_call(call: ToolCall) -> dict[str, Any] | None:
    arguments = call.arguments
    if isinstance(arguments, str):
        arguments = next(_objects(arguments), None) if arguments.strip() else {}
    if not isinstance(arguments, dict) or not call.name:
        return None
    return {"action": call.name, "arguments": arguments}


def _json_calls(text: str) -> Iterator[dict[str, Any]]:
    for value in _objects(text):
        call = value.get("call")
        inner = value if not isinstance(call, dict) else {**value, **call}
        if isinstance(_name(inner), str):
            yield inner


def _name(value: dict[str, Any]) -> Any:
    name = value.get("action", value.get("name"))
    return name.get("name") if isinstance(name, dict) else name


def _action(value: dict[str, Any]) -> Action:
    name = scrubbed(str(_name(value)))
    given = value.get("arguments", value.get("parameters"))
    if isinstance(given, str):
        given = next(_objects(given), {})
    if not isinstance(given, dict):
        given = {key: value[key] for key in ARGUMENTS.get(name, ()) if key in value}
    return Action(name, {scrubbed(key): storable(item) for key, item in given.items() if key != NOTES})


def _notes(value: dict[str, Any]) -> Iterator[NoteWriting]:
    arguments = value.get("arguments")
    listed = value.get(NOTES) or (arguments.get(NOTES) if isinstance(arguments, dict) else None)
    for note in listed if isinstance(listed, list) else ():
        if isinstance(note, dict):
            yield NoteWriting(scrubbed(str(note.get("text", ""))), _page(note.get("source_page")))


def _page(value: Any) -> int:
    """A page number, or 0, which is no page, for anything else."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 10:
        return int(value)
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value if usable else 0


_decoder = json.JSONDecoder()


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, outermost ones, in order; braces beyond `MAX_STARTS` are not tried."""
    position = text.find("{")
    for _ in range(MAX_STARTS):
        if position < 0:
            return
        try:
            value, end = _decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position = text.find("{", position + 1)
            continue
        if isinstance(value, dict):
            yield value
        position = text.find("{", end)


def storable(value: Any, depth: int = 0) -> Any:
    """The value as a stored record can hold it: no lone surrogate, no huge integer, no endless nesting."""
    if isinstance(value, str):
        return scrubbed(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_STORED_INT else "a number that is too large"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {scrubbed(key): storable(item, depth + 1) for key, item in value.items()}
    return [storable(item, depth + 1) for item in value]


def _raw(text: str, calls: Sequence[ToolCall]) -> str:
    """The generation for the record: its text, and its tool calls as they came."""
    lines = [text] if text else []
    for call in calls:
        arguments = call.arguments
        if not isinstance(arguments, str):
            arguments = json.dumps(storable(arguments), ensure_ascii=False)
        lines.append(f"<tool_call>{scrubbed(str(call.name))} {scrubbed(arguments)}</tool_call>")
    return "\n".join(lines)
