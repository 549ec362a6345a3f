"""`looseleaf doctor`: what is installed, and whether it works."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from looseleaf.cli import options as o

if TYPE_CHECKING:
    from looseleaf.cli.doctor_checks import Check

__all__ = ["doctor"]

UNWELL = 1
"""Exit status when something that should work does not."""
MARKS = {"ok": "[green]ok[/green]", "absent": "[dim]–[/dim]", "problem": "[red]problem[/red]"}


def doctor(
    base_url: o.BaseUrlOption = [],  # noqa: B006
    key_env: Annotated[
        str,
        typer.Option("--key-env", help="Environment variable that holds the servers' key, by name."),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check packages, cache, page worker, programs, keys (whether they are set, never what they are) and servers.

    Exit status 0 if everything that is there works, 1 if not; what is optional and not installed is no problem.
    """
    from looseleaf.cli.doctor_checks import all_checks

    checks = list(all_checks(base_url, key_env))
    _print_json(checks) if as_json else _print(checks)
    if any(check.status == "problem" for check in checks):
        raise typer.Exit(UNWELL)


def _print_json(checks: list[Check]) -> None:
    import json

    well = all(check.status != "problem" for check in checks)
    typer.echo(json.dumps({"ok": well, "checks": [check._asdict() for check in checks]}, indent=2))


def _print(checks: list[Check]) -> None:
    from looseleaf.cli.console import console, safe

    out = console()
    for section, group in groupby(checks, key=lambda check: check.section):
        out.print(f"[bold]{section}[/bold]")
        for check in group:
            line = f"  {check.name:22} {MARKS[check.status]} {safe(check.detail)}"
            out.print(line, highlight=False, soft_wrap=True)
