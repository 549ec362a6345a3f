"""The conversation: from what a policy may look at to messages, in one place for every server and action format.

Rules:

* The first user message holds the question; the pages of an opening observation follow in it.
* Every turn is an assistant message. A turn with an action that parsed is a tool call in the `tools` format; all
  others are the model's own text.
* Every observation is text, then each shown page as a line "Page 7 (printed number vi):" and its image or text.
* Tool messages carry text only, because many servers refuse images in them; the pages follow in a user message.
* `images_kept` counts from the newest image backwards; a page beyond it keeps its line, and its image is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from looseleaf.models.chat.images import PageImages
from looseleaf.models.chat.message import Message, Part, TextPart
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.prompts import ActionFormat, render_question, render_system
from looseleaf.roles import Observation, PolicyTurn, PolicyView

__all__ = ["build_conversation", "call_id"]

NOTHING_SAID = "(nothing)"
"""Stands for an empty generation: several servers refuse an assistant message without text."""

CUT = " … (cut)"
DROPPED = "(image no longer in this conversation)"


class _Shown(NamedTuple):
    """A page of an observation and whether its image is still in the conversation."""

    page: int
    kept: bool


async def build_conversation(
    view: PolicyView, actions: ActionFormat, options: ChatOptions, images: PageImages
) -> list[Message]:
    """All messages up to the coming turn.

    Raises:
        ConfigError: the user's own prompt cannot be used.
        DocumentError: a page cannot be rendered.
    """
    kept = iter(_kept(view, options))
    opening = await _page_parts(view, view.opening, next(kept), options, images, opening=True)
    messages = [
        Message("system", (TextPart(render_system(view.protocol, actions, options.prompt)),)),
        Message("user", (TextPart(render_question(view.question, view.page_count)), *opening)),
    ]
    for number, ((turn, observation), shown) in enumerate(zip(view.history, kept, strict=True), start=1):
        pages = await _page_parts(view, observation, shown, options, images, opening=False)
        left = view.protocol.max_turns - number
        messages += _exchange(number, turn, observation, pages, left, actions)
    return messages


def _kept(view: PolicyView, options: ChatOptions) -> list[tuple[_Shown, ...]]:
    """For the opening and each turn: its shown pages, newest `images_kept` of all of them kept."""
    observations = [view.opening, *(observation for _, observation in view.history)]
    shown = [observation.shown if observation is not None else () for observation in observations]
    total = sum(map(len, shown))
    first_kept = 0 if options.images_kept is None else total - options.images_kept
    position = 0
    result = []
    for pages in shown:
        result.append(tuple(_Shown(page, position + n >= first_kept) for n, page in enumerate(pages)))
        position += len(pages)
    return result


async def _page_parts(
    view: PolicyView,
    observation: Observation | None,
    shown: tuple[_Shown, ...],
    options: ChatOptions,
    images: PageImages,
    *,
    opening: bool,
) -> list[Part]:
    if observation is None:
        return []
    encoded = {}
    if options.pages != "text":
        kept = [page.page for page in shown if page.kept]
        encoded = dict(zip(kept, await images.parts(view, kept, opening=opening), strict=True))
    parts: list[Part] = []
    for page, is_kept in shown:
        parts.append(TextPart(_page_line(view, page, options, dropped=not is_kept)))
        if is_kept and page in encoded:
            parts.append(encoded[page])
    return parts


def _page_line(view: PolicyView, page: int, options: ChatOptions, *, dropped: bool) -> str:
    label = view.page_label(page)
    line = f"Page {page}:" if label == str(page) else f"Page {page} (printed number {label}):"
    if options.pages == "images":
        return f"{line} {DROPPED}" if dropped else line
    text = view.page_text(page)
    return f"{line}\n{text if len(text) <= options.text_chars else text[: options.text_chars] + CUT}"


def _exchange(
    number: int,
    turn: PolicyTurn,
    observation: Observation,
    pages: list[Part],
    left: int,
    actions: ActionFormat,
) -> list[Message]:
    """The messages of one turn and its observation."""
    words = f"{observation.text}\nTurns left: {left}.{' Give your answer now.' if left == 1 else ''}".lstrip()
    if actions == "tools" and turn.action is not None:
        answered = Message("tool", (TextPart(words),), tool_call_id=call_id(number))
        return [_tool_call(number, turn), answered, *([Message("user", pages)] if pages else [])]
    said = turn.model_text.strip() or _as_text(turn, actions) or NOTHING_SAID
    parts: Sequence[Part] = (TextPart(words), *pages)
    if actions == "tags":
        parts = (TextPart(f"<result>\n{words}"), *pages, TextPart("</result>"))
    return [Message("assistant", (TextPart(said),)), Message("user", parts)]


def call_id(number: int) -> str:
    """Identifier of the tool call of a turn: nine letters and digits, the narrowest rule in use (Mistral)."""
    return f"call{number:05d}"


def _tool_call(number: int, turn: PolicyTurn) -> Message:
    assert turn.action is not None
    arguments = dict(turn.action.arguments)
    if turn.notes:
        arguments["notes"] = [{"text": note.text, "source_page": note.source_page} for note in turn.notes]
    call = {
        "id": call_id(number),
        "type": "function",
        "function": {"name": turn.action.name, "arguments": msgspec.json.encode(arguments).decode()},
    }
    return Message("assistant", (TextPart(turn.thought),) if turn.thought else (), tool_calls=(call,))


def _as_text(turn: PolicyTurn, actions: ActionFormat) -> str:
    """A turn that no model wrote (a bare action), in the words that a model would have used."""
    if turn.action is None:
        return ""
    if actions == "tags":
        name, arguments = turn.action.name, turn.action.arguments
        if name == "note":
            return f'<note page="{arguments.get("source_page")}">{arguments.get("text")}</note>'
        value = next(iter(arguments.values()), "")
        return f"<think>{turn.thought}</think>\n<{name}>{value}</{name}>"
    call = {"thought": turn.thought, "call": {"action": turn.action.name, **turn.action.arguments}}
    return msgspec.json.encode(call).decode()
