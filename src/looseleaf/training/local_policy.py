"""`LocalPolicy`: a vision-language model on this machine as the agent, with the tokens that training uses."""

from __future__ import annotations

import asyncio
import weakref
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from looseleaf.errors import ContextOverflowError
from looseleaf.models.chat.options import ChatOptions
from looseleaf.models.chat.sampling import current_sample
from looseleaf.protocol import Protocol
from looseleaf.roles import PolicyTurn, PolicyView
from looseleaf.training.conversation import Conversation, Piece
from looseleaf.training.generate import Prompt, generate, load_model
from looseleaf.training.processing import load_processor

__all__ = ["LocalPolicy", "local_policy"]

GATHERING = 0.005
"""Seconds to wait for further questions whose next turn can be generated in the same batch."""
MAX_BATCH = 64
"""Most sequences generated at once."""
MAX_TURN_TOKENS = 512


class _Held(NamedTuple):
    """A conversation so far, as the model saw and spoke it."""

    conversation: Conversation
    ids: list[int]
    images: list[Any]

    def add(self, piece: Piece) -> None:
        self.ids.extend(piece.ids)
        self.images.extend(piece.images)


class _Asked(NamedTuple):
    prompt: Prompt
    reply: asyncio.Future[list[int]]


def _checksum(held: _Held) -> int:
    """Of tokens and pages: without it every question would get the same noise, and with tokens alone all that differ
    in nothing but their pages."""
    checksum = zlib.crc32(array("q", held.ids).tobytes())
    for image in held.images:
        checksum = zlib.crc32(image.tobytes(), checksum)
    return checksum


class LocalPolicy:
    """Generates turns; questions that run at the same time share batches.

    Args:
        model: the model.
        processor: its processor.
        temperature: 0 takes the likeliest token; above, a sample's seed decides, whatever else is in the batch.
        max_turn_tokens: longest turn.
        options: own prompt and page sizes, as in training.
    """

    def __init__(
        self,
        model: Any,
        processor: Any,
        *,
        temperature: float = 0.0,
        max_turn_tokens: int = MAX_TURN_TOKENS,
        options: ChatOptions | None = None,
    ) -> None:
        self._model = model
        self._processor = processor
        self._temperature = temperature
        self._max_turn_tokens = max_turn_tokens
        self._options = options
        self._conversations: dict[Protocol, Conversation] = {}
        self._held: weakref.WeakKeyDictionary[PolicyView, _Held] = weakref.WeakKeyDictionary()
        self._waiting: list[_Asked] = []
        self._gathering: asyncio.Task[None] | None = None

    async def act(self, view: PolicyView) -> PolicyTurn:
        """The next turn; text that holds no action is a malformed turn.

        Raises:
            ContextOverflowError: the conversation does not fit the model's context.
            DocumentError: a page cannot be rendered.
        """
        held = await self._continued(view)
        context = self._model.config.get_text_config().max_position_embeddings
        if len(held.ids) + self._max_turn_tokens > context:
            raise ContextOverflowError(f"the conversation has {len(held.ids)} tokens of at most {context}")
        before = len(held.ids)
        ids = await self._reply(held, len(view.history))
        held.ids.extend(ids)
        cut_off = ids[-1:] != [held.conversation.end_of_turn]
        if cut_off:
            held.ids.append(held.conversation.end_of_turn)
        return held.conversation.turn(ids, prompt_tokens=before, cut_off=cut_off)

    async def _continued(self, view: PolicyView) -> _Held:
        held = self._held.get(view)
        if held is None or not view.history:
            conversation = self._conversation(view.protocol)
            held = self._held[view] = _Held(conversation, [], [])
            held.add(await conversation.opening(view))
        else:
            held.add(await held.conversation.observation(view))
        return held

    def _conversation(self, protocol: Protocol) -> Conversation:
        if protocol not in self._conversations:
            self._conversations[protocol] = Conversation(self._processor, protocol, self._options)
        return self._conversations[protocol]

    async def _reply(self, held: _Held, turn: int) -> list[int]:
        sample = current_sample()
        noise = (sample.seed or 0, sample.number, turn, _checksum(held))
        reply = asyncio.get_running_loop().create_future()
        self._waiting.append(_Asked(Prompt(tuple(held.ids), tuple(held.images), noise), reply))
        if self._gathering is None or self._gathering.done():
            self._gathering = asyncio.create_task(self._generate_waiting())
        return list(await reply)

    async def _generate_waiting(self) -> None:
        while self._waiting:
            await asyncio.sleep(GATHERING)
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            try:
                replies = await asyncio.to_thread(self._generated, [asked.prompt for asked in batch])
            except Exception as problem:
                for asked in batch:
                    if not asked.reply.done():
                        asked.reply.set_exception(problem)
                continue
            for asked, ids in zip(batch, replies, strict=True):
                if not asked.reply.done():
                    asked.reply.set_result(ids)

    def _generated(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return generate(
            self._model,
            self._processor,
            prompts,
            max_new_tokens=self._max_turn_tokens,
            temperature=self._temperature,
        )


def local_policy(
    model: str | Path,
    *,
    temperature: float = 0.0,
    max_turn_tokens: int = MAX_TURN_TOKENS,
    prompt: str = "",
    max_image_pixels: int | None = None,
    actions: str | None = None,
) -> LocalPolicy:
    """A checkpoint as a policy, for `--policy python:looseleaf.training.local_policy:local_policy`.

    Args:
        model: checkpoint folder or name of a model on the hub.
        temperature: 0 takes the likeliest token.
        max_turn_tokens: longest turn.
        prompt: file with one's own prompt.
        max_image_pixels: pages are made smaller until they have at most so many pixels.
        actions: `tools`, `tags` or `json`; the protocol's own by default.

    Raises:
        ConfigError: the model cannot be loaded, or the training extra is not installed.
    """
    given = {"prompt": prompt, "max_image_pixels": max_image_pixels, "actions": actions}
    return LocalPolicy(
        load_model(model),
        load_processor(model),
        temperature=temperature,
        max_turn_tokens=max_turn_tokens,
        options=ChatOptions(**given),  # type: ignore[arg-type]
    )
