"""The processor of a Qwen3-VL: pictures and words, without the video part, which wants torchvision."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from looseleaf.errors import ConfigError

__all__ = ["NO_TRAIN_EXTRA", "VERL_INSTEAD", "load_processor", "pictures_and_words", "require_training"]

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
        kind = AutoConfig.from_pretrained(model).model_type
        maker = pictures_and_words() if kind.startswith("qwen3_vl") else AutoProcessor
        processor = maker.from_pretrained(model)
    except (OSError, ValueError) as problem:
        raise ConfigError(
            f"The model {model} cannot be loaded ({str(problem).splitlines()[0]}); "
            "give a checkpoint folder or the name of a model on the hub."
        ) from problem
    processor.tokenizer.padding_side = "left"
    return processor
