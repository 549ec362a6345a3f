"""The demo as a function: three note-writers over the bundled documents, run and scored."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from looseleaf.demo_data import DEMO_DATA
from looseleaf.models.role_spec import RoleSpec
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import ScoreOutcome, score_run
from looseleaf.runner.stage import StageProgress
from looseleaf.runstore import Run

__all__ = ["NOTE_STYLES", "DemoRun", "run_demo"]

NOTE_STYLES = ("specific", "generic", "echo")
"""The three note-writers; their final answers are the same, so only the memory differs."""


class DemoRun(NamedTuple):
    """A run of one note-writer and where its scores are."""

    style: str
    run: Run
    scored: ScoreOutcome


def run_demo(out: Path, *, progress: StageProgress | None = None) -> list[DemoRun]:
    """Run and score every note-writer of `NOTE_STYLES`, each into a folder of its name. No key, GPU or network.

    The agent and the reader are the embedded ones. What is finished already is not run again.

    Args:
        out: where the three RUN folders go.
        progress: called with (note-writer or stage, finished, total).

    Raises:
        UserError: the folder cannot be used.
    """
    return [_demo_run(out / style, style, progress) for style in NOTE_STYLES]


def _demo_run(folder: Path, style: str, progress: StageProgress | None) -> DemoRun:
    config = RunConfig(
        data=DataConfig(benchmark="procedural", path=str(DEMO_DATA)),
        policy=RoleSpec(backend="embedded", argument=style),
    )

    def tell(finished: int, total: int) -> None:
        if progress:
            progress(style, finished, total)

    run = execute(config, folder, progress=tell).run
    return DemoRun(style, run, score_run(run, ScoreConfig(), progress=progress))
