"""`Reply`: what is used of a chat completion, read leniently: servers differ in all the rest."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from looseleaf.roles import Usage

__all__ = ["Reply", "ReplyError", "ToolCall", "read_reply"]


class ReplyError(Exception):
    """A body that holds no completion: cut short, an error object, or no choice at all.

    Attributes:
        error: the error object that the server sent with status 200, if that is what it was.
    """

    def __init__(self, message: str, error: Any = None) -> None:
        super().__init__(message)
        self.error = error


class ToolCall(NamedTuple):
    """One tool call as it came; `arguments` is JSON text, or already an object on some servers."""

    name: str
    arguments: Any


class Reply(NamedTuple):
    """One completion.

    Attributes:
        text: the words.
        reasoning: reasoning that the server split off.
        calls: tool calls.
        cut_off: whether the reply ended at its longest length.
        usage: tokens, without a cost.
        cached_tokens: prompt tokens that the server says it had cached.
        model: the model that answered, as the server names it, with the fingerprint of its setup where it sends one;
            empty where it does not say.
    """

    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    cut_off: bool
    usage: Usage
    cached_tokens: int
    model: str = ""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    function: _Function | None = None


class _Message(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    model: Any = None
    system_fingerprint: Any = None


_decoder = msgspec.json.Decoder(_Completion)


def read_reply(body: bytes) -> Reply:
    """Read a response body.

    Raises:
        ReplyError: it holds no completion.
    """
    completion = _decode(body)
    if completion.error:
        raise ReplyError("the server sent an error with status 200", completion.error)
    if not completion.choices or completion.choices[0].message is None:
        raise ReplyError("the reply holds no choice")
    choice = completion.choices[0]
    message = completion.choices[0].message
    usage = completion.usage or _Usage()
    details = usage.prompt_tokens_details
    return Reply(
        text=_text(message.content) or _text(message.refusal),
        reasoning=_text(message.reasoning_content) or _text(message.reasoning),
        calls=tuple(
            ToolCall(call.function.name or "", call.function.arguments)
            for call in message.tool_calls or ()
            if call.function is not None
        ),
        cut_off=choice.finish_reason == "length",
        usage=Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, calls=1),
        cached_tokens=(details.cached_tokens or 0) if details is not None else 0,
        model=" ".join(
            word
            for word in (completion.model, completion.system_fingerprint)
            if isinstance(word, str) and word
        ),
    )


def _decode(body: bytes) -> _Completion:
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(body)


def _decode_leniently(body: bytes) -> _Completion:
    """Once more for bodies with broken UTF-8 or lone surrogates, which a model may well produce."""
    try:
        loaded = json.loads(body.decode("utf-8", "replace"))
        return msgspec.convert(loaded, _Completion, strict=False)
    except (ValueError, RecursionError, msgspec.ValidationError) as problem:
        raise ReplyError(f"the reply is not a whole chat completion ({_short(problem)})") from problem


def _short(problem: Exception) -> str:
    return str(problem)[:120] or type(problem).__name__


def _text(content: Any) -> str:
    """Content as one string: some servers send a list of text parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return ""
