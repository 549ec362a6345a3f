"""When a graded score counts as correct."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from looseleaf.errors import ConfigError

__all__ = ["DEFAULT_THRESHOLD", "THRESHOLDS", "binarise", "threshold_named"]

DEFAULT_THRESHOLD: Final = ">0"
"""AWM (arXiv 2608.25618) counts any positive score as correct in its outcome cells."""

THRESHOLDS: Final[Mapping[str, Callable[[float], bool]]] = MappingProxyType(
    {
        ">0": lambda value: value > 0,
        ">=0.5": lambda value: value >= 0.5,
        "=1": lambda value: value == 1,
    }
)
"""The thresholds by name."""


def threshold_named(name: str) -> Callable[[float], bool]:
    """The threshold of that name; spaces in it do not matter.

    Raises:
        ConfigError: there is none.
    """
    rule = THRESHOLDS.get(name.replace(" ", ""))
    if rule is None:
        raise ConfigError(f"There is no threshold {name!a:.40}; use one of {', '.join(THRESHOLDS)}.")
    return rule


def binarise(value: float, threshold: str = DEFAULT_THRESHOLD) -> bool:
    """Whether a score counts as correct.

    Raises:
        ConfigError: there is no threshold of that name.
    """
    return threshold_named(threshold)(value)
