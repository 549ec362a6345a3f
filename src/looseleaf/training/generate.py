"""Generating with a vision-language model: a batch of token sequences with images, and nothing re-tokenised."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from looseleaf.errors import LooseleafError
from looseleaf.training.processing import ONLY_NUMBERS, not_loaded, require_training

__all__ = ["Prompt", "batch_inputs", "generate", "load_model", "vision_ids"]

IMAGE_TYPE = 1
"""`mm_token_type_ids` of an image's tokens (transformers, Qwen3-VL)."""


class Prompt(NamedTuple):
    """A token sequence to go on from.

    Attributes:
        ids: tokens.
        images: its images, in order.
        noise: seeds of the sampling noise, unused at temperature 0.
    """

    ids: tuple[int, ...]
    images: tuple[Any, ...] = ()
    noise: tuple[int, ...] = ()


def load_model(model: str | Path, dtype: str = "float32") -> Any:
    """A vision-language model from a folder or the hub, on the accelerator if there is one.

    Raises:
        ConfigError: it cannot be loaded, or the training extra is not installed.
    """
    require_training()
    import torch
    from transformers import AutoModelForImageTextToText

    try:
        loaded = AutoModelForImageTextToText.from_pretrained(model, dtype=dtype, **ONLY_NUMBERS)
    except LooseleafError:
        raise
    except Exception as problem:  # what a broken file raises is up to three libraries
        raise not_loaded(model, problem) from problem
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return loaded.to(device).eval()


def vision_ids(model: Any) -> list[int]:
    """Tokens that a model must never sample: a stray one has no image behind it."""
    names = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    ids = (getattr(model.config, name, None) for name in names)
    return sorted({found for found in ids if found is not None})


def batch_inputs(
    model: Any, processor: Any, prompts: Sequence[Prompt], *, left: bool = True
) -> dict[str, Any]:
    """Padded tensors of several sequences and their images, as the model takes them.

    Args:
        model: for its device and image token.
        processor: turns images into patches.
        prompts: the sequences `[b]`.
        left: padding in front, as generation needs it, or behind.
    """
    import torch

    longest = max(len(prompt.ids) for prompt in prompts)
    padding = processor.tokenizer.pad_token_id
    ids = torch.full((len(prompts), longest), padding, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        where = slice(longest - len(prompt.ids), longest) if left else slice(0, len(prompt.ids))
        ids[row, where] = torch.tensor(prompt.ids)
        mask[row, where] = 1
    inputs = {"input_ids": ids, "attention_mask": mask}
    images = [image for prompt in prompts for image in prompt.images]
    if images:
        made = processor.image_processor(images=images, return_tensors="pt")
        inputs["pixel_values"], inputs["image_grid_thw"] = made["pixel_values"], made["image_grid_thw"]
        inputs["mm_token_type_ids"] = (ids == model.config.image_token_id).long() * IMAGE_TYPE
    return {name: value.to(model.device) for name, value in inputs.items()}


def generate(
    model: Any,
    processor: Any,
    prompts: Sequence[Prompt],
    *,
    max_new_tokens: int,
    temperature: float = 0.0,
) -> list[list[int]]:
    """Go on from each sequence up to and including the end of turn.

    At a temperature above 0 each sequence has noise of its own (Gumbel's, added to the logits: an exact sample), so
    that what else is in the batch does not change it.

    Args:
        model: as `load_model` gives it.
        processor: its processor.
        prompts: the sequences `[b]`.
        max_new_tokens: a reply without an end of turn is cut off there.
        temperature: 0 takes the likeliest token.

    Returns:
        Generated tokens of each sequence; without a last end of turn where it was cut off.
    """
    import torch
    from transformers import GenerationConfig

    end = processor.tokenizer.eos_token_id
    config = GenerationConfig(
        max_new_tokens=max_new_tokens,
        do_sample=False,
        eos_token_id=end,
        pad_token_id=processor.tokenizer.pad_token_id,
        suppress_tokens=vision_ids(model),
        disable_compile=True,
    )
    inputs = batch_inputs(model, processor, prompts)
    processors = [_noise_processor(prompts, temperature)] if temperature > 0 else []
    with torch.no_grad():
        out = model.generate(**inputs, generation_config=config, logits_processor=processors)
    replies = out[:, inputs["input_ids"].shape[1] :].tolist()
    return [ids[: ids.index(end) + 1] if end in ids else ids for ids in replies]


def _noise_processor(prompts: Sequence[Prompt], temperature: float) -> Any:
    import numpy as np
    import torch
    from transformers import LogitsProcessor

    generators = [np.random.default_rng(prompt.noise) for prompt in prompts]

    class Noise(LogitsProcessor):  # type: ignore[misc, unused-ignore]  # untyped where transformers is not read
        """Adds each row's own Gumbel noise."""

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            noise = np.stack([generator.gumbel(size=scores.shape[-1]) for generator in generators])
            return scores.float() / temperature + torch.from_numpy(noise).to(scores.device, torch.float32)

    return Noise()
