"""What is said about a mistake in a training configuration."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from looseleaf.training.config import TrainConfig

__all__ = ["advice", "sentence"]

UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(?P<field>[^`]*)`(?: - at `\$\.?(?P<where>.*)`)?")
"""How msgspec words an unknown key."""
INVALID_CHOICE = re.compile(r"Invalid enum value (?P<value>.+) - at `\$\.(?P<where>.*)`")
"""How msgspec words a value that is not among the ones of a setting."""


def sentence(problem: msgspec.ValidationError) -> str:
    """One sentence for people: which setting, in which table, and what is there instead."""
    if (chosen := INVALID_CHOICE.match(str(problem))) and (choices := _choices_at(chosen["where"])):
        table, _, key = chosen["where"].rpartition(".")
        return f"[{table}] {key} is {chosen['value']}; use one of {', '.join(choices)}."
    found = UNKNOWN_FIELD.match(str(problem))
    if found is None:
        return f"{problem}; correct that setting."
    where = found["where"] or ""
    place = f"[{where}]" if where else "the top level"
    return f"{place} has no setting {found['field']!r}; {advice(found['field'], _fields_at(where))}"


def advice(key: str, known: Sequence[str]) -> str:
    """The setting that was probably meant, or all there are."""
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}."


def _choices_at(where: str) -> Sequence[str]:
    """The words that the setting at a path such as `reward.name` may have; empty where they are not known."""
    table, _, key = where.rpartition(".")
    kind = _table_at(table)
    field = (
        next((field for field in msgspec.structs.fields(kind) if field.name == key), None) if kind else None
    )
    info = msgspec.inspect.type_info(field.type) if field is not None else None
    return tuple(map(str, info.values)) if isinstance(info, msgspec.inspect.LiteralType) else ()


def _fields_at(where: str) -> Sequence[str]:
    """Fields of the table at a path such as `train.lora`."""
    kind = _table_at(where)
    return tuple(kind.__struct_fields__) if kind else ()


def _table_at(where: str) -> Any:
    kind: Any = TrainConfig
    for name in filter(None, where.split(".")):
        field = next((field for field in msgspec.structs.fields(kind) if field.name == name), None)
        inner = msgspec.inspect.type_info(field.type) if field is not None else None
        kind = _struct_in(inner)
        if kind is None:
            return None
    return kind


def _struct_in(info: Any) -> Any:
    if isinstance(info, msgspec.inspect.StructType):
        return info.cls
    for part in getattr(info, "types", ()):
        if isinstance(part, msgspec.inspect.StructType):
            return part.cls
    return None
