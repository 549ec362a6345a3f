"""Rows of a stored run: trajectories joined with the scores of one scorer and one reader."""

from __future__ import annotations

from collections.abc import Iterable

from looseleaf.errors import RunError
from looseleaf.metrics.row import Row, rows_of
from looseleaf.runstore import Run, ScoreRow

__all__ = ["stored_rows"]


def stored_rows(
    run: Run, score_id: str, reading_id: str | None, *, threshold: str = ">0", variant: str = "own"
) -> list[Row]:
    """One row for every selected question and sample.

    Args:
        run: the run.
        score_id: ledger of the scores.
        reading_id: reader whose readings count as the memory's answer; `None` leaves memory metrics undefined.
        threshold: name of the binarisation.
        variant: memory variant that was read.

    Raises:
        RunError: there is no such ledger.
    """
    ledger = run.scores(score_id)
    if not ledger.path.exists():
        raise RunError(f"{run.path} has no scores {score_id!r}; make them with `looseleaf score {run.path}`.")
    rows = {row.key: row for row in ledger.read()}.values()
    answers = _by_trajectory(row for row in rows if row.target == "answer")
    memories = _by_trajectory(
        row
        for row in rows
        if row.target == "memory"
        and row.reading_id == reading_id
        and row.variant == variant
        and row.sample_index == 0
    )
    return rows_of(
        run.questions(),
        run.trajectories(),
        {key: row.score for key, row in answers.items()},
        None if reading_id is None else {key: row.score for key, row in memories.items()},
        samples=int(run.config.get("run", {}).get("samples", 1)),
        threshold=threshold,
        upstream={key: row.upstream_value for key, row in answers.items()},
        predictions={key: _text(row) for key, row in answers.items()},
        readings={key: _text(row) for key, row in memories.items()},
        keeps_memory=run.keeps_memory,
    )


def _by_trajectory(rows: Iterable[ScoreRow]) -> dict[str, ScoreRow]:
    return {row.trajectory_id: row for row in rows}


def _text(row: ScoreRow) -> str:
    return "" if row.prediction is None else str(row.prediction)
