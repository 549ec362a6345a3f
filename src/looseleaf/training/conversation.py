"""From what a policy may look at to the tokens of a model on this machine: the one place that says how.

Messages are those that a served model gets (`looseleaf.models.chat.conversation`): system prompt, question, tool
calls, observations, pages. A token sequence is made piece by piece and never anew:

* the opening: the model's chat template over the first two messages, with tools, up to where the model goes on;
* a reply: the model's own tokens, or for SFT the template's rendering of the turn, tokenised by itself, and the end of
  turn; nothing is put between the opening and a reply, or a newline would merge into the first token;
* an observation: what the template adds for the messages that follow the reply, tokenised by itself.

SFT joins the pieces that a rollout joins, so both see the same tokens. Special tokens that a document, a question or
a stored reply spells out are broken up: only the template and the model itself speak them.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

from looseleaf.models.chat.actions import notes_ride, tool_definitions
from looseleaf.models.chat.conversation import build_conversation
from looseleaf.models.chat.image_tokens import family_of
from looseleaf.models.chat.images import PageImages, page_scale
from looseleaf.models.chat.message import ImagePart, Message, TextPart
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.parsing import parse_turn
from looseleaf.models.chat.reply import Reply
from looseleaf.models.prompts import ActionFormat, default_format, render_system
from looseleaf.protocol import Protocol
from looseleaf.roles import PolicyTurn, PolicyView, Usage

__all__ = ["Conversation", "Piece", "run_now"]

Result = TypeVar("Result")

CALLING = "tool_calls"


class Piece(NamedTuple):
    """A stretch of a token sequence with the page images in it.

    Attributes:
        ids: tokens; each image is as many image tokens as it has patches.
        images: page images (PIL, RGB), in order.
    """

    ids: tuple[int, ...]
    images: tuple[Any, ...] = ()


class Conversation:
    """Makes the pieces for one model under one protocol.

    Args:
        processor: the model's processor (`looseleaf.training.processing.load_processor`).
        protocol: the rules.
        options: own prompt, page sizes and action format, as a served policy takes them; all pages stay.
    """

    def __init__(self, processor: Any, protocol: Protocol, options: ChatOptions | None = None) -> None:
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self.protocol = protocol
        self.options = options or ChatOptions()
        usual = default_format(protocol)
        self.actions: ActionFormat = usual if usual == "text" else self.options.actions or usual
        self._images = PageImages(self.options, family_of("qwen3-vl", self.options.image_family))
        added = self.tokenizer.added_tokens_decoder.values()
        special = [*self.tokenizer.all_special_tokens, *(str(token) for token in added if token.special)]
        self._forbidden = tuple(dict.fromkeys(filter(None, special)))

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """Tool definitions as the chat template takes them; none where actions are not tool calls."""
        return tool_definitions(self.protocol) if self.actions == "tools" else None

    @property
    def end_of_turn(self) -> int:
        """The token that ends a reply."""
        return int(self.tokenizer.eos_token_id)

    @property
    def vision_tokens(self) -> tuple[int, ...]:
        """Tokens that stand for images and videos; a model must never sample one."""
        number = self.tokenizer.convert_tokens_to_ids
        names = ("image_token", "video_token", "vision_start_token", "vision_end_token")
        known = [getattr(self.processor, name, None) for name in names]
        ids = [number(token) for token in known if isinstance(token, str)]
        unknown = self.tokenizer.unk_token_id
        return tuple(sorted({int(found) for found in ids if found is not None and found != unknown}))

    @property
    def image_token(self) -> int:
        """The token that images consist of."""
        return int(self.tokenizer.convert_tokens_to_ids(self.processor.image_token))

    # -- messages ---------------------------------------------------------------------------------------------

    async def messages(self, view: PolicyView) -> list[dict[str, Any]]:
        """All messages up to the coming turn, as a chat template takes them.

        Raises:
            DocumentError: a page cannot be rendered.
        """
        return [self._message(message) for message in await self._built(view)]

    async def _built(self, view: PolicyView) -> list[Message]:
        return await build_conversation(view, self.actions, self.options, self._images)

    def _message(self, message: Message) -> dict[str, Any]:
        texts = [part.text for part in message.parts if isinstance(part, TextPart)]
        content: Any = self._plain("\n".join(texts))  # as it goes over the wire
        if len(texts) != len(message.parts):
            content = [self._part(part) for part in message.parts]
        made: dict[str, Any] = {"role": message.role, "content": content}
        if message.tool_calls:
            made[CALLING] = [self._call(call) for call in message.tool_calls]
        return made

    def _part(self, part: TextPart | ImagePart) -> dict[str, Any]:
        if isinstance(part, TextPart):
            return {"type": "text", "text": self._plain(part.text)}
        return {"type": "image", "image": _picture(part)}

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        function = call["function"]
        arguments = json.loads(self._plain(function["arguments"]))
        return {"type": "function", "function": {"name": function["name"], "arguments": arguments}}

    def _plain(self, text: str) -> str:
        """Text in which no special token is spelled out."""
        for token in self._forbidden:
            if token in text:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    # -- pieces -----------------------------------------------------------------------------------------------

    async def opening(self, view: PolicyView) -> Piece:
        """Everything before the first turn."""
        messages = [self._message(message) for message in (await self._built(view))[:2]]
        return self._piece(self._rendered(messages, tools=self.tools, go_on=True), messages)

    async def observation(self, view: PolicyView) -> Piece:
        """What follows the newest turn, up to where the model goes on. The turn must have been carried out."""
        return self._after_reply(_exchanges(await self._built(view))[-1].answered)

    async def answer_parts(self, view: PolicyView) -> list[dict[str, Any]]:
        """The content of all messages that follow the newest turn, as one list of text and images."""
        answered = _exchanges(await self._built(view))[-1].answered
        return [self._part(part) for message in answered for part in message.parts]

    async def exchanges(self, view: PolicyView) -> list[tuple[tuple[int, ...], Piece]]:
        """Each turn so far as SFT teaches it, end of turn included, and what follows it."""
        return [
            (
                self.tokens_of_reply(self.said(self._message(exchange.spoken))),
                self._after_reply(exchange.answered),
            )
            for exchange in _exchanges(await self._built(view))
        ]

    def tokens_of_reply(self, text: str) -> tuple[int, ...]:
        """Tokens of a reply, with the end of turn."""
        ids = self.tokenizer(self._plain(text), add_special_tokens=False)["input_ids"]
        return (*ids, self.end_of_turn)

    def system_text(self) -> str:
        """The system message with its tools, as the template renders it, without the marks around it."""
        system = {
            "role": "system",
            "content": render_system(self.protocol, self.actions, self.options.prompt),
        }
        whole = self._rendered([system], tools=self.tools)
        return whole.partition("\n")[2].rpartition(str(self.tokenizer.eos_token))[0]

    def said(self, message: dict[str, Any]) -> str:
        """An assistant's message in the template's words."""
        before = self._rendered([DUMMY_QUESTION], go_on=True)
        whole = self._rendered([DUMMY_QUESTION, message])
        return self._added(before, whole).partition(self.tokenizer.eos_token)[0]

    def _after_reply(self, answered: Sequence[Message]) -> Piece:
        messages = [self._message(message) for message in answered]
        held = [DUMMY_QUESTION, DUMMY_REPLY]
        end = self.tokenizer.eos_token
        before = self._rendered(held)
        before = before[: before.rindex(end) + len(end)]
        return self._piece(self._added(before, self._rendered([*held, *messages], go_on=True)), messages)

    def _added(self, before: str, whole: str) -> str:
        if not whole.startswith(before):
            raise ValueError("the chat template renders earlier messages anew when others follow")
        return whole[len(before) :]

    def _rendered(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        go_on: bool = False,
    ) -> str:
        text = self.processor.apply_chat_template(
            list(messages), tools=tools, tokenize=False, add_generation_prompt=go_on
        )
        return str(text)

    def _piece(self, text: str, messages: Sequence[dict[str, Any]]) -> Piece:
        images = tuple(
            part["image"]
            for message in messages
            if isinstance(message["content"], list)
            for part in message["content"]
            if part["type"] == "image"
        )
        if not images:
            return Piece(tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"]))
        made = self.processor(text=[text], images=list(images), add_special_tokens=False)
        return Piece(tuple(made["input_ids"][0]), images)

    # -- the way back -----------------------------------------------------------------------------------------

    def turn(self, ids: Sequence[int], *, prompt_tokens: int = 0, cut_off: bool = False) -> PolicyTurn:
        """The turn that generated tokens stand for, parsed like the reply of a server.

        Args:
            ids: tokens of the reply, with or without the end of turn.
            prompt_tokens: tokens that came before, for the record.
            cut_off: whether the reply ended at its longest length.
        """
        return self.turn_of_text(
            self.tokenizer.decode(list(ids), skip_special_tokens=True),
            usage=Usage(prompt_tokens, len(ids), calls=1),
            cut_off=cut_off,
        )

    def turn_of_text(self, text: str, *, usage: Usage | None = None, cut_off: bool = False) -> PolicyTurn:
        """The turn that a reply's text stands for."""
        usage = usage or Usage()
        reply = Reply(text, "", (), cut_off, usage, 0)
        return parse_turn(reply, self.actions, ride=notes_ride(self.protocol), usage=usage)

    # -- lengths ----------------------------------------------------------------------------------------------

    def page_tokens(self, width: float, height: float) -> int:
        """Most tokens of a page of that size in pixels, with its line of text."""
        images = self.processor.image_processor
        caps = [cap for cap in (self.protocol.max_pixels, self.options.max_image_pixels) if cap is not None]
        scale = page_scale(round(width), round(height), min(caps, default=None), self.options.max_image_side)
        height, width = max(1.0, height * scale), max(1.0, width * scale)
        patches = images.get_number_of_image_patches(round(height), round(width), {})
        return int(patches) // int(images.merge_size) ** 2 + LINE_TOKENS


class _Exchange(NamedTuple):
    """A turn and the messages that answer it."""

    spoken: Message
    answered: list[Message]


def _exchanges(messages: Sequence[Message]) -> list[_Exchange]:
    found: list[_Exchange] = []
    for message in messages[2:]:
        if message.role == "assistant":
            found.append(_Exchange(message, []))
        else:
            found[-1].answered.append(message)
    return found


LINE_TOKENS = 32
"""Tokens of the line above a page image, on the high side."""
WORDS_TOKENS = 192
"""Tokens of the words of an observation and of the template around them, on the high side."""

DUMMY_QUESTION = {"role": "user", "content": "question"}
DUMMY_REPLY = {"role": "assistant", "content": "reply"}


def run_now(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine, for callers that are not on an event loop themselves."""
    return asyncio.run(work)


def _picture(part: ImagePart) -> Any:
    """The page image as PIL has it."""
    from PIL import Image

    url = json.loads(part.json)["image_url"]["url"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as opened:
        return opened.convert("RGB")
