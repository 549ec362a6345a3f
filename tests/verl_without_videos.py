"""The stock processor of Qwen3-VL without its video part, which wants torchvision; importing this module patches it.

verl imports it in every process of a test's Ray cluster (`VERL_USE_EXTERNAL_MODULES`).
"""

from __future__ import annotations

from typing import Any


def patch() -> None:
    from transformers import Qwen3VLProcessor

    def get_attributes(cls: type) -> list[str]:
        return ["image_processor", "tokenizer"]

    made: Any = classmethod(get_attributes)
    Qwen3VLProcessor.get_attributes = made


patch()
