"""`RoleSpec`: which model plays a role, as one word on the command line or a table in a configuration."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from looseleaf.errors import ConfigError

__all__ = ["CHAT_BACKENDS", "FREE_OPTIONS", "RoleName", "RoleSpec"]

RoleName = Literal["policy", "reader", "extractor", "judge"]

CHAT_BACKENDS = frozenset({"openai", "gguf"})
"""Backends that send prompts to a chat model."""

FREE_OPTIONS = frozenset(
    {"timeout", "retries", "max_in_flight", "max_tokens_in_flight", "key_env", "cache", "prices", "base_urls"}
)
"""Options of chat models that no result depends on; they may change when a run is continued."""


class RoleSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A backend, its argument and its options.

    Attributes:
        backend: `embedded`, `scripted`, `python`, `openai`, `gguf` or `none`.
        argument: what follows the first colon: a style, a file, `module:factory` or a model name.
        options: further settings of the backend, e.g. `{"base_url": "http://127.0.0.1:8000/v1"}`; never a key.
    """

    backend: str
    argument: str = ""
    options: dict[str, Any] = {}

    @classmethod
    def parse(cls, text: str, **options: Any) -> RoleSpec:
        """Read `backend` or `backend:argument`.

        Raises:
            ConfigError: the text is empty.
        """
        backend, _, argument = text.strip().partition(":")
        if not backend:
            raise ConfigError(
                "A role is empty; use embedded, openai:MODEL, gguf:PATH or python:module:factory."
            )
        return cls(
            backend=backend,
            argument=argument,
            options={name: value for name, value in options.items() if value is not None},
        )

    @classmethod
    def on_servers(cls, text: str, base_urls: Sequence[str]) -> RoleSpec:
        """Read a role, and if it is `openai:MODEL` let these servers play it.

        Args:
            text: the role.
            base_urls: none, one, or several that share its requests; the first stands for all in records.

        Raises:
            ConfigError: the text is empty.
        """
        spec = cls.parse(text)
        if spec.backend != "openai" or not base_urls:
            return spec
        several = {"base_urls": list(base_urls)} if len(base_urls) > 1 else {}
        return msgspec.structs.replace(spec, options={"base_url": base_urls[0], **several})

    @classmethod
    def from_file(cls, path: Path) -> RoleSpec:
        """Read a TOML table with `backend`, and perhaps `argument` and `options`.

        Raises:
            ConfigError: the file cannot be read as that.
        """
        try:
            return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), cls)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
            raise ConfigError(
                f'The role file {path} cannot be used ({problem}); write backend = "…", argument = "…" and [options].'
            ) from problem

    @property
    def name(self) -> str:
        """The word that was given, for tables and ledger ids."""
        return f"{self.backend}:{self.argument}" if self.argument else self.backend

    def as_config(self) -> dict[str, Any]:
        """The spec as JSON values, for configurations and hashes; the first of several servers stands as `base_url`."""
        urls = self.options.get("base_urls")
        options = {"base_url": urls[0], **self.options} if isinstance(urls, list) and urls else self.options
        return {
            "backend": self.backend,
            "argument": self.argument,
            **({"options": options} if options else {}),
        }

    def identity(self) -> dict[str, Any]:
        """What of the spec results depend on, for the ids of ledgers: `as_config` without `FREE_OPTIONS`."""
        config = self.as_config()
        kept = {name: value for name, value in config.pop("options", {}).items() if name not in FREE_OPTIONS}
        return config | ({"options": kept} if kept else {})
