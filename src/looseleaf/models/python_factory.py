"""`python:module:factory`: a role played by the user's own code."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from looseleaf.errors import ConfigError

__all__ = ["make_from_factory"]


def make_from_factory(argument: str, method: str, options: dict[str, Any]) -> Any:
    """Import `module`, call `factory(**options)` and check that the result can play the role.

    The module is looked for on the import path and in the current folder. This is the user's own code, named by the
    user on the command line; nothing from data or models ever reaches this function.

    Args:
        argument: `module:factory`.
        method: the method that the role needs, e.g. `act`.
        options: keyword arguments for the factory.

    Raises:
        ConfigError: the module, the factory or the method is not there, or the factory fails.
    """
    module_name, _, factory_name = argument.partition(":")
    if not module_name or not factory_name:
        raise ConfigError(f"python:{argument} does not name a factory; use python:module:factory.")
    factory = getattr(_import(module_name), factory_name, None)
    if not callable(factory):
        raise ConfigError(
            f"The module {module_name!r} has no function {factory_name!r}; check python:{argument}."
        )
    try:
        made = factory(**options)
    except Exception as problem:
        raise ConfigError(
            f"The factory python:{argument} failed ({type(problem).__name__}: {problem}); fix it and try again."
        ) from problem
    if not callable(getattr(made, method, None)):
        raise ConfigError(f"What python:{argument} returns has no method {method!r}; add one.")
    return made


def _import(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as problem:
        raise ConfigError(
            f"The module {name!r} cannot be imported ({type(problem).__name__}: {problem}); "
            "run from its folder or install it."
        ) from problem
