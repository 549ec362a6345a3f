"""`looseleaf demo`: the main job on bundled documents, in seconds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]

NOTE_STYLES = ("specific", "generic", "echo")
"""The three note-writers; their final answers are the same, so only the memory differs."""


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where the three runs go.")] = Path("looseleaf-demo"),
) -> None:
    """Run three note-writers over four small bundled documents, read their memories, score and report.

    No key, no GPU, no network. All three give the same answers; they differ only in what they write down: specific
    findings, generic remarks, or just the answer. So the outcome cells show what memory-only answerability measures.
    """
    from looseleaf.cli.console import console, progress_bars
    from looseleaf.demo_data import DEMO_DATA
    from looseleaf.models.role_spec import RoleSpec
    from looseleaf.report import build_report, print_comparison, print_report, write_report
    from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
    from looseleaf.runner.execute import execute
    from looseleaf.runner.score import score_run

    reports = []
    with progress_bars() as draw:
        for style in NOTE_STYLES:
            config = RunConfig(
                data=DataConfig(benchmark="procedural", path=str(DEMO_DATA)),
                policy=RoleSpec(backend="embedded", argument=style),
            )
            run = execute(config, out / style, progress=partial(draw, style)).run
            scored = score_run(run, ScoreConfig(), progress=draw)
            report = build_report(run, score_id=scored.score_id, reading_id=scored.reading_ids[0])
            write_report(run, report)
            reports.append(report)
    screen = console()
    print_report(screen, reports[0])
    screen.print()
    print_comparison(screen, reports)
    screen.print(
        f"Reports: {', '.join(str(out / style / 'report' / 'report.md') for style in NOTE_STYLES)}",
        markup=False,
    )
