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


def _possible(row: Row) -> frozenset[OutcomeCell]:
    """Cells that an unscored row may still turn out to be in, given the score that it has."""
    answer, memory = row.answer_correct, row.memory_correct
    return frozenset(
        cell for cell in OutcomeCell if answer in (None, cell[0] == "1") and memory in (None, cell[1] == "1")
    )


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
        name=f"Cell{cell}",
        doc=f"share of rows with (s_ans, s_mem) = ({cell[0]}, {cell[1]})",
        of=of,
        best=lambda row: Ratio(float(cell in _possible(row))),
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
    return Ratio(GAP[cell])


GAP = {
    OutcomeCell.SUPPORTED: 0.0,
    OutcomeCell.MISSING: 1.0,
    OutcomeCell.ANSWERING_ERROR: -1.0,
    OutcomeCell.UNRESOLVED: 0.0,
}
"""What a row of each cell adds to n10 − n01."""


def _widest_gap(row: Row) -> Ratio:
    return Ratio(max(GAP[cell] for cell in _possible(row)))


def _narrowest_gap(row: Row) -> Ratio:
    return Ratio(min(GAP[cell] for cell in _possible(row)))


def _missing_at_worst(row: Row) -> Ratio:
    """The memory misses it; else the answer is wrong, which adds nothing."""
    return Ratio(1.0) if OutcomeCell.MISSING in _possible(row) else Ratio(0.0, 0.0)


def _missing_at_best(row: Row) -> Ratio:
    """The memory supports it; else the answer is wrong, which adds nothing; else it is missed."""
    possible = _possible(row)
    if OutcomeCell.SUPPORTED in possible:
        return Ratio(0.0)
    return Ratio(1.0) if possible == {OutcomeCell.MISSING} else Ratio(0.0, 0.0)


def _graded_loss(row: Row) -> Ratio | Missing:
    if row.memory is None:
        return UNDEFINED
    if row.answer.value is None or row.memory.value is None:
        return UNSCORED
    return Ratio(max(0.0, row.answer.value - row.memory.value), row.answer.value)


def _all_lost(row: Row) -> Ratio:
    graded = 1.0 if row.answer.value is None else row.answer.value
    return Ratio(graded, graded)


def _nothing_lost(row: Row) -> Ratio:
    return Ratio(0.0, 1.0 if row.answer.value is None else row.answer.value)


def _findings(row: Row) -> Ratio | Missing:
    if row.lacks("memory"):
        return UNDEFINED
    return UNSCORED if row.ran is None else Ratio(row.ran.finding_count)


P_MMC = Metric(
    name="P_mmc",
    doc="n10 / (n10 + n11): of the correct answers, the share that the memory alone does not give",
    of=_missing_given_correct,
    worst=_missing_at_worst,
    best=_missing_at_best,
)
MEMORY_ACCURACY = Metric(
    name="MemAcc", doc="mean graded score of the reader's answer from memory alone", of=_memory_accuracy
)

GAP_METRIC = Metric(
    name="Gap",
    doc="signed marginal gap (n10 − n01) / N; it can cancel to zero",
    of=_gap,
    worst=_widest_gap,
    best=_narrowest_gap,
    is_rate=False,
)
GRADED_LOSS = Metric(
    name="GradedLoss",
    doc="Σ max(0, answer − memory) / Σ answer, on graded scores",
    of=_graded_loss,
    worst=_all_lost,
    best=_nothing_lost,
)

MEMORY_METRICS = (
    MEMORY_ACCURACY,
    MEMORY_ACCURACY.restricted("answerable", is_answerable),
    P_MMC.restricted("answerable", is_answerable),
    P_MMC,
    *(_share(cell) for cell in OutcomeCell),
    GAP_METRIC,
    GAP_METRIC.restricted("answerable", is_answerable),
    GRADED_LOSS,
    GRADED_LOSS.restricted("answerable", is_answerable),
    Metric(name="Findings", doc="mean findings in the terminal memory", of=_findings, **COUNT),
)
