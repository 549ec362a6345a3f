"""A tiny random Qwen3-VL made on the spot, and `transformers serve` for it: a real server that takes images.

    python tests/tiny_vlm.py make FOLDER
    python tests/tiny_vlm.py serve FOLDER PORT

The model knows nothing and says noise, and everything around it is real: chat template, image processor, generation,
HTTP. It needs transformers with its `serving` extra and torch, nothing from the network.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content or [] %}"
    "{% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% elif part.type == 'text' %}"
    "{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MAX_PIXELS = 128 * 128
"""Cap of the image processor: a page is at most 16 tokens, so that a random model on a processor stays quick."""


def make(folder: Path) -> None:
    """Write model, tokeniser and image processor."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import Qwen2TokenizerFast, Qwen3VLConfig, Qwen3VLForConditionalGeneration
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    bytes_only = Tokenizer(models.BPE(vocab=letters, merges=[]))
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_only.decoder = decoders.ByteLevel()
    tokenizer = Qwen2TokenizerFast(
        tokenizer_object=bytes_only,
        vocab=letters,
        merges=[],
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(SPECIAL),
    )
    tokenizer.chat_template = TEMPLATE
    numbers = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL}
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 32768,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "mrope_section": [2, 3, 3],
                "mrope_interleaved": True,
            },
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": 32,
            "deepstack_visual_indexes": [0, 1],
            "num_position_embeddings": 64,
        },
        image_token_id=numbers["<|image_pad|>"],
        video_token_id=numbers["<|video_pad|>"],
        vision_start_token_id=numbers["<|vision_start|>"],
        vision_end_token_id=numbers["<|vision_end|>"],
    )
    torch.manual_seed(0)
    model = Qwen3VLForConditionalGeneration(config)
    model.generation_config.eos_token_id = numbers["<|im_end|>"]
    model.generation_config.pad_token_id = numbers["<|endoftext|>"]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    images = Qwen2VLImageProcessorPil(
        patch_size=16, merge_size=2, size={"shortest_edge": 32 * 32, "longest_edge": MAX_PIXELS}
    )
    images.save_pretrained(folder)
    processor = {"processor_class": "Qwen3VLProcessor"}
    for name in ("preprocessor_config.json", "processor_config.json"):
        path = folder / name
        held = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(held | processor))
    (folder / "chat_template.jinja").write_text(TEMPLATE)


def serve(folder: Path, port: int) -> None:
    """`transformers serve`, with a Qwen3-VL processor that does without the video part, which wants torchvision."""
    from transformers.cli.transformers import app
    from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor

    Qwen3VLProcessor.get_attributes = classmethod(lambda cls: ["image_processor", "tokenizer"])
    arguments = ["serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    app(args=arguments)


if __name__ == "__main__":
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        serve(Path(sys.argv[2]), int(sys.argv[3]))
