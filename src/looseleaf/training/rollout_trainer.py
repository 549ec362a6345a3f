"""`RolloutTrainer`: TRL's `GRPOTrainer` whose generations are turns of `looseleaf.Environment`.

TRL's tool loop is not used: one generation is one turn, parsed as a server's reply is; an answer ends the rollout with
no further generation; a turn without an action costs its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from accelerate.utils import gather_object
from trl import GRPOTrainer

from looseleaf.training.conversation import Conversation
from looseleaf.training.rollout import Rollout

__all__ = ["RolloutTrainer"]


class RolloutTrainer(GRPOTrainer):  # type: ignore[misc, unused-ignore]  # untyped where trl is not read
    """Samples rollouts; what they are worth is for subclasses to say.

    Args:
        conversation: makes the model's tokens.
        trl: everything that `GRPOTrainer` takes.

    Attributes:
        rollouts: those of the newest generation batch, of this process.
        gating: whether rollouts are only looked at (`watched`).
    """

    def __init__(self, *, conversation: Conversation, **trl: Any) -> None:
        self.conversation = conversation
        self.rollouts: list[Rollout] = []
        self.gating = False
        self._patches: dict[int, tuple[Any, Any]] = {}
        self._forced: list[tuple[int, ...]] = []
        self._watching: list[Any] | None = None
        self._events = asyncio.Runner()
        super().__init__(**trl)

    def _tokenize_prompts(self, prompts: list[Any]) -> tuple[list[list[int]], Any, dict[str, Any]]:
        self._patches.clear()
        self.rollouts = [Rollout(shim, self.conversation) for shim in self.environments]
        for rollout in self.rollouts:
            self._events.run(rollout.begin())
        return self._asked(self.rollouts)

    def _asked(self, rollouts: Sequence[Rollout]) -> tuple[list[list[int]], Any, dict[str, Any]]:
        """Token sequences, images and image patches to generate from, as TRL hands them on."""
        asked = [rollout.prompt() for rollout in rollouts]
        if not any(prompt.images for prompt in asked):
            return [list(prompt.ids) for prompt in asked], None, {}
        patches = [self._patches_of(image) for prompt in asked for image in prompt.images]
        image = self.conversation.image_token
        fields = {
            "pixel_values": torch.cat([pixels for pixels, _ in patches]),
            "image_grid_thw": torch.cat([grid for _, grid in patches]),
            "mm_token_type_ids": [[int(token == image) for token in prompt.ids] for prompt in asked],
        }
        return (
            [list(prompt.ids) for prompt in asked],
            [list(prompt.images) or None for prompt in asked],
            fields,
        )

    def _patches_of(self, image: Any) -> tuple[Any, Any]:
        if id(image) not in self._patches:
            made = self.conversation.processor.image_processor(images=[image], return_tensors="pt")
            self._patches[id(image)] = (made["pixel_values"], made["image_grid_thw"])
        return self._patches[id(image)]

    def _tool_call_loop(
        self,
        prompts: Any,
        prompt_ids: Any,
        completion_ids: Any,
        completions: Any,
        logprobs: Any,
        images: Any,
        multimodal_fields: Any,
    ) -> tuple[Any, ...]:
        """All turns after the first; TRL's own loop is not used."""
        self._absorb(self.rollouts, completion_ids, logprobs)
        while self._anyone(active := [rollout for rollout in self.rollouts if not rollout.done]):
            self._absorb(active, *self._next_replies(active))
        if images is not None:  # those of the opening are the rollouts' first images
            images[:] = [None] * len(images)
        tokenizer = self.conversation.tokenizer
        done = [rollout.completion for rollout in self.rollouts]
        known = logprobs is not None
        return (
            [[int(own) for own in rollout.generated] for rollout in self.rollouts],
            [[{"role": "assistant", "content": tokenizer.decode(ids)}] for ids in done],
            done,
            [rollout.logprobs for rollout in self.rollouts] if known else None,
            sum(len(rollout.asked) for rollout in self.rollouts),
            0,
            [rollout.images for rollout in self.rollouts],
        )

    def _absorb(self, rollouts: Sequence[Rollout], replies: Any, logprobs: Any) -> None:
        if self._forced and all(len(rollout.asked) == 1 for rollout in rollouts):
            replies, logprobs = self._forced[: len(rollouts)], None
        for number, rollout in enumerate(rollouts):
            known = None if logprobs is None else logprobs[number]
            self._events.run(rollout.absorb(replies[number], known))

    def _anyone(self, active: Sequence[Rollout]) -> bool:
        """Whether to generate once more; backends that generate together need every process in every round."""
        if not self._rounds_are_common:
            return bool(active)
        return bool(sum(gather_object([len(active)])))

    @property
    def _rounds_are_common(self) -> bool:
        several = self.accelerator.num_processes > 1
        return several and bool(self.use_vllm or self.is_deepspeed_enabled or self.is_fsdp_enabled)

    def _next_replies(self, active: Sequence[Rollout]) -> tuple[Any, Any]:
        shown = list(active)
        if self._rounds_are_common:  # equally many everywhere: TRL cuts the replies apart by process
            most = max(gather_object([len(active)]))
            shown += [self.rollouts[0]] * (most - len(active))
        ids, images, fields = self._asked(shown)
        fields.pop("mm_token_type_ids", None)  # TRL makes them from the padded tokens
        replies, logprobs = self._generate_single_turn(
            ids, images, fields, num_generations=1, has_tool_images=images is not None
        )
        return replies[: len(active)], None if logprobs is None else logprobs[: len(active)]

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if self._watching is None:
            replies, logprobs = super()._generate_single_turn(*args, **kwargs)
            return replies, logprobs
        self._watching.clear()
        replies, logprobs = super()._generate_single_turn(*args, **kwargs)
        if logprobs is None and self._watching:
            logprobs = _logprobs_of(replies, torch.stack(self._watching, dim=1), self.temperature)
        return replies, logprobs

    @contextmanager
    def watched(self, forced: Sequence[Sequence[int]] = ()) -> Iterator[None]:
        """Inside, replies come with their sampled log-probabilities, nothing is rewarded and nothing is recorded.

        Args:
            forced: first turns that stand for what the model would have said, one a rollout.
        """
        unwrapped = _without_adapters(self.accelerator.unwrap_model(self.model))
        self._watching, self._forced, self.gating = [], [tuple(ids) for ids in forced], True
        hook = unwrapped.register_forward_hook(self._watch)
        try:
            yield
        finally:
            hook.remove()
            self._watching, self._forced, self.gating = None, [], False
            self._metrics["train"].clear()

    def _watch(self, module: Any, given: Any, output: Any) -> None:
        logits = getattr(output, "logits", None)
        if self._watching is not None and logits is not None and not torch.is_grad_enabled():
            self._watching.append(logits[:, -1].float())


def _without_adapters(model: Any) -> Any:
    """The model whose forward pass generation calls: with adapters, the one that they are put into."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _logprobs_of(replies: Sequence[Sequence[int]], logits: Any, temperature: float) -> list[list[float]]:
    """Log-probability of each generated token under the model that generated it."""
    scores = torch.log_softmax(logits / temperature, dim=-1)
    return [scores[row, range(len(reply)), list(reply)].tolist() for row, reply in enumerate(replies)]
