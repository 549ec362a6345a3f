"""Memory-only answerability of one reader: cells, accuracies, P_mmc, gap and graded loss, whole and broken down.

The headline P_mmc is on answerable rows: an empty memory "answers" an unanswerable question, since the reader then says
so. All rows stand beside it (AWM, arXiv 2608.25618).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from looseleaf.lab.records import ScoredRun
from looseleaf.metrics import MetricTable, Row, evaluate_rows
from looseleaf.metrics.sources import source_category, source_names
from looseleaf.metrics.table import evaluate_by
from looseleaf.scoring.thresholds import DEFAULT_THRESHOLD, THRESHOLDS

__all__ = ["BREAKDOWNS", "Answerability", "Breakdown", "answerability"]

HEADLINE = (
    *("Acc[answerable]", "MemAcc[answerable]", "P_mmc[answerable]"),
    *("Gap[answerable]", "GradedLoss[answerable]"),
    *("Acc", "MemAcc", "P_mmc", "Gap", "GradedLoss"),
    *("Cell11", "Cell10", "Cell01", "Cell00"),
)
AT_THRESHOLDS = ("P_mmc[answerable]", "P_mmc", "Gap[answerable]", "Cell11", "Cell10", "Cell01", "Cell00")
"""Metrics that depend on when a graded score counts as correct."""
SLICED = ("Acc", "MemAcc", "P_mmc", "Gap", "GradedLoss", "Cell10", "Cell11")
NO_LABEL = "(none)"


class Breakdown(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics of the parts of the rows.

    Attributes:
        name: what the rows are divided by.
        overlapping: whether a row may be in several parts, so that they must never be summed.
        tables: one a part.
    """

    name: str
    overlapping: bool
    tables: list[MetricTable]


class Answerability(msgspec.Struct, frozen=True, kw_only=True):
    """What one reader's readings of the own memories say.

    Attributes:
        reading_id: ledger of the readings.
        threshold: when a graded score counts as correct in `headline` and `breakdowns`.
        headline: metrics of all rows.
        by_threshold: the binary metrics under every threshold.
        breakdowns: by source, document type, answer format, training step and answerability.
    """

    reading_id: str
    threshold: str
    headline: MetricTable
    by_threshold: dict[str, MetricTable]
    breakdowns: list[Breakdown]


Labels = Callable[[Row], Iterable[str]]


def _one(label: str) -> list[str]:
    return [label or NO_LABEL]


def _training_step(row: Row) -> list[str]:
    step = row.trajectory.step_of_training if row.trajectory else None
    return [NO_LABEL if step is None else str(step)]


BREAKDOWNS: tuple[tuple[str, bool, Labels], ...] = (
    ("evidence source, exclusive categories", False, lambda row: [str(source_category(row.question))]),
    ("evidence source, every label", True, lambda row: [str(name) for name in source_names(row.question)]),
    ("document type", False, lambda row: _one(row.question.doc_type)),
    ("answer format", False, lambda row: _one(row.question.answer_format)),
    ("training step", False, _training_step),
    (
        "answerability",
        False,
        lambda row: ["unanswerable" if row.question.unanswerable else "answerable"],
    ),
)
"""Name, whether parts overlap, and the labels of a row."""


def answerability(
    scored: ScoredRun, reading_id: str, threshold: str = DEFAULT_THRESHOLD, sample: int = 0
) -> Answerability:
    """Everything about one reader's readings of the own memories."""
    rows = scored.rows(reading_id, sample=sample, threshold=threshold)
    return Answerability(
        reading_id=reading_id,
        threshold=threshold,
        headline=evaluate_rows(rows, HEADLINE),
        by_threshold={name: _at(rows, name) for name in THRESHOLDS},
        breakdowns=[
            Breakdown(name=name, overlapping=overlapping, tables=_ordered(evaluate_by(rows, labels, SLICED)))
            for name, overlapping, labels in BREAKDOWNS
        ],
    )


def _at(rows: Sequence[Row], threshold: str) -> MetricTable:
    changed = [msgspec.structs.replace(row, threshold=threshold) for row in rows]
    return evaluate_rows(changed, AT_THRESHOLDS, threshold)


def _ordered(tables: list[MetricTable]) -> list[MetricTable]:
    """Numbers in order, then the largest part first."""
    return sorted(tables, key=lambda t: (int(t.label) if t.label.isdigit() else -1, -t.n_rows, t.label))
