"""Foreign chat conversations as steps: OpenAI's messages, and what other tools store in their shape.

An assistant message is one turn. What follows up to the next assistant message is its observation: tool messages,
user messages, and the page images in them. Actions are tool calls, tags (`<search>…</search>`) or JSON objects, read
by the parser that looseleaf's own chat policy uses. An image counts as a page where it names one; see `page_names`.
Where an image names none, or nothing was ever named, the pages shown are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from looseleaf.adapters.imports.fields import as_mapping, items, optional_text, page_of, shown_value, usage_of
from looseleaf.adapters.imports.page_names import heading_pages, labelled_page, named_page
from looseleaf.adapters.imports.source import RowProblem
from looseleaf.adapters.imports.turns import foreign_turn, rebased
from looseleaf.memory import Finding
from looseleaf.models.chat.reply import ToolCall
from looseleaf.roles import Observation, PolicyTurn, Usage
from looseleaf.trajectory import Part, Step

__all__ = ["Conversation", "read_conversation"]

IMAGE_PARTS = frozenset({"image_url", "image", "input_image"})
TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
REASONING_PARTS = frozenset({"reasoning", "thinking"})
HUMAN_ROLES = frozenset({"user", "tool", "function", "observation", "environment"})


class Conversation(NamedTuple):
    """A conversation, read.

    Attributes:
        opening: text of the user before the first turn.
        steps: the turns; one with number 0 first where pages came with the question.
        memory: findings that the turns wrote, in order.
        answer: text of the answer, or `None`.
        undefined: parts that it does not record.
        raw_pages: for each step, page numbers as written.
    """

    opening: str
    steps: tuple[Step, ...]
    memory: tuple[Finding, ...]
    answer: str | None
    undefined: tuple[Part, ...]
    raw_pages: list[list[Any]]


class _Seen(NamedTuple):
    """Text and pages of the messages between two turns."""

    text: str
    raw: list[Any]
    nameless: int


def read_conversation(
    messages: Sequence[Any], *, base: int = 1, notes_kept: bool = False, answers: bool = True
) -> Conversation:
    """The steps of a conversation.

    Args:
        messages: OpenAI messages.
        base: number that the conversation gives to the first page.
        notes_kept: whether the agent has a memory, even if it wrote nothing into this one.
        answers: whether the last message without an action is the answer.

    Raises:
        RowProblem: it is no conversation, or has no turn of an assistant.
    """
    blocks = list(_blocks(messages))
    if not any(turn is not None for turn, _ in blocks):
        raise RowProblem("the conversation has no message of an assistant")
    turns = [turn for turn, _ in blocks if turn is not None]
    spoken = [foreign_turn(*turn[:3], final=answers and turn is turns[-1]) for turn in turns]
    parsed = [rebased(turn, base) for turn in spoken]
    seen = [_seen(rest, base) for _, rest in blocks]
    steps = [_opening(seen[0], base)] if blocks[0][0] is None and seen[0].raw else []
    observed = seen[1:] if blocks[0][0] is None else seen
    for number, (turn, made, found) in enumerate(zip(turns, parsed, observed, strict=True), start=1):
        steps.append(_step(number, made, found, turn.usage, base))
    memory = tuple(_findings(parsed))
    named = [found.raw for found in seen]
    lacks: list[Part] = [] if memory or notes_kept else ["memory"]
    if any(found.nameless for found in seen) or not any(named):
        lacks.append("pages")
    return Conversation(
        opening=seen[0].text if blocks[0][0] is None else "",
        steps=tuple(steps),
        memory=memory,
        answer=_answer(parsed),
        undefined=tuple(lacks),
        raw_pages=named,
    )


class _Turn(NamedTuple):
    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    usage: Usage


def _blocks(messages: Sequence[Any]) -> Iterator[tuple[_Turn | None, list[dict[str, Any]]]]:
    """Each turn with the messages that follow it; first, where there are any, those before the first turn."""
    turn: _Turn | None = None
    rest: list[dict[str, Any]] = []
    for place, given in enumerate(messages):
        message = as_mapping(given, f"message {place}")
        role = _kind(message, "role")
        if role == "assistant":
            if turn is not None or rest:
                yield turn, rest
            turn, rest = _turn(message), []
        elif role in HUMAN_ROLES:
            rest.append(message)
        elif role not in ("system", "developer"):
            raise RowProblem(f"message {place} has the role {shown_value(role)}")
    yield turn, rest


def _turn(message: Mapping[str, Any]) -> _Turn:
    reasoning = [optional_text(message, "reasoning_content", "reasoning", "thinking")]
    words = []
    for part in _parts(message):
        kind = _kind(part)
        if kind in REASONING_PARTS:
            reasoning.append(optional_text(part, "reasoning", "thinking", "text"))
        elif kind in TEXT_PARTS:
            words.append(optional_text(part, "text"))
    return _Turn(
        "\n".join(filter(None, words)),
        "\n".join(filter(None, reasoning)),
        tuple(_calls(message)),
        usage_of(message.get("usage") or {}) if isinstance(message.get("usage"), dict) else Usage(),
    )


def _calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Tool calls in OpenAI's form (`function: {name, arguments}`), flat, or as JSON text (verifiers)."""
    for given in items(message, "tool_calls"):
        call = _call_object(given)
        inner = call.get("function")
        named = inner if isinstance(inner, dict) else {**call, "name": inner or call.get("name")}
        yield ToolCall(optional_text(named, "name"), named.get("arguments", {}))


def _call_object(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        from looseleaf.adapters.imports.json_file import parsed

        given = parsed(given.encode("utf-8", "replace"))
    return as_mapping(given, "a tool call")


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise RowProblem(f'"content" is {shown_value(content)}, neither text nor a list of parts')
    return [
        {"type": "text", "text": part} if isinstance(part, str) else as_mapping(part, "a part of a message")
        for part in content
    ]


def _seen(messages: Sequence[Mapping[str, Any]], base: int) -> _Seen:
    words: list[str] = []
    raw: list[Any] = []
    nameless = 0
    for message in messages:
        label = ""
        headings: list[int] = []
        has_image = False
        for part in _parts(message):
            if _kind(part) in IMAGE_PARTS:
                has_image = True
                page = _image_page(part, label)
                nameless += page is None
                raw += [] if page is None else [page]
                label = ""
            elif _kind(part) in TEXT_PARTS:
                label = optional_text(part, "text")
                words.append(label)
                headings += heading_pages(label)
        raw += [] if has_image else headings
        raw += items(message, "shown")
    distinct = {page_of(page, base): page for page in reversed(raw)}
    return _Seen(
        "\n".join(words), [distinct[page] for page in dict.fromkeys(page_of(p, base) for p in raw)], nameless
    )


def _kind(record: Mapping[str, Any], key: str = "type") -> str:
    """The kind of a part or role of a message; empty for what is no text."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _image_page(part: Mapping[str, Any], label: str) -> Any:
    """The page that an image names: itself, in the text before it, or in its file name."""
    if part.get("page") is not None:
        return part["page"]
    address = part.get("image_url", part.get("image"))
    if isinstance(address, dict):
        address = address.get("url")
    page = labelled_page(label)
    return named_page(address) if page is None and isinstance(address, str) else page


def _opening(seen: _Seen, base: int) -> Step:
    return Step(turn=0, observation=Observation(text="", shown=_shown(seen, base)))


def _shown(seen: _Seen, base: int) -> tuple[int, ...]:
    return tuple(page_of(page, base) for page in seen.raw)


def _step(number: int, made: PolicyTurn, seen: _Seen, usage: Usage, base: int) -> Step:
    return Step(
        turn=number,
        thought=made.thought,
        action=made.action,
        notes=made.notes,
        observation=Observation(text=seen.text, shown=_shown(seen, base)),
        model_text=made.model_text,
        usage=usage,
        invalid=made.problem or None,
    )


def _findings(turns: Sequence[PolicyTurn]) -> Iterator[Finding]:
    """What the turns wrote down; nobody here knows what their environment refused."""
    for turn in turns:
        for note in turn.notes:
            yield _finding(note.text, note.source_page)
        if turn.action is not None and turn.action.name == "note":
            arguments = turn.action.arguments
            yield _finding(arguments.get("text"), arguments.get("source_page"))


def _finding(words: Any, page: Any) -> Finding:
    known = isinstance(page, int) and not isinstance(page, bool) and page > 0
    return Finding(str(words or ""), page if known else 0, () if known else ("page_unknown",))


def _answer(turns: Sequence[PolicyTurn]) -> str | None:
    for turn in reversed(turns):
        if turn.action is not None and turn.action.name == "answer":
            return str(turn.action.arguments.get("text", ""))
    return None
