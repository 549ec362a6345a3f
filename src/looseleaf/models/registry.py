"""Making the four roles from their specs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from looseleaf.errors import ConfigError
from looseleaf.models.python_factory import make_from_factory
from looseleaf.models.role_spec import RoleName, RoleSpec
from looseleaf.roles import Extractor, Judge, Policy, Reader

__all__ = [
    "make_extractor",
    "make_judge",
    "make_policy",
    "make_reader",
    "make_role",
    "register_backend",
]

METHODS: Mapping[RoleName, str] = {
    "policy": "act",
    "reader": "read",
    "extractor": "extract",
    "judge": "judge",
}
"""The one method of each role (`looseleaf.roles`)."""

Maker = Callable[[RoleSpec], Any]


def make_policy(spec: RoleSpec) -> Policy:
    """The policy of that spec.

    Raises:
        ConfigError: there is no such backend or it cannot be set up.
    """
    return cast(Policy, make_role("policy", spec))


def make_reader(spec: RoleSpec) -> Reader:
    """The reader of that spec.

    Raises:
        ConfigError: there is no such backend or it cannot be set up.
    """
    return cast(Reader, make_role("reader", spec))


def make_extractor(spec: RoleSpec) -> Extractor | None:
    """The extractor of that spec; `none` scores responses as they are.

    Raises:
        ConfigError: there is no such backend or it cannot be set up.
    """
    return None if spec.backend == "none" else cast(Extractor, make_role("extractor", spec))


def make_judge(spec: RoleSpec) -> Judge | None:
    """The judge of that spec; `none` is for rule scorers.

    Raises:
        ConfigError: there is no such backend or it cannot be set up.
    """
    return None if spec.backend == "none" else cast(Judge, make_role("judge", spec))


def make_role(role: RoleName, spec: RoleSpec) -> Any:
    """What plays that role.

    Raises:
        ConfigError: there is no such backend or it cannot be set up.
    """
    if spec.backend == "python":
        return make_from_factory(spec.argument, METHODS[role], spec.options)
    makers = _MAKERS[role]
    if spec.backend not in makers:
        known = ", ".join([*makers, "python:module:factory"])
        raise ConfigError(f"There is no {role} {spec.name!r}; use one of {known}.")
    return makers[spec.backend](spec)


def register_backend(role: RoleName, backend: str, maker: Maker) -> None:
    """Add a backend whose code lives in a room above this one, e.g. the checkpoints of `looseleaf.training`.

    Args:
        role: which role it can play.
        backend: what specs call it.
        maker: makes it from a spec; imports what it needs when it is called.
    """
    _MAKERS[role][backend] = maker


def _embedded_policy(spec: RoleSpec) -> Any:
    from looseleaf.models.embedded import make_embedded_policy

    return make_embedded_policy(spec.argument)


def _embedded_reader(spec: RoleSpec) -> Any:
    from looseleaf.models.embedded import EmbeddedReader

    _no_argument(spec)
    return EmbeddedReader()


def _embedded_extractor(spec: RoleSpec) -> Any:
    from looseleaf.scoring.extraction import RuleExtractor

    _no_argument(spec)
    return RuleExtractor()


def _scripted_policy(spec: RoleSpec) -> Any:
    from looseleaf.models.scripted import ScriptedPolicy

    if not spec.argument:
        raise ConfigError("A scripted policy needs its file; use scripted:FILE.")
    return ScriptedPolicy.from_file(Path(spec.argument))


def _constant_reader(spec: RoleSpec) -> Any:
    from looseleaf.models.scripted import ConstantReader

    return ConstantReader(spec.argument) if spec.argument else ConstantReader()


def _openai(role: RoleName) -> Maker:
    def make(spec: RoleSpec) -> Any:
        from looseleaf.models.chat.make import openai_role

        return openai_role(role, spec)

    return make


def _gguf(role: RoleName) -> Maker:
    def make(spec: RoleSpec) -> Any:
        from looseleaf.models.gguf import gguf_role

        return gguf_role(role, spec)

    return make


def _no_argument(spec: RoleSpec) -> None:
    if spec.argument:
        raise ConfigError(f"{spec.backend} takes no argument here; use just {spec.backend!r}.")


_MAKERS: dict[RoleName, dict[str, Maker]] = {
    "policy": {"embedded": _embedded_policy, "scripted": _scripted_policy},
    "reader": {"embedded": _embedded_reader, "constant": _constant_reader},
    "extractor": {"embedded": _embedded_extractor},
    "judge": {},
}
for _role, _makers in _MAKERS.items():
    _makers |= {"openai": _openai(_role), "gguf": _gguf(_role)}
