"""`config_id`: the name of a ledger, made of the configuration behind it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["config_id"]

CONFIG_ID_HEX = 8
"""Hexadecimal digits of a configuration's hash in an id: collisions are out of the question inside one run."""


def config_id(name: str, config: dict[str, Any]) -> str:
    """`<name>-<8 hex of the canonical configuration>`, the name of a ledger.

    The canonical form is JSON with sorted keys, no spaces and UTF-8.
    """
    canonical = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{_file_safe(name)}-{hashlib.sha256(canonical.encode()).hexdigest()[:CONFIG_ID_HEX]}"


def _file_safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._" else "-" for c in name).strip(".-") or "unnamed"
