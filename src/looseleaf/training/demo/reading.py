"""Teaching the tiny model to read a page, and measuring whether it does, before it meets a conversation.

A vision encoder from scratch learns nothing from a few hundred conversations in which two tokens of twenty depend on
the pixels. So it first sees pages drawn on the spot, each followed by its number and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from looseleaf.training.demo.world import LEAST, MOST, draw_page
from looseleaf.training.generate import Prompt, batch_inputs, load_model
from looseleaf.training.processing import load_processor

__all__ = ["learn_to_read", "reading_accuracy"]

BATCH = 64
LEARNING_RATE = 2e-3
WARMUP = 50
"""Steps in which the learning rate rises; it then falls to nothing in a straight line."""
HELD_OUT = 400
"""Pages that the reading is measured on."""
HELD_OUT_SEED = 1_000_003


class _Pages(NamedTuple):
    """Pages with their numbers."""

    images: list[Any]
    numbers: list[int]


def learn_to_read(folder: Path, out: Path, *, steps: int, seed: int) -> float:
    """Train a model on single pages and save it; returns the share of held-out pages that it reads.

    Args:
        folder: the model to start from.
        out: where the trained one goes.
        steps: optimiser steps.
        seed: of the pages.
    """
    import torch

    model, processor = load_model(folder), load_processor(folder)
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / WARMUP, 1.0) * (1 - step / steps)
    )
    generator = np.random.default_rng(seed)
    for _ in range(steps):
        loss = _loss(model, processor, _drawn(BATCH, generator))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    model.eval().save_pretrained(out)
    processor.save_pretrained(out)
    return reading_accuracy(model, processor)


def reading_accuracy(model: Any, processor: Any, pages: int = HELD_OUT) -> float:
    """Share of pages never drawn before whose number is the likeliest continuation, both digits right."""
    import torch

    drawn = _drawn(pages, np.random.default_rng(HELD_OUT_SEED))
    inputs, labels = _inputs(model, processor, drawn)
    with torch.no_grad():
        said = model(**inputs).logits[:, -3:-1].argmax(-1)
    return float((said == labels[:, -2:]).all(dim=1).float().mean())


def _loss(model: Any, processor: Any, pages: _Pages) -> Any:
    inputs, labels = _inputs(model, processor, pages)
    return model(**inputs, labels=labels).loss


def _inputs(model: Any, processor: Any, pages: _Pages) -> tuple[dict[str, Any], Any]:
    """Each page with its two digits behind it; only those are learnt."""
    prompts = [
        Prompt(_ids(processor, image, number), (image,))
        for image, number in zip(pages.images, pages.numbers, strict=True)
    ]
    inputs = batch_inputs(model, processor, prompts)
    labels = inputs["input_ids"].clone()
    labels[:, :-2] = -100
    return inputs, labels


def _ids(processor: Any, image: Any, number: int) -> tuple[int, ...]:
    made = processor(text=[f"{_VISION}{number}"], images=[image], add_special_tokens=False)
    return tuple(made["input_ids"][0])


_VISION = "<|vision_start|><|image_pad|><|vision_end|>"


def _drawn(count: int, generator: np.random.Generator) -> _Pages:
    numbers: Sequence[int] = generator.integers(LEAST, MOST + 1, size=count).tolist()
    return _Pages([draw_page(number, generator) for number in numbers], list(numbers))
