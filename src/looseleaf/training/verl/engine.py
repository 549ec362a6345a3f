"""Whether verl is there, and what its registries know us by."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from typing import Any

from looseleaf.errors import ConfigError

__all__ = ["AGENT", "ESTIMATOR", "NO_VERL_EXTRA", "PLUGIN", "SETTINGS", "require_verl"]

AGENT = "looseleaf"
"""Name of the agent loop in verl's registry."""
ESTIMATOR = "looseleaf_group"
"""Name of the advantage estimator in verl's registry."""
PLUGIN = "looseleaf.training.verl._plugin"
"""Module that fills the registries; verl imports it in every process (`actor_rollout_ref.model.external_lib`)."""
SETTINGS = "looseleaf"
"""Key under `algorithm` with the settings of the estimator, the only part of verl's configuration that it is given."""

NO_VERL_EXTRA = (
    "Training on verl needs an environment of its own, since verl 0.9 wants an older transformers than TRL; "
    "make one and install `pip install 'looseleaf[verl]'` there."
)
PINNED = "transformers"
"""What verl and TRL cannot agree on."""


def require_verl() -> None:
    """Check that verl is installed, beside a transformers that it works with.

    Raises:
        ConfigError: it is not; the sentence says what to do.
    """
    needed = ("verl", "transfer_queue", "ray", "torch", PINNED)
    if any(importlib.util.find_spec(name) is None for name in needed):
        raise ConfigError(NO_VERL_EXTRA)
    wanted, found = _pin(), metadata.version(PINNED)
    if not wanted.contains(found, prereleases=True):
        raise ConfigError(
            f"verl {metadata.version('verl')} wants {PINNED}{wanted} and this environment has {found}, perhaps for "
            "TRL; make another environment and install `pip install 'looseleaf[verl]'` there."
        )


def _pin() -> Any:
    """The versions of transformers that the installed verl allows."""
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    for text in metadata.requires("verl") or ():
        requirement = Requirement(text)
        if requirement.name == PINNED and requirement.marker is None:
            return requirement.specifier
    return SpecifierSet()
