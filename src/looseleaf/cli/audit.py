"""`looseleaf audit`: a sample for people to label, and what the labels say of the whole run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from looseleaf.cli import options as o

__all__ = ["audit_app"]

audit_app = typer.Typer(
    help="Human audit: draw rows for people to label, and estimate from their labels.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A scored RUN folder.")]
DEFAULT_ROWS = 100


@audit_app.command("sample")
def sample(
    run_folder: RunArgument,
    n: Annotated[int, typer.Option("-n", min=1, help="Rows to label.")] = DEFAULT_ROWS,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw.")] = 0,
    score_id: Annotated[
        str | None,
        typer.Option("--score", help="Ledger of the scores to audit; the last scoring by default."),
    ] = None,
    reading_id: Annotated[
        str | None, typer.Option("--reading", help="Ledger of the readings; the headline reader by default.")
    ] = None,
    threshold: o.ThresholdOption = ">0",
    out: Annotated[
        Path | None, typer.Option("--out", help="Labelling file, .jsonl or .csv; RUN/audit/… by default.")
    ] = None,
) -> None:
    """Write a labelling file: rows drawn by outcome cell and by whether the run's scorers disagree, in random order.

    Fill in two labels a row, yes or no: `final_right`, is the final answer right; and `memory_sufficient`, are the
    notes alone enough to answer the question. The judge's verdict is not in the file.
    """
    from looseleaf.lab.human_audit import draw_sample
    from looseleaf.lab.human_audit_file import write_sample
    from looseleaf.runstore import Run

    run = Run.open(run_folder)
    design = draw_sample(run, n, seed=seed, score_id=score_id, reading_id=reading_id, threshold=threshold)
    path = write_sample(run, design, out)
    for name, plan in design.strata.items():
        typer.echo(f"{name:<24} {plan.drawn:>4} of {plan.size}")
    typer.echo(f"Label both columns of {path}, then: looseleaf audit estimate {run_folder} {path}")


@audit_app.command("estimate")
def estimate(
    run_folder: RunArgument,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="The labelling file, filled in.")],
) -> None:
    """What the labels say of the whole run: rates as people would label it, and the judge's confusion matrix.

    Every stratum needs labels; one without any is refused, since nothing could be said of its rows.
    """
    from looseleaf.cli.console import console
    from looseleaf.lab.human_audit_estimate import estimate_run
    from looseleaf.lab.human_audit_file import read_design, read_labels
    from looseleaf.report.human_audit import print_audit, write_audit
    from looseleaf.report.marks import marks_of
    from looseleaf.runstore import Run

    run = Run.open(run_folder)
    audit_id, said = read_labels(labels)
    result = estimate_run(run, read_design(run, audit_id), said)
    marks = marks_of(run, result.design.score_id, result.design.reading_id)
    screen = console()
    print_audit(screen, result, marks)
    _, markdown = write_audit(run.path / "audit", result, marks)
    screen.print(f"Audit: {markdown}", markup=False)
