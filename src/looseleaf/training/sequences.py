"""Token sequences of stored trajectories, joined from the very pieces that a rollout joins, and their batches.

Labels stand on generated tokens only: the turns with their end-of-turn tokens. Everything that the environment said,
and the opening, is context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from looseleaf.errors import DataError
from looseleaf.roles import PolicyView
from looseleaf.training.conversation import Conversation

__all__ = ["IGNORED", "TokenSequence", "batch_of", "image_inputs", "sequence_of"]

IGNORED = -100
"""Label of a token without loss (`torch.nn.CrossEntropyLoss`, `ignore_index`)."""


class TokenSequence(NamedTuple):
    """One trajectory as a model reads it.

    Attributes:
        ids: tokens `[n]`.
        generated: which of them the policy generated `[n]`.
        images: page images (PIL), in the order of their image tokens.
    """

    ids: tuple[int, ...]
    generated: tuple[bool, ...]
    images: tuple[Any, ...] = ()

    @property
    def completion_tokens(self) -> int:
        """Tokens after the opening, observations and images included, as a rollout's budget counts them."""
        return len(self.ids) - self.generated.index(True) if any(self.generated) else 0

    @property
    def labels(self) -> tuple[int, ...]:
        """The generated tokens, and `IGNORED` elsewhere."""
        return tuple(token if own else IGNORED for token, own in zip(self.ids, self.generated, strict=True))


async def sequence_of(conversation: Conversation, view: PolicyView) -> TokenSequence:
    """The whole trajectory that a view shows, up to the end of its last turn.

    What the environment answered to the last turn is left out: no generation follows it.

    Raises:
        DataError: the trajectory has no turn.
        DocumentError: a page cannot be rendered.
    """
    opening = await conversation.opening(view)
    exchanges = await conversation.exchanges(view)
    if not exchanges:
        raise DataError(f"The trajectory of {view.question!r:.60} has no turn to learn from; leave it out.")
    ids, generated, images = list(opening.ids), [False] * len(opening.ids), list(opening.images)
    for number, (reply, observation) in enumerate(exchanges, start=1):
        ids += reply
        generated += [True] * len(reply)
        if number < len(exchanges):
            ids += observation.ids
            generated += [False] * len(observation.ids)
            images += observation.images
    return TokenSequence(tuple(ids), tuple(generated), tuple(images))


def batch_of(sequences: Sequence[TokenSequence], conversation: Conversation) -> dict[str, Any]:
    """A padded batch as the model's `forward` takes it, with labels `[batch, longest]`.

    Padding stands on the right, where causal attention never looks. Images of all sequences follow each other in
    `pixel_values`, as Qwen3-VL takes them.
    """
    import torch

    padding = conversation.tokenizer.pad_token_id
    longest = max(len(sequence.ids) for sequence in sequences)

    def padded(rows: Sequence[Sequence[int]], fill: int) -> Any:
        return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])

    ids = padded([sequence.ids for sequence in sequences], padding)
    return {
        "input_ids": ids,
        "attention_mask": padded([[1] * len(sequence.ids) for sequence in sequences], 0),
        "labels": padded([sequence.labels for sequence in sequences], IGNORED),
        **image_inputs([image for sequence in sequences for image in sequence.images], ids, conversation),
    }


def image_inputs(images: Sequence[Any], ids: Any, conversation: Conversation) -> dict[str, Any]:
    """What `forward` takes besides tokens where there are images; nothing where there are none.

    Args:
        images: all page images, in the order of their tokens.
        ids: token tensor `[batch, length]`.
        conversation: of the model.
    """
    if not images:
        return {}
    made = conversation.processor.image_processor(images=list(images), return_tensors="pt")
    return {
        "pixel_values": made["pixel_values"],
        "image_grid_thw": made["image_grid_thw"],
        "mm_token_type_ids": (ids == conversation.image_token).long(),
    }
