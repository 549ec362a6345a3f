"""`looseleaf simulate`: the reward laboratory."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from looseleaf.cli import options as o
from looseleaf.errors import ConfigError

__all__ = ["simulate"]


class _Scale(StrEnum):
    GROUP = "group"
    BATCH = "batch"
    NONE = "none"


class _Form(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def simulate(
    run: Annotated[
        Path | None, typer.Option("--run", help="Take groups from this scored RUN (several samples).")
    ] = None,
    reward: Annotated[
        list[str],
        typer.Option(
            "--reward",
            help="awm, awm:β,γ,ω, cells:r11,r10,r01,r00, answer-only, alden, alden:paper; may be repeated.",
        ),
    ] = [],  # noqa: B006
    mixture: Annotated[
        list[str],
        typer.Option(
            "--mixture", help="Cell shares p00,p01,p10,p11, or a name; the paper's three by default."
        ),
    ] = [],  # noqa: B006
    groups: Annotated[int, typer.Option(min=1, help="Groups for each mixture.")] = 15_000,
    group_size: Annotated[int, typer.Option(min=1, help="Members of a group.")] = 8,
    eps: Annotated[float, typer.Option(help="Added to the standard deviation.")] = 1e-6,
    ddof: Annotated[
        int, typer.Option(min=0, max=1, help="0: population standard deviation; 1: Bessel's.")
    ] = 0,
    scale: Annotated[_Scale, typer.Option(help="What the reward is divided by.")] = _Scale.GROUP,
    seed: Annotated[int, typer.Option(help="Of the sampling.")] = 0,
    sweep: Annotated[bool, typer.Option("--sweep", help="Vary β, γ, ω and G in one picture.")] = False,
    grid: Annotated[
        list[str],
        typer.Option("--grid", help="A line of the sweep, e.g. beta=1,2,4; may be given several times."),
    ] = [],  # noqa: B006
    quantity: Annotated[str, typer.Option(help="What the sweep shows.")] = "advantage:10",
    score_id: Annotated[str | None, typer.Option("--score", help="Ledger of the run's scores.")] = None,
    reading_id: Annotated[str | None, typer.Option("--reading", help="Ledger of the run's readings.")] = None,
    threshold: o.ThresholdOption = ">0",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for figure and numbers (SVG, Markdown, JSON).")
    ] = None,
    form: Annotated[_Form, typer.Option("--format", help="Of what is printed.")] = _Form.TEXT,
) -> None:
    """What a reward does to group advantages: on the paper's mixtures, on yours, or on your own rollouts.

    Exact expectations and a simulation: mean advantage of each outcome cell, sign changes, groups without gradient,
    phantom groups (every answer wrong, yet a gradient), and where the gradient goes.
    """
    from looseleaf.reward.simulation.command import simulate_command

    if grid and not sweep:
        raise ConfigError("--grid belongs to a sweep; add --sweep.")
    text = simulate_command(
        run=run,
        rewards=reward,
        mixtures=mixture,
        groups=groups,
        group_size=group_size,
        eps=eps,
        ddof=cast(Literal[0, 1], ddof),
        scale=scale.value,
        seed=seed,
        score_id=score_id,
        reading_id=reading_id,
        threshold=threshold,
        sweeps=grid if sweep else None,
        quantity=quantity,
        out=out,
        form=form.value,
    )
    typer.echo(text)
    if out is not None:
        typer.echo(f"Figure and numbers: {out}")
