"""A model of Inspect AI as the client of our chat roles.

The roles (`ChatPolicy`, `ChatReader`, …) ask a client for a reply to messages. Here the reply comes through Inspect's
Model API, so providers, retries, caching, limits and logging are Inspect's, while conversation, prompts and parsing
are the same code as everywhere.

Tool messages hold text only and pages follow in a user message of ours. So nothing is left of what Inspect does to
images in tool results (`tool_result_media_as_user_message`, inspect_ai 0.3.285, moves them into user messages).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from inspect_ai._util.exception import TerminateSampleError
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    model_roles,
)
from inspect_ai.tool import ToolCall, ToolInfo
from inspect_ai.util import LimitExceededError

from looseleaf.errors import ContextOverflowError, LooseleafError, ProviderError
from looseleaf.models.chat.client import ChatClient
from looseleaf.models.chat.message import ImagePart, Message, Part
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.reply import Reply
from looseleaf.models.chat.reply import ToolCall as ReplyCall
from looseleaf.roles import Usage

__all__ = ["INSPECTS_OWN", "InspectClient", "as_client", "inspect_messages", "model_of_role", "tool_infos"]

INSPECTS_OWN = (LimitExceededError, TerminateSampleError)
"""What Inspect raises to end a sample; it is no fault of a model and goes through to Inspect."""

OVERFLOW = "model_length"
"""Stop reason of an output that did not fit the model's context (inspect_ai.model.StopReason)."""
CUT_OFF = "max_tokens"
"""Stop reason of an output that ended at its longest length (inspect_ai.model.StopReason)."""
IN_THE_TEXT = "think"
"""How Inspect marks reasoning that it took out of the text (`internal` of `ContentReasoning`); it is put back, so that
the model reads its own turns as it wrote them."""

Listener = Callable[[list[ChatMessage], ModelOutput], None]
"""Is told the messages that were sent and what came back."""


class InspectClient:
    """Asks one model of Inspect; stands in for `ChatClient`, of which roles use `model`, `options` and `complete`.

    Args:
        model: the model.
        options: how pages and actions are shown and written; how to reach a server is Inspect's business.
        config: generation settings that win over the user's own.
        listener: is told of every exchange.
    """

    def __init__(
        self,
        model: Model,
        options: ChatOptions,
        *,
        config: GenerateConfig | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.model = model.name
        self.options = options
        self._asked = model
        self._name = str(model)
        self._config = config or GenerateConfig()
        self._listener = listener
        self._known: list[tuple[Message, ChatMessage]] = []

    async def complete(
        self, messages: list[Message], *, fields: Mapping[str, Any] | None = None, cached: bool = True
    ) -> Reply:
        """The model's reply.

        Args:
            messages: the conversation.
            fields: tool definitions or a response format, in OpenAI's form.
            cached: not used: whether replies are cached is a setting of Inspect.

        Raises:
            ContextOverflowError: the conversation does not fit the model's context.
            ProviderError: there is no reply to be had.
            LimitExceededError: a limit of the sample is reached.
        """
        sent = self._converted(messages)
        fields = fields or {}
        output = await self._generate(sent, tool_infos(fields.get("tools", ())), self._with_schema(fields))
        if self._listener is not None:
            self._listener(sent, output)
        if output.empty:
            raise ProviderError(f"The model {self._name} gave no reply ({output.error or 'no choice'}).")
        if output.stop_reason == OVERFLOW:
            raise ContextOverflowError(f"The conversation does not fit the context of {self._name}.")
        return _reply(output)

    async def _generate(
        self, sent: list[ChatMessage], tools: list[ToolInfo], config: GenerateConfig
    ) -> ModelOutput:
        try:
            return await self._asked.generate(sent, tools=tools, config=config)
        except (*INSPECTS_OWN, LooseleafError):
            raise
        except Exception as problem:
            what = f"{type(problem).__name__}: {problem}"
            raise ProviderError(f"The model {self._name} gave no reply ({what}).") from problem

    def _with_schema(self, fields: Mapping[str, Any]) -> GenerateConfig:
        if "response_format" not in fields:
            return self._config
        given = fields["response_format"]["json_schema"]
        schema = ResponseSchema(name=given["name"], json_schema=given["schema"], strict=given["strict"])
        return self._config.merge(GenerateConfig(response_schema=schema))

    def _converted(self, messages: Sequence[Message]) -> list[ChatMessage]:
        """The messages in Inspect's form; one that was sent before is the same object, so that logs hold it once."""
        fresh = inspect_messages(messages)
        known = self._known
        kept = [
            (message, known[place][1] if place < len(known) and known[place][0] == message else made)
            for place, (message, made) in enumerate(zip(messages, fresh, strict=True))
        ]
        self._known = kept
        return [made for _, made in kept]


def as_client(client: InspectClient) -> ChatClient:
    """The client as the type that roles are declared with."""
    return cast(ChatClient, client)


def model_of_role(role: str) -> Model | None:
    """The model that the user bound to a role with `--model-role`, or `None`."""
    bound = model_roles().get(role)
    return bound[0] if isinstance(bound, list) else bound


# -- to Inspect ------------------------------------------------------------------------------------------------


def tool_infos(definitions: Iterable[Mapping[str, Any]]) -> list[ToolInfo]:
    """Tool definitions in Inspect's form, with the very same names, descriptions and schemas."""
    return [ToolInfo.model_validate(definition["function"]) for definition in definitions]


def inspect_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """Our messages in Inspect's form."""
    names: dict[str, str] = {}
    made = []
    for message in messages:
        names.update({call["id"]: call["function"]["name"] for call in message.tool_calls})
        made.append(_message(message, names.get(message.tool_call_id)))
    return made


def _message(message: Message, function: str | None) -> ChatMessage:
    content = _content(message.parts)
    if message.role == "system":
        return ChatMessageSystem(content=content)
    if message.role == "tool":
        return ChatMessageTool(content=content, tool_call_id=message.tool_call_id, function=function)
    if message.role == "assistant":
        return ChatMessageAssistant(
            content=content, tool_calls=[_call(c) for c in message.tool_calls] or None
        )
    return ChatMessageUser(content=content)


def _content(parts: Sequence[Part]) -> str | list[Content]:
    """One string where there is only text, as our own client sends it."""
    if any(isinstance(part, ImagePart) for part in parts):
        return [_part(part) for part in parts]
    return "\n".join(part.text for part in parts if not isinstance(part, ImagePart))


def _part(part: Part) -> Content:
    if isinstance(part, ImagePart):
        return ContentImage(image=msgspec.json.decode(part.json)["image_url"]["url"])
    return ContentText(text=part.text)


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(
        id=call["id"], function=function["name"], arguments=msgspec.json.decode(function["arguments"])
    )


# -- from Inspect ----------------------------------------------------------------------------------------------


def _reply(output: ModelOutput) -> Reply:
    message = output.message
    thoughts = [part for part in message.content if isinstance(part, ContentReasoning)]
    written = [part.reasoning for part in thoughts if part.internal == IN_THE_TEXT]
    return Reply(
        text="".join(f"<think>{thought}</think>\n" for thought in written) + message.text,
        reasoning="\n".join(part.reasoning for part in thoughts if part.internal != IN_THE_TEXT),
        calls=tuple(ReplyCall(call.function, _arguments(call)) for call in message.tool_calls or ()),
        cut_off=output.stop_reason == CUT_OFF,
        usage=_usage(output),
        cached_tokens=(output.usage.input_tokens_cache_read or 0) if output.usage else 0,
        model=output.model,
    )


def _arguments(call: ToolCall) -> Any:
    """The arguments as an object; for some that Inspect could not read, what it says of them, which is no JSON."""
    return call.arguments if call.parse_error is None else call.parse_error.replace("{", "(")


def _usage(output: ModelOutput) -> Usage:
    used = output.usage
    if used is None:
        return Usage(calls=1)
    sent = used.input_tokens + (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0)
    return Usage(sent, used.output_tokens, calls=1, cost=used.total_cost)
