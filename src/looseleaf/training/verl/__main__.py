"""`python -m looseleaf.training.verl CONFIG.toml [KEY=VALUE …]`."""

from __future__ import annotations

import sys
from pathlib import Path

from looseleaf.errors import UserError
from looseleaf.training.config_file import load_config
from looseleaf.training.verl.launch import run_verl

USAGE = "Usage: python -m looseleaf.training.verl CONFIG.toml [KEY=VALUE of verl …]"


def main(arguments: list[str]) -> int:
    """Train; 2 where something cannot be used, as the `looseleaf` command exits."""
    if not arguments or arguments[0].startswith("-"):
        sys.stderr.write(USAGE + "\n")
        return 2
    try:
        run_verl(load_config(Path(arguments[0])), arguments[1:])
    except UserError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
