"""Other people's formats: what can be read into a RUN and what a RUN can be written as.

The two registries hold dotted names only, so that listing formats imports nothing. An entry is loaded when its format
is asked for, and only then are the optional packages that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from looseleaf.errors import ConfigError

if TYPE_CHECKING:
    from looseleaf.adapters.exporter import Exporter
    from looseleaf.adapters.imports.source import SourceFormat

__all__ = ["EXPORTERS", "IMPORTERS", "exporter_named", "importer_named"]

IMPORTERS: dict[str, str] = {
    "alden": "looseleaf.adapters.imports.alden:ALDEN",
    "chat": "looseleaf.adapters.imports.chat:CHAT",
    "inspect": "looseleaf.adapters.imports.inspect_log:INSPECT",
    "madqa": "looseleaf.adapters.imports.madqa:MADQA",
    "mdocagent": "looseleaf.adapters.imports.mdocagent:MDOCAGENT",
    "simpledoc": "looseleaf.adapters.imports.simpledoc:SIMPLEDOC",
    "trajectories": "looseleaf.adapters.imports.trajectories:TRAJECTORIES",
    "vagen": "looseleaf.adapters.imports.vagen:VAGEN",
    "verifiers": "looseleaf.adapters.imports.verifiers:VERIFIERS",
}
"""Formats that `looseleaf import` reads: name to `module:SourceFormat object`."""

EXPORTERS: dict[str, str] = {
    "datasets": "looseleaf.adapters.datasets_export:DATASETS",
    "inspect": "looseleaf.adapters.inspect_log:INSPECT",
    "jsonl": "looseleaf.adapters.jsonl:JSONL",
    "parquet": "looseleaf.adapters.parquet:PARQUET",
}
"""Formats that `looseleaf export` writes: name to `module:Exporter object`."""


def importer_named(name: str) -> SourceFormat:
    """The format of that name, loaded.

    Raises:
        ConfigError: there is none.
    """
    found: SourceFormat = _loaded(name, IMPORTERS, "import")
    return found


def exporter_named(name: str) -> Exporter:
    """The exporter of that name, loaded.

    Raises:
        ConfigError: there is none, or an optional package that it needs is not installed.
    """
    found: Exporter = _loaded(name, EXPORTERS, "export")
    return found


def _loaded(name: str, registry: dict[str, str], verb: str) -> Any:
    if name not in registry:
        raise ConfigError(f"There is no {verb} format {name!r}; use one of {', '.join(sorted(registry))}.")
    module, _, attribute = registry[name].partition(":")
    return getattr(import_module(module), attribute)
