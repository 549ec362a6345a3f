"""Options of importers, as the command line gives them: text by name."""

from __future__ import annotations

from collections.abc import Mapping

from looseleaf.errors import ConfigError

__all__ = ["PAGE_BASE_OPTION", "page_base", "whole_option"]

PAGE_BASE_OPTION = {"page-base": "number that the source gives to the first page: 1 (the default) or 0"}


def page_base(options: Mapping[str, str]) -> int:
    """The option `page-base`; 1 where it is not given.

    Raises:
        ConfigError: it is neither 0 nor 1.
    """
    given = options.get("page-base", "1")
    if given not in ("0", "1"):
        raise ConfigError(f"page-base is {given!r}; use 0 or 1.")
    return int(given)


def whole_option(options: Mapping[str, str], name: str, default: int) -> int:
    """A whole number above 0.

    Raises:
        ConfigError: it is something else.
    """
    given = options.get(name, str(default))
    if not (given.isascii() and given.isdigit() and 0 < int(given) < 10**6):
        raise ConfigError(f"{name} is {given!r}; use a whole number above 0.")
    return int(given)
