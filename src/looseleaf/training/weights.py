"""Loading a model to be trained, and saving it so that everything else loads it as an ordinary checkpoint."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from looseleaf.errors import ConfigError, LooseleafError
from looseleaf.training.processing import ONLY_NUMBERS, load_processor, not_loaded, require_training
from looseleaf.training.train_table import LoraTable, TrainTable

__all__ = [
    "ADAPTER_FILE",
    "load_checkpoint",
    "load_checkpoint_processor",
    "load_trainable",
    "save_trained",
    "vision_parameters",
]

ADAPTER_FILE = "adapter_config.json"
"""What a checkpoint that holds adapters only is known by (peft)."""
ADAPTER_WEIGHTS = "adapter_model.safetensors"
PICKLED_ADAPTERS = "adapter_model.bin"
VISION = ".visual."
"""Part of the names of a Qwen3-VL's vision encoder (transformers, `modeling_qwen3_vl.py`)."""
HALF_PRECISION = "bfloat16"


def load_trainable(train: TrainTable) -> Any:
    """The model of a configuration with what is not trained frozen and its adapters put on.

    Weights that are trained stay in float32 whatever `dtype` says: at a learning rate of 1e-6 an update of a bfloat16
    weight is mostly rounded away. With adapters the weights beneath them are never updated, and are kept in `dtype`.

    Raises:
        ConfigError: the model cannot be loaded, or a package is missing.
    """
    require_training()
    model = load_checkpoint(train.model, train.dtype if train.lora is not None else "float32")
    if train.freeze_vision:
        for parameter in vision_parameters(model):
            parameter.requires_grad_(False)
    return model if train.lora is None else _with_adapters(model, train.lora, train.freeze_vision)


def load_checkpoint(folder: str | Path, dtype: str = "float32") -> Any:
    """A model from a folder or the hub, on the CPU; adapters of a checkpoint are merged into their model.

    Raises:
        ConfigError: it cannot be loaded, or a package is missing.
    """
    require_training()
    from transformers import AutoModelForImageTextToText

    try:
        if (Path(folder) / ADAPTER_FILE).is_file():
            return _merged(folder, dtype)
        return AutoModelForImageTextToText.from_pretrained(folder, dtype=dtype, **ONLY_NUMBERS)
    except LooseleafError:
        raise
    except Exception as problem:  # what a broken file raises is up to three libraries
        raise not_loaded(folder, problem) from problem


def load_checkpoint_processor(folder: str | Path) -> Any:
    """The processor of a checkpoint; one with adapters only has that of the model beneath them.

    Raises:
        ConfigError: there is none to load.
    """
    if (Path(folder) / ADAPTER_FILE).is_file():
        return load_processor(_peft().PeftConfig.from_pretrained(folder).base_model_name_or_path)
    return load_processor(folder)


def vision_parameters(model: Any) -> list[Any]:
    """Parameters of the vision encoder."""
    return [parameter for name, parameter in model.named_parameters() if VISION in f".{name}"]


def save_trained(trainer: Any, processor: Any, folder: Path, dtype: str = "float32") -> None:
    """Write the model of an engine's trainer as an ordinary checkpoint; every process must call it.

    The engine gathers weights that are sharded over processes. Adapters are merged into the model beneath them, which
    is loaded for that once more, so that what is saved does not depend on how the training held it.

    Args:
        trainer: transformers' or TRL's.
        processor: of the model.
        folder: where to.
        dtype: that the weights beneath adapters are loaded and saved in.
    """
    has_adapters = hasattr(trainer.accelerator.unwrap_model(trainer.model), "merge_and_unload")
    saved = folder.with_name(f"{folder.name}-adapters") if has_adapters else folder
    trainer.save_model(str(saved))
    if trainer.is_world_process_zero():
        if has_adapters:
            load_checkpoint(saved, dtype).save_pretrained(folder)
        processor.save_pretrained(folder)


def _with_adapters(model: Any, lora: LoraTable, freeze_vision: bool) -> Any:
    peft = _peft()
    config = peft.LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=lora.targets if isinstance(lora.targets, str) else list(lora.targets),
        exclude_modules=r".*\.?visual\..*" if freeze_vision else None,
        task_type="CAUSAL_LM",
    )
    with _without_old_names():
        return peft.get_peft_model(model, config)


def _merged(folder: str | Path, dtype: str) -> Any:
    peft = _peft()
    config = peft.PeftConfig.from_pretrained(folder)
    base = load_checkpoint(config.base_model_name_or_path, dtype)
    with _without_old_names():
        return peft.PeftModel.from_pretrained(base, _only_numbers(folder)).merge_and_unload()


def _only_numbers(folder: str | Path) -> str:
    """The folder of adapters, unless it holds pickled ones and no others (peft would open these)."""
    if (Path(folder) / PICKLED_ADAPTERS).exists() and not (Path(folder) / ADAPTER_WEIGHTS).exists():
        raise ConfigError(f"The adapters of {folder} are pickled; save them as {ADAPTER_WEIGHTS} first.")
    return str(folder)


@contextlib.contextmanager
def _without_old_names() -> Iterator[None]:
    """peft 0.21 asks transformers 5.14 and later by a name that is going, which is no concern of who trains."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
        yield


def _peft() -> Any:
    try:
        import peft
    except ImportError as problem:
        raise ConfigError(
            "Adapters need peft; install it with `pip install 'looseleaf[train]'`."
        ) from problem
    return peft
