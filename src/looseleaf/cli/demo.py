"""`looseleaf demo`: the main job on bundled documents, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where the three runs go.")] = Path("looseleaf-demo"),
) -> None:
    """Run three note-writers over four small bundled documents, read their memories, score and report.

    No key, no GPU, no network. All three give the same answers; they differ only in what they write down: specific
    findings, generic remarks, or just the answer. So the outcome cells show what memory-only answerability measures.
    """
    from looseleaf.cli.console import console, progress_bars
    from looseleaf.report import build_report, print_comparison, print_report, write_report
    from looseleaf.runner.demo import run_demo

    with progress_bars() as draw:
        runs = run_demo(out, progress=draw)
    reports = []
    for _, run, scored in runs:
        report = build_report(run, score_id=scored.score_id, reading_id=scored.reading_ids[0])
        write_report(run, report)
        reports.append(report)
    screen = console()
    print_report(screen, reports[0])
    screen.print()
    print_comparison(screen, reports)
    screen.print(
        f"Reports: {', '.join(str(run.path / 'report' / 'report.md') for _, run, _ in runs)}", markup=False
    )
