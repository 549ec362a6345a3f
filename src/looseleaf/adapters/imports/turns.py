"""One foreign generation as a turn: the parser of looseleaf's chat policy, and other people's names of the actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from looseleaf.models.chat.parsing import parse_turn
from looseleaf.models.chat.reply import Reply, ToolCall
from looseleaf.models.prompts import ActionFormat
from looseleaf.roles import Action, NoteWriting, PolicyTurn, Usage

__all__ = ["ANSWER_NAMES", "NOTE_NAMES", "foreign_turn", "own_action", "rebased"]

OWN = frozenset({"search", "fetch", "note", "answer"})
QUERY_KEYS = ("query", "q", "search_query", "queries", "text_query")
PAGE_KEYS = ("page", "page_number", "page_num", "page_index", "source_page")
TEXT_KEYS = ("text", "answer", "final_answer", "result", "response")
PAGE_ARGUMENT = {"fetch": "page", "note": "source_page"}
PHYSICAL_BASE = 1
ANSWER_NAMES = frozenset({"answer", "final_answer", "submit", "submit_answer", "finish"})
"""Tools that end an episode with its answer (`submit` is Inspect's and verifiers' name of it)."""
NOTE_NAMES = frozenset({"note", "take_note", "write_note", "add_note", "remember", "record_finding"})


def foreign_turn(text: str, reasoning: str, calls: Sequence[ToolCall], *, final: bool) -> PolicyTurn:
    """The turn that a generation stands for.

    Several calls in one generation are one turn: notes ride in it, the first other call is the action, and the rest
    stand under its argument `also`.

    Args:
        text: what was said.
        reasoning: reasoning that was kept apart.
        calls: tool calls.
        final: whether words without an action are the answer.
    """
    if calls:
        return _called(text, reasoning, calls)
    turn = _spoken(text, reasoning)
    if turn.action is None and final and not _many(turn):
        turn = _parsed(Reply(text, reasoning, (), False, Usage(), 0), "text")
    if turn.action is None:
        return turn
    return msgspec.structs.replace(turn, action=own_action(turn.action))


def _many(turn: PolicyTurn) -> bool:
    return turn.problem.startswith("There are ")


def _spoken(text: str, reasoning: str) -> PolicyTurn:
    """Tags first, then a JSON object that names an action of ours."""
    reply = Reply(text, reasoning, (), False, Usage(), 0)
    tagged = _parsed(reply, "tags")
    if tagged.action is None:  # a note that rides with nothing is an action of its own
        tagged = _parsed(reply, "tags", ride=False)
    if tagged.action is not None or _many(tagged):
        return tagged
    spelled = _parsed(reply, "json")
    known = spelled.action is not None and own_action(spelled.action).name in OWN
    return spelled if known else tagged


def _parsed(reply: Reply, actions: ActionFormat, *, ride: bool = True) -> PolicyTurn:
    return parse_turn(reply, actions, ride=ride, usage=Usage())


def _called(text: str, reasoning: str, calls: Sequence[ToolCall]) -> PolicyTurn:
    whole = parse_turn(
        Reply(text, reasoning, tuple(calls), False, Usage(), 0), "tools", ride=True, usage=Usage()
    )
    made = [_parsed(Reply(text, reasoning, (call,), False, Usage(), 0), "tools") for call in calls]
    actions = [own_action(turn.action) for turn in made if turn.action is not None]
    riding = [note for turn in made for note in turn.notes]
    notes = [action for action in actions if action.name == "note"]
    others = [action for action in actions if action.name != "note"]
    if len(actions) == 1 or not others:
        first, notes = (actions[0] if actions else None), notes[1:]
    else:
        first = others[0]
    if first is not None and len(others) > 1:
        also = [{"action": action.name, **action.arguments} for action in others[1:]]
        first = Action(first.name, {**first.arguments, "also": also})
    return msgspec.structs.replace(
        whole,
        action=first,
        notes=(*riding, *(_note(action) for action in notes)),
        problem="" if first is not None else whole.problem,
    )


def _note(action: Action) -> NoteWriting:
    page = action.arguments.get("source_page")
    known = isinstance(page, int) and not isinstance(page, bool)
    return NoteWriting(str(action.arguments.get("text", "")), page if known and page is not None else 0)


def own_action(action: Action) -> Action:
    """The action in our words where its name or arguments say which it is; else as it came."""
    given = action.arguments
    name = action.name.strip().lower()
    if name in NOTE_NAMES or (
        name not in OWN and "source_page" in given and _first(given, TEXT_KEYS) is not None
    ):
        return Action("note", {**given, "text": _first(given, TEXT_KEYS), "source_page": _page(given)})
    if name in ANSWER_NAMES:
        return Action("answer", {**given, "text": _as_text(_first(given, TEXT_KEYS))})
    if name == "search" or (name not in OWN and _first(given, QUERY_KEYS) is not None):
        return Action("search", {**given, "query": _first(given, QUERY_KEYS)})
    if name == "fetch" or _first(given, PAGE_KEYS) is not None:
        return Action("fetch", {**given, "page": _page(given)})
    return action


def rebased(turn: PolicyTurn, base: int) -> PolicyTurn:
    """The turn with physical 1-based pages in its action and notes, the model's own number kept beside them.

    Args:
        turn: a turn whose pages are the source's.
        base: number that the source gives to the first page.
    """
    if base == PHYSICAL_BASE:
        return turn
    shift = PHYSICAL_BASE - base
    action = turn.action
    if action is not None and action.name in PAGE_ARGUMENT:
        key = PAGE_ARGUMENT[action.name]
        page = action.arguments.get(key)
        if isinstance(page, int) and not isinstance(page, bool):
            action = Action(action.name, {**action.arguments, key: page + shift, f"raw_{key}": page})
    notes = tuple(NoteWriting(note.text, note.source_page + shift) for note in turn.notes)
    return msgspec.structs.replace(turn, action=action, notes=notes)


def _first(given: dict[str, Any], keys: Sequence[str]) -> Any:
    return next((given[key] for key in keys if given.get(key) is not None), None)


def _page(given: dict[str, Any]) -> Any:
    page = _first(given, PAGE_KEYS)
    is_digits = isinstance(page, str) and page.strip().isascii() and page.strip().isdigit() and len(page) < 9
    return int(page) if is_digits else page


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
