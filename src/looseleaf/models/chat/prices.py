"""`PriceTable`: what tokens cost, from a table that the user gives. looseleaf ships no prices: they change."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from looseleaf.errors import ConfigError

__all__ = ["Price", "PriceTable", "read_prices"]

PER = 1_000_000
"""Prices are for so many tokens, as providers print them."""


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prices of one model, for a million tokens.

    Attributes:
        input: prompt tokens.
        output: generated tokens.
        cached_input: prompt tokens that the server had cached; by default as `input`.
    """

    input: float
    output: float
    cached_input: float | None = None

    def cost(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """Cost of one request."""
        cached = min(cached_tokens, prompt_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        paid = (prompt_tokens - cached) * self.input + cached * cached_price + completion_tokens * self.output
        return paid / PER


class PriceTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prices by model name.

    Attributes:
        currency: for printing.
        models: prices.
    """

    currency: str = "USD"
    models: dict[str, Price]


def read_prices(path: str, model: str) -> Price | None:
    """The price of a model from a TOML file, or `None` where no file is given.

    The file: `currency = "USD"`, then for each model a table `[models."NAME"]` with `input`, `output` and optionally
    `cached_input`, for a million tokens.

    Raises:
        ConfigError: the file cannot be used or does not name the model.
    """
    if not path:
        return None
    try:
        table = msgspec.convert(tomllib.loads(Path(path).read_text(encoding="utf-8")), PriceTable)
    except (OSError, ValueError, msgspec.ValidationError) as problem:
        raise ConfigError(
            f"The price table {path} cannot be used ({problem}); give a TOML file with a table like "
            '[models."NAME"] that has input and output, for a million tokens.'
        ) from problem
    if model not in table.models:
        raise ConfigError(f'The price table {path} has no price for {model}; add a table [models."{model}"].')
    return table.models[model]
