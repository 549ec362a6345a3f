"""`python -m looseleaf.training.verl CONFIG.toml [--with FILE …] [KEY=VALUE …]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from looseleaf.errors import UserError
from looseleaf.training.config_file import load_config
from looseleaf.training.verl.launch import prepare, run_verl

UNUSABLE = 2
"""Exit status where something that was given cannot be used, as of the `looseleaf` command."""


def main(arguments: list[str]) -> int:
    """Train, or only check and compose."""
    given = _parser().parse_intermixed_args(arguments)
    try:
        config = load_config(given.config, *given.overlays)
        if given.dry_run:
            prepare(config, given.overrides)
        else:
            run_verl(config, given.overrides)
    except UserError as problem:
        sys.stderr.write(f"{problem}\n")
        return UNUSABLE
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m looseleaf.training.verl",
        description="GRPO on verl, by a configuration of `looseleaf train`.",
    )
    parser.add_argument("config", metavar="CONFIG.toml", type=Path, help="the training configuration")
    parser.add_argument(
        "--with",
        dest="overlays",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a further file over it",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="check the configuration and write verl's; nothing runs"
    )
    parser.add_argument(
        "overrides", metavar="KEY=VALUE", nargs="*", help="further settings of verl, which win"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
