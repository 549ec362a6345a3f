"""The processor of a Qwen3-VL: pictures and words, without the video part, which wants torchvision."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from looseleaf.errors import ConfigError

__all__ = [
    "NO_CODE",
    "NO_TRAIN_EXTRA",
    "ONLY_NUMBERS",
    "VERL_INSTEAD",
    "load_processor",
    "not_loaded",
    "pictures_and_words",
    "require_training",
]

NO_TRAIN_EXTRA = (
    "Training needs torch, transformers and TRL; install them with `pip install 'looseleaf[train]'`."
)

VERL_INSTEAD = (
    "This environment was made for verl, which wants an older transformers than TRL; start GRPO here with `python -m "
    "looseleaf.training.verl CONFIG.toml`, and use another environment with `pip install 'looseleaf[train]'` for the "
    "built-in engine."
)


def require_training() -> None:
    """Check that the training engine is installed.

    Raises:
        ConfigError: it is not; the sentence says what to install.
    """
    import importlib.util

    if all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers", "trl")):
        return
    raise ConfigError(VERL_INSTEAD if importlib.util.find_spec("verl") is not None else NO_TRAIN_EXTRA)


NO_CODE: Mapping[str, Any] = {"trust_remote_code": False}
"""Said to every loader: left open, transformers asks on the terminal whether to run code of the checkpoint."""
ONLY_NUMBERS: Mapping[str, Any] = {**NO_CODE, "use_safetensors": True}
"""Said to loaders of weights: a pickled `pytorch_model.bin` is not opened at all."""


def not_loaded(model: str | Path, problem: Exception) -> ConfigError:
    """The sentence about a checkpoint that cannot be loaded."""
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    return ConfigError(
        f"The model {model} cannot be loaded ({lines[0]}); "
        "give a checkpoint folder with safetensors weights or the name of a model on the hub."
    )


@functools.cache
def pictures_and_words() -> Any:
    """The processor class; `transformers` is imported here."""
    from transformers import Qwen3VLProcessor

    def get_attributes(cls: type) -> list[str]:
        return ["image_processor", "tokenizer"]

    # Saved under the stock class's name, so that every other tool loads the folder as an ordinary Qwen3-VL.
    return type("Qwen3VLProcessor", (Qwen3VLProcessor,), {"get_attributes": classmethod(get_attributes)})


def load_processor(model: str | Path) -> Any:
    """The processor of a model folder or hub name; a plain `AutoProcessor` where the model is no Qwen3-VL.

    Raises:
        ConfigError: there is none to load.
    """
    require_training()
    from transformers import AutoConfig, AutoProcessor

    try:
        kind = AutoConfig.from_pretrained(model, **NO_CODE).model_type
        maker = pictures_and_words() if kind.startswith("qwen3_vl") else AutoProcessor
        processor = maker.from_pretrained(model, **NO_CODE)
    except Exception as problem:  # what a broken file raises is up to three libraries
        raise not_loaded(model, problem) from problem
    processor.tokenizer.padding_side = "left"
    return processor
