"""`Rollout`: one trajectory in training, as tokens that only ever grow, with which of them the policy generated."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from looseleaf.training.conversation import Conversation, Piece
from looseleaf.training.faults import TrainingError
from looseleaf.training.generate import Prompt
from looseleaf.training.shim import RolloutShim

__all__ = ["Rollout"]


class Rollout:
    """Drives a shim by generated tokens.

    Args:
        shim: freshly reset.
        conversation: makes tokens.

    Attributes:
        ids: all tokens so far.
        start: length of the opening.
        generated: for each token after the opening, whether the policy generated it.
        logprobs: of each of these tokens under the sampling policy; 0 for observations, NaN where nobody said.
        images: page images so far, in the order of their tokens.
        asked: the token sequences that were gone on from, for the gate that compares them.
    """

    def __init__(self, shim: RolloutShim, conversation: Conversation) -> None:
        self.shim = shim
        self.ids: list[int] = []
        self.start = 0
        self.generated: list[bool] = []
        self.logprobs: list[float] = []
        self.images: list[Any] = []
        self.asked: list[tuple[int, ...]] = []
        self._conversation = conversation
        self._vision = frozenset(conversation.vision_tokens)
        self._since = time.perf_counter()

    async def begin(self) -> None:
        """Take up the opening.

        Raises:
            DocumentError: a page of the opening cannot be rendered.
        """
        opening = await self._conversation.opening(self.shim._environment)
        self.ids = list(opening.ids)
        self.images = list(opening.images)
        self.start = len(self.ids)

    @property
    def done(self) -> bool:
        """Whether there is nothing more to generate."""
        return self.shim._environment.done

    @property
    def completion(self) -> list[int]:
        """The tokens after the opening."""
        return self.ids[self.start :]

    def prompt(self) -> Prompt:
        """What the coming turn goes on from."""
        self.asked.append(tuple(self.ids))
        self._since = time.perf_counter()
        return Prompt(tuple(self.ids), tuple(self.images))

    async def absorb(self, reply: Sequence[int], logprobs: Sequence[float] | None = None) -> None:
        """Take up a generated turn, carry it out, and take up what the environment answers.

        Args:
            reply: generated tokens, with the end of turn unless it was cut off.
            logprobs: of these tokens under the sampling policy, if known.

        Raises:
            TrainingError: a vision token was generated; there is no image behind it.
            ToolFaultError: the environment failed, by no doing of the model.
        """
        self._refuse_vision(reply)
        before = len(self.ids)
        self._add(reply, logprobs or [math.nan] * len(reply), generated=True)
        cut_off = not reply or reply[-1] != self._conversation.end_of_turn
        turn = self._conversation.turn(reply, prompt_tokens=before, cut_off=cut_off)
        spent = len(self.ids) - self.start
        self.shim._take(turn, spent=spent, seconds=time.perf_counter() - self._since)
        if not self.done:
            self._observe(await self.shim._shown(), cut_off)

    def _observe(self, piece: Piece | None, cut_off: bool) -> None:
        if piece is None:
            return
        ids = (self._conversation.end_of_turn, *piece.ids) if cut_off else piece.ids
        self._add(ids, [0.0] * len(ids), generated=False)
        self.images.extend(piece.images)

    def _add(self, ids: Sequence[int], logprobs: Sequence[float], *, generated: bool) -> None:
        self.ids.extend(ids)
        self.generated.extend([generated] * len(ids))
        self.logprobs.extend(logprobs)

    def _refuse_vision(self, reply: Sequence[int]) -> None:
        stray = self._vision.intersection(reply)
        if stray:
            token = self._conversation.tokenizer.convert_ids_to_tokens(min(stray))
            raise TrainingError(
                f"The model generated {token}, which has no image behind it; suppress vision tokens in generation "
                "(generation_kwargs of TRL, or logit_bias of the server)."
            )
