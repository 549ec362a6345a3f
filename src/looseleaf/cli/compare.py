"""`looseleaf compare`: two stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from looseleaf.cli import options as o

__all__ = ["compare"]


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A scored RUN folder.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another, over the same questions.")],
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse where the runs differ in more than the policy: retriever family, page resolution, protocol, "
            "scorer, extractor, reader, page window, oracle settings or data.",
        ),
    ] = False,
    score_a: Annotated[
        str | None, typer.Option(help="Ledger of A's scores; the last scoring by default.")
    ] = None,
    score_b: Annotated[str | None, typer.Option(help="Ledger of B's scores.")] = None,
    reading_a: Annotated[
        str | None, typer.Option(help="Ledger of A's readings; the headline reader by default.")
    ] = None,
    reading_b: Annotated[str | None, typer.Option(help="Ledger of B's readings.")] = None,
    threshold: o.ThresholdOption = ">0",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for JSON and Markdown; A's report folder by default.")
    ] = None,
    executor: o.ExecutorOption = "local",
    ray_address: o.RayAddressOption = "",
) -> None:
    """Compare two stored runs: differences paired by question, with intervals and tests clustered by document.

    P_mmc is compared twice: over each run's own correct answers, and over the questions that both answered correctly.
    Give the same RUN twice with two readings or scores to compare readers or scorers.
    """
    from functools import partial

    from looseleaf.cli.console import console
    from looseleaf.lab.compare import compare_runs
    from looseleaf.report.comparison import print_two_runs, write_comparison
    from looseleaf.runner.bootstrapping import fanned_ratios
    from looseleaf.runner.executor import executor_named
    from looseleaf.runstore import Run

    with executor_named(executor, ray_address) as work:
        comparison = compare_runs(
            Run.open(first),
            Run.open(second),
            score_ids=(score_a, score_b),
            reading_ids=(reading_a, reading_b),
            threshold=threshold,
            strict=strict,
            resample=None if executor == "local" else partial(fanned_ratios, work),
        )
    screen = console()
    print_two_runs(screen, comparison)
    _, markdown = write_comparison(out or first / "report", comparison)
    screen.print(f"Comparison: {markdown}", markup=False)
