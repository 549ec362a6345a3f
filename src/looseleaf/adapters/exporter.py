"""`Exporter`: one format that a RUN can be written as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from looseleaf.errors import ConfigError

__all__ = ["Exporter", "checked_options", "required"]


class Exporter(msgspec.Struct, frozen=True, kw_only=True):
    """A format.

    Attributes:
        name: canonical name, the command-line argument.
        title: what it is, in one line.
        write: called with the folder that is exported, the place to write to and the options; returns lines to print.
        options: names of the options that it takes, with what they do.
        needs: module that must be importable; empty where the core install suffices.
        extra: extra of looseleaf that brings that module.
    """

    name: str
    title: str
    write: Callable[[Path, Path, Mapping[str, str]], list[str]]
    options: Mapping[str, str] = {}
    needs: str = ""
    extra: str = ""

    def export(self, folder: Path, out: Path, options: Mapping[str, str] | None = None) -> list[str]:
        """Write a folder in this format.

        Args:
            folder: a RUN; for some formats also a data folder.
            out: file or folder to write.
            options: format-specific options by name.

        Returns:
            Lines that say what was written.

        Raises:
            ConfigError: an option is unknown, or an optional package is missing.
            UserError: the folder cannot be read, or `out` not written.
        """
        required(self.needs, self.extra, f"Export as {self.name}")
        return self.write(folder, out, checked_options(self.name, options or {}, self.options))


def required(module: str, extra: str, what: str) -> None:
    """Stop with one sentence where an optional package is missing.

    Raises:
        ConfigError: the module cannot be imported.
    """
    from importlib.util import find_spec

    if module and find_spec(module) is None:
        raise ConfigError(
            f'{what} needs the package {module}; install it with: pip install "looseleaf[{extra}]".'
        )


def checked_options(name: str, given: Mapping[str, str], known: Mapping[str, str]) -> Mapping[str, str]:
    """The options, if all of them are known.

    Raises:
        ConfigError: one is not.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        takes = f"it has {', '.join(sorted(known))}" if known else "it has none"
        raise ConfigError(f"The format {name} has no option {unknown[0]!r}; {takes}.")
    return given
