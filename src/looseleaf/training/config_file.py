"""Reading training configurations from TOML: strict, layered, and frozen into the output folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.errors import ConfigError, RunError
from looseleaf.models.role_spec import FREE_OPTIONS, RoleSpec
from looseleaf.protocol import PROTOCOLS, Protocol, named_protocol
from looseleaf.runstore import Run
from looseleaf.training.config import TrainConfig, TrainTable
from looseleaf.training.config_words import advice, sentence

__all__ = ["freeze_config", "load_config", "setting", "train_config"]

EXTENDS = "extends"
"""Key of a configuration that names the files it builds on, relative to itself."""
MOST_FILES = 16
"""Files that one configuration may build on; more are a circle."""
MOST_READ = 256
"""Reads for one configuration: files that extend several each would otherwise make millions of them."""
STAGES = ("sft", "grpo")
SFT_DEFAULTS = {"learning_rate": 1e-5, "schedule": "cosine"}
"""Where SFT differs from GRPO by default (precursor of AWM by its first author)."""
VARIANT = "{variant}"
"""Stands for the variant's name in paths of `[train]` and `[data]`."""
FREE = frozenset({"report_to", "save_every", "eval_every", "keep", "engine", "vllm"})
"""Settings of `[train]` that may change when a training is continued: none changes what is learnt from a rollout."""


def load_config(path: Path, *overlays: Path, changes: Mapping[str, Any] | None = None) -> TrainConfig:
    """Read a configuration with what it extends, then overlays, then single changes; later ones win.

    Tables are merged key by key. `[sft]` and `[grpo]` hold what differs between the two stages; the one of the stage
    in force is merged over `[train]`. `extends = "base.toml"` or a list of files is relative to the file it is in; all
    other paths are relative to the current folder.

    Args:
        path: the configuration.
        overlays: further files, e.g. of a launch.
        changes: nested tables of single settings.

    Raises:
        ConfigError: a file cannot be read, a setting is unknown, or settings do not go together.
    """
    tables: dict[str, Any] = {}
    for file in (path, *overlays):
        tables = _merged(tables, _read(file, (), []))
    return train_config(_merged(tables, changes or {}), str(path))


def train_config(tables: Mapping[str, Any], where: str = "The configuration") -> TrainConfig:
    """A configuration from its tables, checked.

    Args:
        tables: as a file has them, without `extends`.
        where: what error sentences call it.

    Raises:
        ConfigError: a setting is unknown or missing, or settings do not go together.
    """
    try:
        plain = _with_roles(_with_protocol(_of_stage(tables)))
        config = _with_variant(msgspec.convert(plain, TrainConfig))
        config.check()
    except msgspec.ValidationError as problem:
        raise ConfigError(f"{where}: {sentence(problem)}") from problem
    except ConfigError as problem:
        raise ConfigError(f"{where}: {problem}") from problem
    return config


def setting(tables: dict[str, Any], text: str) -> None:
    """Put one setting, written `table.key=value`, into tables. The value is TOML, or plain text where it is not.

    Raises:
        ConfigError: there is no table, key or value.
    """
    path, equals, value = text.partition("=")
    *names, key = path.strip().split(".")
    if not equals or not names or not key:
        raise ConfigError(f"--set {text} cannot be read; write it as TABLE.KEY=VALUE, e.g. train.seed=1.")
    for name in names:
        tables = tables.setdefault(name, {})
        if not isinstance(tables, dict):
            raise ConfigError(f"--set {text} cannot be used: {name} is a value and not a table.")
    try:
        tables[key] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        tables[key] = value


def freeze_config(config: TrainConfig, folder: Path) -> None:
    """Write `config.toml` into the output folder, or check that a training is continued under the same settings.

    Raises:
        RunError: a setting differs; it is named.
    """
    run = Run.create(folder)
    tables = config.as_tables()
    stored = run.config
    if stored:
        _check_same(stored, tables, folder)
        return
    run.write_config(tables)


def _read(path: Path, seen: tuple[Path, ...], read: list[Path]) -> dict[str, Any]:
    """The tables of a file over those of the files it extends.

    Args:
        path: the file.
        seen: the files that lead to it.
        read: the files that were read so far, one that is reached twice twice.
    """
    path = path.resolve() if seen else path
    read.append(path)
    if len(read) > MOST_READ:
        raise ConfigError(f"{read[0]} builds on more than {MOST_READ} files; let it extend fewer.")
    if len(seen) >= MOST_FILES:
        raise ConfigError(f"{path} extends itself through {seen[0]}; break the circle.")
    if not path.is_file():
        raise ConfigError(f"The configuration {path} cannot be read: there is no such file; check its path.")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:  # of TOML, UTF-8, and NUL in a path
        raise ConfigError(
            f"The configuration {path} cannot be read ({problem}); check its path and its TOML."
        ) from (problem)
    bases = tables.pop(EXTENDS, [])
    bases = [bases] if isinstance(bases, str) else bases
    if not isinstance(bases, list) or len(bases) > MOST_FILES or not all(map(_is_name, bases)):
        raise ConfigError(f"{path}: extends is a file, or a list of at most {MOST_FILES} files; correct it.")
    found: dict[str, Any] = {}
    for base in bases:
        found = _merged(found, _read(path.resolve().parent / base, (*seen, path), read))
    return _merged(found, tables)


def _is_name(given: Any) -> bool:
    return isinstance(given, str) and "\0" not in given


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables merged key by key; a role is taken whole, since options of one backend mean nothing to another."""
    merged = dict(under)
    for key, value in over.items():
        held = merged.get(key)
        is_table = isinstance(held, dict) and isinstance(value, dict) and "backend" not in value
        merged[key] = _merged(held, value) if is_table and held is not None else value
    return merged


def _of_stage(tables: Mapping[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in tables.items() if key not in STAGES}
    train = rest.get("train")
    if not isinstance(train, dict) or train.get("stage") not in STAGES:
        raise ConfigError('[train] needs stage = "sft" or stage = "grpo".')
    for stage in STAGES:
        _check_stage_keys(tables.get(stage, {}), stage)
    usual = SFT_DEFAULTS if train["stage"] == "sft" else {}
    return rest | {"train": {**usual, **_merged(train, tables.get(train["stage"], {}))}}


def _check_stage_keys(table: Any, stage: str) -> None:
    """Both stages' tables are looked at, so that a slip in one is found while the other is trained."""
    known = TrainTable.__struct_fields__
    for key in table if isinstance(table, dict) else [stage]:
        if key not in known:
            raise ConfigError(f"[{stage}] has no setting {key!r}; {advice(key, known)}")


def _with_protocol(tables: dict[str, Any]) -> dict[str, Any]:
    table = tables.get("protocol")
    if not isinstance(table, dict):
        return tables
    name = str(table.get("name", "awm"))
    is_whole = set(table) >= {"name", "max_turns", "returned_k", "shown_k"} and name not in PROTOCOLS
    if is_whole:  # a frozen one whose name says what was changed
        return tables
    rules = {key: value for key, value in table.items() if key != "name"}
    try:
        protocol: Protocol = named_protocol(name, **rules)
    except TypeError as problem:  # a rule of the wrong type is compared before it is checked
        raise ConfigError(f"[protocol] has a rule of the wrong type ({problem}); correct it.") from problem
    return tables | {"protocol": msgspec.to_builtins(protocol)}


def _with_roles(tables: dict[str, Any]) -> dict[str, Any]:
    """Roles given as one word, as on the command line, become tables."""
    changed = dict(tables)
    if isinstance(roles := tables.get("roles"), dict):
        changed["roles"] = {name: _role(role) for name, role in roles.items()}
    if isinstance(evaluation := tables.get("evaluation"), dict):
        changed["evaluation"] = {
            key: [_role(role) for role in value]
            if key == "readers" and isinstance(value, list)
            else _role(value)
            if key in ("extractor", "judge")
            else value
            for key, value in evaluation.items()
        }
    return changed


def _role(given: Any) -> Any:
    if isinstance(given, dict):
        for key in given:
            if key not in RoleSpec.__struct_fields__:
                raise ConfigError(f"A role has no setting {key!r}; {advice(key, RoleSpec.__struct_fields__)}")
    return RoleSpec.parse(given).as_config() if isinstance(given, str) else given


def _with_variant(config: TrainConfig) -> TrainConfig:
    def named(text: str) -> str:
        return text.replace(VARIANT, config.variant)

    train, data = config.train, config.data
    return msgspec.structs.replace(
        config,
        train=msgspec.structs.replace(train, output=named(train.output), model=named(train.model)),
        data=msgspec.structs.replace(data, trajectories=tuple(map(named, data.trajectories))),
    )


def _check_same(stored: Mapping[str, Any], wanted: Mapping[str, Any], folder: Path) -> None:
    before, now = dict(_flat(stored)), dict(_flat(wanted))
    for key in sorted(before.keys() | now.keys()):
        if before.get(key) != now.get(key) and not _is_free(key):
            raise RunError(
                f"{folder} was made with {'.'.join(key)} = {before.get(key)!r} and not {now.get(key)!r}; "
                "choose another [train] output or go back to the old setting."
            )


def _is_free(key: tuple[str, ...]) -> bool:
    reaches = key[0] in ("roles", "evaluation") and key[-1] in FREE_OPTIONS
    return reaches or (key[0] == "train" and key[1] in FREE)


def _flat(tables: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*prefix, key))
        elif value is not None:
            yield (*prefix, key), value
