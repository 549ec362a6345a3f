"""What is asked before anything is spent: the servers whether they can, the user whether they may."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from looseleaf.runner.config import RunConfig, ScoreConfig

__all__ = ["preflight"]


def preflight(
    config: RunConfig,
    score: ScoreConfig | None,
    folder: Path,
    max_cost: float | None,
    max_tokens: int | None,
    yes: bool,
) -> None:
    """Ask the servers before the first question is spent, and the user before much is."""
    from looseleaf.models.preflight import check_consent
    from looseleaf.runner.preflight import preflight_run
    from looseleaf.runstore import Run

    stored = Run.open(folder) if (folder / "config.toml").exists() else None
    report = preflight_run(config, score, run=stored)
    for line in report.lines():
        typer.echo(line, err=True)
    ask = typer.confirm if sys.stdin.isatty() else None
    check_consent(report, max_cost=max_cost, max_tokens=max_tokens, yes=yes, ask=ask)
