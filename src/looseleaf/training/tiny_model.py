"""A tiny random Qwen3-VL with a tokeniser of its own, made on the spot: for CPU tests and the demonstration.

Everything around it is what the large models have: a byte-level BPE tokeniser, a chat template with tools and images,
`response_template`, an image processor, a processor, generation. Nothing comes from a hub.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.models.chat.actions import tool_definitions
from looseleaf.models.prompts import prompt_text, render_system
from looseleaf.protocol import PROTOCOLS
from looseleaf.training.processing import pictures_and_words

__all__ = ["TinySize", "make_tiny_model"]

END_OF_TURN = "<|im_end|>"
PADDING = "<|endoftext|>"
VISION_START, VISION_END, IMAGE, VIDEO = (
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
SPECIAL = (PADDING, "<|im_start|>", END_OF_TURN, VISION_START, VISION_END, IMAGE, VIDEO)
TAGS = ("<tool_call>", "</tool_call>", "<think>", "</think>", "<tool_response>", "</tool_response>")
"""One token each, and text all the same: they are kept when special tokens are skipped, as in Qwen3."""

CALLS = (
    '<tool_call>{"name": "search", "arguments": {"query": "',
    '<tool_call>{"name": "fetch", "arguments": {"page": ',
    '<tool_call>{"name": "note", "arguments": {"text": "',
    '<tool_call>{"name": "answer", "arguments": {"text": "',
    '", "source_page": ',
    '"}}</tool_call>',
    "}}</tool_call>",
)
"""What surrounds the arguments of a call, one token each, so that a turn is a handful of tokens."""
ROLES = tuple(f"{role}\n" for role in ("system", "user", "assistant", "tool"))
"""How the template opens a message after `<|im_start|>`."""

CHAT_TEMPLATE = """\
{%- macro said(content) -%}
{%- if content is string -%}{{- content -}}
{%- else -%}
{%- for part in content or [] -%}
{%- if part.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.type == 'text' -%}{{- part.text -}}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' + said(message.content) -}}
{%- if loop.first and tools -%}
{{- '\\n\\nTools:' -}}
{%- for tool in tools -%}
{{- ' ' + tool.function.name + '(' + (tool.function.parameters.properties | join(', ')) + ')' -}}
{%- endfor -%}
{{- '\\nCall one as <tool_call>{"name": …, "arguments": {…}}</tool_call>' -}}
{%- endif -%}
{%- for call in message.tool_calls or [] -%}
{%- if message.content and loop.first -%}{{- '\\n' -}}{%- endif -%}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' -}}
{{- call.function.arguments if call.function.arguments is string else (call.function.arguments | tojson) -}}
{{- '}</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
"""
"""Turns between `<|im_start|>role` and `<|im_end|>`, tool calls as JSON between tags: the shape of Qwen3's template.
Tools are listed by name and arguments alone, which keeps conversations of a tiny model short."""

RESPONSE_TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": {"open": "<think>", "close_pattern": r"</think>\s*", "content": "text"},
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}
"""How TRL takes a reply apart; it refuses own chat templates without one (transformers ≥ 5.13, response templates)."""


class TinySize(msgspec.Struct, frozen=True, kw_only=True):
    """How large the model is. The default has about 0.3 million parameters.

    Attributes:
        vocabulary: entries of the tokeniser, special tokens not counted.
        width: of the language model and of the vision encoder.
        layers: of the language model.
        vision_layers: of the vision encoder.
        patch: side of an image patch in pixels; four patches become one token.
        max_pixels: larger page images are made smaller.
    """

    vocabulary: int = 1024
    width: int = 64
    layers: int = 2
    vision_layers: int = 2
    patch: int = 16
    max_pixels: int = 128 * 128


HEADS = 4
ROPE_THETA = 10_000.0
INITIAL_SPREAD = 0.08
"""Standard deviation of initial weights. The 0.02 of large models is for widths of thousands; at a width of 64 it
leaves so little signal that after 300 steps such a model read no digit (held out: 1 %), and with this 97 %."""
CONTEXT = 16_384
"""Positions of the language model: more than any rollout of the tests has."""
LEARNT_POSITIONS = 256
"""Positions of the vision encoder, a square number; they are interpolated to the size of the image."""


def make_tiny_model(
    folder: Path,
    seed: int,
    *,
    size: TinySize | None = None,
    texts: Sequence[str] = (),
    phrases: Sequence[str] = (),
) -> Path:
    """Write a model with random weights, its tokeniser and its processor.

    Args:
        folder: where to; made if it is not there.
        seed: of the weights.
        size: how large.
        texts: what the tokeniser should spell in few tokens, besides the shipped prompts.
        phrases: what becomes one token each.

    Returns:
        The folder, loadable by `transformers` and by `looseleaf.training.processing.load_processor`.
    """
    size = size or TinySize()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(size.vocabulary, texts, phrases)
    _model(size, tokenizer, seed).save_pretrained(folder)
    _processor(size, tokenizer).save_pretrained(folder)
    return folder


def _tokenizer(vocabulary: int, texts: Sequence[str], phrases: Sequence[str]) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator([*_shipped_texts(), *texts], trainer)
    bpe.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    bpe.add_tokens(
        [AddedToken(text, special=False, normalized=False) for text in (*TAGS, *CALLS, *ROLES, *phrases)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=END_OF_TURN,
        pad_token=PADDING,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.response_template = RESPONSE_TEMPLATE
    return tokenizer


def _shipped_texts() -> Iterator[str]:
    """What every conversation says: prompts, tools and calls."""
    for protocol in PROTOCOLS.values():
        yield render_system(protocol, "tools")
        yield msgspec.json.encode(tool_definitions(protocol)).decode().replace(":", ": ").replace(",", ", ")
    yield prompt_text("question")
    yield CHAT_TEMPLATE
    calls = (
        ("search", '{"query": "'),
        ("fetch", '{"page": 1'),
        ("note", '{"text": "'),
        ("answer", '{"text": "'),
    )
    for (name, arguments), page in itertools.product(calls, range(1, 10)):
        yield f'{{"name": "{name}", "arguments": {arguments}}}}} "source_page": {page}}}'
        yield f"user\nPage {page}:\nTurns left: {page}.\nNoted. Refused: Malformed: Give your answer now.\nassistant\n"


def _model(size: TinySize, tokenizer: Any, seed: int) -> Any:
    import torch
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    number = tokenizer.convert_tokens_to_ids
    config = Qwen3VLConfig(
        text_config=_text_config(size, len(tokenizer), tokenizer.pad_token_id, tokenizer.eos_token_id),
        vision_config=_vision_config(size),
        image_token_id=number(IMAGE),
        video_token_id=number(VIDEO),
        vision_start_token_id=number(VISION_START),
        vision_end_token_id=number(VISION_END),
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3VLForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def _text_config(size: TinySize, entries: int, padding: int, end: int) -> dict[str, Any]:
    head = size.width // HEADS
    third = head // 2 // 3
    return {
        "vocab_size": entries,
        "hidden_size": size.width,
        "intermediate_size": 2 * size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS // 2,
        "head_dim": head,
        "max_position_embeddings": CONTEXT,
        "initializer_range": INITIAL_SPREAD,
        "tie_word_embeddings": True,
        "pad_token_id": padding,
        "eos_token_id": end,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": ROPE_THETA,
            "mrope_section": [head // 2 - 2 * third, third, third],  # time, height, width
            "mrope_interleaved": True,
        },
    }


def _vision_config(size: TinySize) -> dict[str, Any]:
    return {
        "depth": size.vision_layers,
        "hidden_size": size.width,
        "intermediate_size": 2 * size.width,
        "num_heads": HEADS,
        "out_hidden_size": size.width,
        "patch_size": size.patch,
        "initializer_range": INITIAL_SPREAD,
        "deepstack_visual_indexes": [0],
        "num_position_embeddings": LEARNT_POSITIONS,
    }


def _processor(size: TinySize, tokenizer: Any) -> Any:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    images = Qwen2VLImageProcessorPil(
        patch_size=size.patch,
        merge_size=2,
        size={"shortest_edge": (2 * size.patch) ** 2, "longest_edge": size.max_pixels},
    )
    return pictures_and_words()(
        image_processor=images, tokenizer=tokenizer, chat_template=tokenizer.chat_template
    )
