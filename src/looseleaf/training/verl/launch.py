"""Starting verl's trainer with a training configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.runstore import write_atomically
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import freeze_config
from looseleaf.training.questions import check_held_out, training_set
from looseleaf.training.verl.engine import require_verl
from looseleaf.training.verl.settings import check_supported, verl_overrides
from looseleaf.training.verl.stop import remove_note

__all__ = ["compose", "prepare", "run_verl", "with_absolute_paths"]

VERL_FILE = "verl.yaml"
"""verl's whole configuration, beside the frozen `config.toml`."""


def run_verl(config: TrainConfig, overrides: Sequence[str] = ()) -> None:
    """Train on the Ray cluster that this process finds or starts; interrupted trainings go on from a checkpoint.

    Args:
        config: with `stage = "grpo"`.
        overrides: further settings of verl in Hydra's grammar, e.g. `trainer.nnodes=2`.

    Raises:
        UserError: verl is not installed, or a setting, the data or an override cannot be used.
    """
    composed = prepare(config, overrides)

    from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
    from verl.utils.device import auto_set_device

    auto_set_device(composed)
    _validate(composed)
    run_ppo(composed, task_runner_class=TaskRunnerV1)


def prepare(config: TrainConfig, overrides: Sequence[str] = ()) -> Any:
    """Check everything that can be checked without a GPU, freeze the configuration, and compose verl's.

    Raises:
        UserError: verl is not installed, a setting, the data or an override cannot be used, or training overlaps with
            evaluation.
    """
    require_verl()
    config = with_absolute_paths(config)
    check_supported(config)
    check_held_out(config, training_set(config))
    out = Path(config.train.output)
    freeze_config(config, out)
    composed = compose(config, out / "config.toml", overrides)
    remove_note(out)
    _save(composed, out / VERL_FILE)
    return composed


def with_absolute_paths(config: TrainConfig) -> TrainConfig:
    """The configuration as processes with other current folders read it; all nodes must see the same files.

    Paths in the options of roles and retrievers are left alone: give those absolute.
    """
    evaluation = config.evaluation
    return msgspec.structs.replace(
        config,
        train=_absolute(config.train, always=("output",), files=("model",)),
        data=_absolute(config.data, always=("path", "pool"), files=("benchmark",)),
        evaluation=evaluation and _absolute(evaluation, always=("path",), files=("benchmark",)),
    )


def _absolute(table: Any, *, always: Sequence[str], files: Sequence[str]) -> Any:
    """`files` are names of something else unless there is a file of that name."""
    given = {name: getattr(table, name) for name in (*always, *files)}
    paths = {
        name: str(Path(value).absolute())
        for name, value in given.items()
        if value and (name in always or Path(value).exists())
    }
    return msgspec.structs.replace(table, **paths)


def compose(config: TrainConfig, config_file: Path, overrides: Sequence[str] = ()) -> Any:
    """verl's configuration.

    Args:
        config: the training.
        config_file: where every node reads it from.
        overrides: further settings; they win.

    Raises:
        ConfigError: a setting or an override cannot be used.
    """
    require_verl()
    from hydra import compose as composed  # type: ignore[import-not-found, unused-ignore]
    from hydra import initialize_config_module  # type: ignore[import-not-found, unused-ignore]
    from hydra.core.global_hydra import GlobalHydra  # type: ignore[import-not-found, unused-ignore]
    from hydra.errors import HydraException  # type: ignore[import-not-found, unused-ignore]

    GlobalHydra.instance().clear()
    own = verl_overrides(config, config_file)
    with initialize_config_module("verl.trainer.config", version_base=None):
        try:
            return composed("ppo_trainer", overrides=[*own, *overrides])
        except HydraException as problem:
            first = str(problem).splitlines()[0]
            raise ConfigError(f"verl does not take the settings ({first}); check the overrides.") from problem


def _save(composed: Any, path: Path) -> None:
    from omegaconf import OmegaConf  # type: ignore[import-not-found, unused-ignore]

    write_atomically(path, OmegaConf.to_yaml(composed, resolve=True).encode())


def _validate(composed: Any) -> None:
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    try:
        validate_config(
            config=composed,
            use_reference_policy=need_reference_policy(composed),
            use_critic=need_critic(composed),
        )
    except (AssertionError, ValueError) as problem:
        raise ConfigError(
            f"verl refuses the settings ({problem}); change them or the overrides."
        ) from problem
