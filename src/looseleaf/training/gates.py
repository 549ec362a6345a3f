"""Checks before the first step: rollouts and loss must be about the same tokens and the same pages.

A few rollouts are sampled on the trainer's own path, nothing about them is rewarded, and five things are looked at.
A failure ends the training with one sentence, because every one of them has cost somebody a training that looked fine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from looseleaf.roles import Action
from looseleaf.training.faults import GateError
from looseleaf.training.rollout import Rollout
from looseleaf.training.trainer import LooseleafTrainer

__all__ = ["GateBatch", "GateResult", "check_gates", "sample_batch"]

TOLERANCE = {"float32": 1e-4, "bfloat16": 0.2}
"""Most that a sampled log-probability may differ from the trained one, by precision of the weights. In float32 on a
processor 1.4e-6 was measured; bfloat16 rounds each activation, so its bound only catches wrong tokens."""
SEEN = 1e-6
"""Least change of a log-probability that counts as having seen another page."""


class GateBatch(NamedTuple):
    """Rollouts, and the tensors that the loss would be computed from.

    Attributes:
        trainer: whose.
        rollouts: the rollouts `[n]`.
        tensors: as `GRPOTrainer._generate_and_score_completions` returns them.
    """

    trainer: LooseleafTrainer
    rollouts: list[Rollout]
    tensors: dict[str, Any]

    def ids(self, row: int) -> list[int]:
        """Tokens of a rollout without padding."""
        parts = (("prompt_ids", "prompt_mask"), ("completion_ids", "completion_mask"))
        return [
            token
            for ids, mask in parts
            for token in self.tensors[ids][row][self.tensors[mask][row].bool()].tolist()
        ]

    def generated(self, row: int) -> list[list[int]]:
        """Runs of tokens of a rollout that the loss is computed on."""
        keep = self.tensors["completion_mask"][row].bool()
        ids = self.tensors["completion_ids"][row][keep].tolist()
        own = self.tensors["tool_mask"][row][keep].tolist()
        runs: list[list[int]] = []
        for position, (token, is_own) in enumerate(zip(ids, own, strict=True)):
            if is_own and (position == 0 or not own[position - 1]):
                runs.append([])
            if is_own:
                runs[-1].append(token)
        return runs

    def logprobs(self, pixels: Any = None) -> Any:
        """Log-probabilities of the completions `[n, completion]` as the loss computes them, perhaps of other pages."""
        held = self.tensors
        ids = torch.cat([held["prompt_ids"], held["completion_ids"]], dim=1)
        mask = torch.cat([held["prompt_mask"], held["completion_mask"]], dim=1)
        names = ("pixel_values", "image_grid_thw", "num_images", "mm_token_type_ids")
        given = {name: held[name] for name in names if name in held}
        if pixels is not None:
            given["pixel_values"] = pixels
        with torch.no_grad():
            found = self.trainer._get_per_token_logps_and_entropies(
                self.trainer.model, ids, mask, held["completion_ids"].shape[1], **given
            )
        return found[0]


class GateResult(NamedTuple):
    """One gate that was passed."""

    name: str
    measured: str


def sample_batch(trainer: LooseleafTrainer, rows: Sequence[dict[str, Any]]) -> GateBatch:
    """Sample rollouts of these rows of the training data on the trainer's own path.

    The first turn opens page 1 where the protocol lets it, so that even an untrained model sees a page.
    """
    was_training = trainer.model.training
    trainer.model.train()
    forced = [_opens_a_page(trainer, rows[0])] * len(rows) if _can_fetch(trainer) else []
    with trainer.watched(forced):
        tensors = trainer._generate_and_score_completions(list(rows))
    trainer.model.train(was_training)
    return GateBatch(trainer, trainer.rollouts, tensors)


def _can_fetch(trainer: LooseleafTrainer) -> bool:
    return "fetch" in trainer.conversation.protocol.actions


def _opens_a_page(trainer: LooseleafTrainer, row: dict[str, Any]) -> tuple[int, ...]:
    """Tokens of a turn that opens the first page, in the model's action format."""
    shim = trainer.environment_factories[None]()
    shim.reset(**row)
    window = shim._question.window
    shim._environment.step(Action.fetch(1 if window is None else window[0]))
    ((reply, _),) = trainer._events.run(trainer.conversation.exchanges(shim._environment))
    return tuple(reply)


def check_gates(batch: GateBatch, *, dtype: str = "float32") -> list[GateResult]:
    """All five, in order.

    Args:
        batch: rollouts that nothing was learnt from yet.
        dtype: precision of the weights, for the tolerance of log-probabilities.

    Raises:
        GateError: one failed; the sentence says which and what to look at.
    """
    gates: list[tuple[str, Callable[[], str]]] = [
        ("append-only token sequences", lambda: append_only(batch)),
        ("observation tokens masked", lambda: observations_masked(batch)),
        ("images match image tokens", lambda: images_match(batch)),
        ("sampled = trained log-probabilities", lambda: logprobs_match(batch, TOLERANCE[dtype])),
        ("the policy sees the page", lambda: sees_the_page(batch)),
    ]
    return [GateResult(name, check()) for name, check in gates]


def append_only(batch: GateBatch) -> str:
    """Every sequence that was gone on from is the beginning of the final one."""
    asked = 0
    for row, rollout in enumerate(batch.rollouts):
        final = batch.ids(row)
        for ids in rollout.asked:
            asked += 1
            if tuple(final[: len(ids)]) != tuple(ids):
                raise GateError(
                    "Gate failed, append-only token sequences: the loss would be computed on other tokens than the "
                    "policy went on from; look for something that tokenises a conversation anew."
                )
    return f"{asked} generations"


def observations_masked(batch: GateBatch) -> str:
    """The tokens with loss are the turns that the environment recorded, and nothing else."""
    turns = 0
    for row, rollout in enumerate(batch.rollouts):
        said = [
            batch.trainer.conversation.tokenizer.decode(run, skip_special_tokens=True)
            for run in batch.generated(row)
        ]
        recorded = [turn.model_text for turn, _ in rollout.shim._environment.history]
        turns += len(said)
        if said[: len(recorded)] != recorded or len(said) > len(recorded) + 1:
            raise GateError(
                "Gate failed, observation tokens masked: the tokens with loss are not the turns that the environment "
                "recorded; look at the mask of observations."
            )
    return f"{turns} turns"


def images_match(batch: GateBatch) -> str:
    """As many images as image spans, and as many patches as image tokens."""
    conversation = batch.trainer.conversation
    image = conversation.image_token
    grids = batch.tensors.get("image_grid_thw")
    merge = int(conversation.processor.image_processor.merge_size) ** 2
    position = spans = 0
    for row, rollout in enumerate(batch.rollouts):
        ids = batch.ids(row)
        starts = [n for n, token in enumerate(ids) if token == image and (n == 0 or ids[n - 1] != image)]
        images = len(rollout.images)
        mine = [] if grids is None else grids[position : position + images]
        tokens = sum(int(grid.prod()) // merge for grid in mine)
        if len(starts) != images or ids.count(image) != tokens:
            raise GateError(
                f"Gate failed, images match image tokens: a rollout has {images} page images, {len(starts)} image "
                f"spans and {ids.count(image)} image tokens for {tokens} patches; look at the processor."
            )
        position += images
        spans += len(starts)
    return f"{spans} images"


def logprobs_match(batch: GateBatch, tolerance: float) -> str:
    """The log-probabilities that tokens were sampled with are those that the loss starts from."""
    sampled = batch.tensors.get("sampling_per_token_logps")
    if sampled is None:
        raise GateError(
            "Gate failed, sampled = trained log-probabilities: the generation backend says none; "
            "use one that returns them."
        )
    mask = (batch.tensors["completion_mask"] * batch.tensors["tool_mask"]).bool()
    difference = (batch.logprobs() - sampled.to(mask.device)).abs()[mask]
    known = difference[~difference.isnan()]
    most = float(known.max()) if len(known) else math.nan
    if not most <= tolerance:
        raise GateError(
            f"Gate failed, sampled = trained log-probabilities: they differ by up to {most:.2g} and may by "
            f"{tolerance:g}; look for other tokens, other images, dropout or another temperature in the loss."
        )
    return f"at most {most:.1e} apart over {len(known)} tokens"


def sees_the_page(batch: GateBatch) -> str:
    """With the pages turned negative, what follows them has another probability."""
    if not any(rollout.images for rollout in batch.rollouts):
        raise GateError(
            "Gate failed, the policy sees the page: no rollout was shown a page; see that the protocol shows pages and "
            "that page 1 can be opened."
        )
    pixels = batch.tensors.get("pixel_values")
    if pixels is None:
        raise GateError(
            "Gate failed, the policy sees the page: the page images do not reach the model; look at the processor."
        )
    mask = (batch.tensors["completion_mask"] * batch.tensors["tool_mask"]).bool()
    change = ((batch.logprobs() - batch.logprobs(-pixels)).abs() * mask).amax(dim=1)
    least = min(
        float(change[row]) for row, rollout in enumerate(batch.rollouts) if _goes_on(batch, row, rollout)
    )
    if not least > SEEN:
        raise GateError(
            f"Gate failed, the policy sees the page: with another page in its place, log-probabilities change by "
            f"{least:.1g}; look at how images reach the model."
        )
    return f"changes of at least {least:.1e}"


def _goes_on(batch: GateBatch, row: int, rollout: Rollout) -> bool:
    """Whether a token was generated after the first image."""
    ids = batch.ids(row)
    image = batch.trainer.conversation.image_token
    if image not in ids:
        return False
    first = ids.index(image) - rollout.start
    return any(rollout.generated[max(first, 0) :])
