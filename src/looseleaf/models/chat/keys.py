"""Keys of model servers: read from the environment by name, and kept out of every message."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from looseleaf.errors import ConfigError
from looseleaf.models.chat.options import ChatOptions

__all__ = ["Key", "key_for"]

KEY_VARIABLES = {
    "api.openai.com": "OPENAI_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}
"""Each host's own variable. A key is sent to no other host unless `key_env` says so."""

NO_KEY = "none"
"""What is sent where no key is known; local servers take any."""


class Key:
    """A key and where it came from. It never shows itself.

    Attributes:
        variable: environment variable, or empty where none is known for the host.
    """

    __slots__ = ("_value", "variable")

    def __init__(self, variable: str, value: str) -> None:
        self.variable = variable
        self._value = value

    def __repr__(self) -> str:
        return f"Key({self.variable or 'none'})"

    @property
    def given(self) -> bool:
        """Whether there is a key at all."""
        return self._value != NO_KEY

    def reveal(self) -> str:
        """The key itself, for the one place that sends it."""
        return self._value

    def redact(self, text: str) -> str:
        """The text with the key taken out: servers like to repeat it in their errors."""
        return text.replace(self._value, "[key]") if self.given else text


def key_for(options: ChatOptions) -> Key:
    """The key for a server.

    Raises:
        ConfigError: the variable that should hold it is not set.
    """
    host = urlsplit(options.base_url).hostname or ""
    variable = options.key_env or KEY_VARIABLES.get(host, "")
    if not variable:
        return Key("", NO_KEY)
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ConfigError(
            f"{host} needs a key and the environment variable {variable} is not set; set it, or name another one "
            "with key_env."
        )
    return Key(variable, value)
