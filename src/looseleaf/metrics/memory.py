"""Memory-only answerability: the four outcome cells and what follows from them (AWM, arXiv 2608.25618)."""

from __future__ import annotations

from enum import StrEnum

from looseleaf.metrics.answers import COUNT, is_answerable
from looseleaf.metrics.metric import UNDEFINED, UNSCORED, Metric, Missing, Ratio
from looseleaf.metrics.row import Row

__all__ = ["MEMORY_METRICS", "OutcomeCell", "outcome_cell"]


class OutcomeCell(StrEnum):
    """(s_ans, s_mem) of one row."""

    SUPPORTED = "11"
    """Memory-supported correct."""
    MISSING = "10"
    """Memory-missing correct: the answer is right, the memory alone does not give it."""
    ANSWERING_ERROR = "01"
    """The memory alone answers, the final answer is wrong."""
    UNRESOLVED = "00"
    """Neither answers."""


def outcome_cell(row: Row) -> OutcomeCell | None:
    """The row's cell, or `None` where either score is missing."""
    answer, memory = row.answer_correct, row.memory_correct
    if answer is None or memory is None:
        return None
    return OutcomeCell(f"{int(answer)}{int(memory)}")


def _memory_accuracy(row: Row) -> Ratio | Missing:
    if row.memory is None:
        return UNDEFINED
    return UNSCORED if row.memory.value is None else Ratio(row.memory.value)


def _share(cell: OutcomeCell) -> Metric:
    def of(row: Row) -> Ratio | Missing:
        if row.memory is None:
            return UNDEFINED
        found = outcome_cell(row)
        return UNSCORED if found is None else Ratio(float(found is cell))

    return Metric(
        name=f"Cell{cell}", doc=f"share of rows with (s_ans, s_mem) = ({cell[0]}, {cell[1]})", of=of
    )


def _missing_given_correct(row: Row) -> Ratio | Missing:
    if row.memory is None or row.answer_correct is False:
        return UNDEFINED
    cell = outcome_cell(row)
    return UNSCORED if cell is None else Ratio(float(cell is OutcomeCell.MISSING))


def _gap(row: Row) -> Ratio | Missing:
    if row.memory is None:
        return UNDEFINED
    cell = outcome_cell(row)
    if cell is None:
        return UNSCORED
    return Ratio(float(cell is OutcomeCell.MISSING) - float(cell is OutcomeCell.ANSWERING_ERROR))


def _graded_loss(row: Row) -> Ratio | Missing:
    if row.memory is None:
        return UNDEFINED
    if row.answer.value is None or row.memory.value is None:
        return UNSCORED
    return Ratio(max(0.0, row.answer.value - row.memory.value), row.answer.value)


def _findings(row: Row) -> Ratio | Missing:
    return UNSCORED if row.trajectory is None else Ratio(len(row.trajectory.memory))


P_MMC = Metric(
    name="P_mmc",
    doc="n10 / (n10 + n11): of the correct answers, the share that the memory alone does not give",
    of=_missing_given_correct,
    worst=Ratio(1.0),
    best=Ratio(0.0),
)
MEMORY_ACCURACY = Metric(
    name="MemAcc", doc="mean graded score of the reader's answer from memory alone", of=_memory_accuracy
)

MEMORY_METRICS = (
    MEMORY_ACCURACY,
    MEMORY_ACCURACY.restricted("answerable", is_answerable),
    P_MMC.restricted("answerable", is_answerable),
    P_MMC,
    *(_share(cell) for cell in OutcomeCell),
    Metric(
        name="Gap",
        doc="signed marginal gap (n10 − n01) / N; it can cancel to zero",
        of=_gap,
        worst=Ratio(1.0),
        best=Ratio(-1.0),
        is_rate=False,
    ),
    Metric(
        name="GradedLoss",
        doc="Σ max(0, answer − memory) / Σ answer, on graded scores",
        of=_graded_loss,
        worst=Ratio(1.0, 1.0),
        best=Ratio(0.0, 1.0),
    ),
    Metric(name="Findings", doc="mean findings in the terminal memory", of=_findings, **COUNT),
)
