"""Metrics of the final answer."""

from __future__ import annotations

from typing import Any

from looseleaf.metrics.metric import UNDEFINED, UNSCORED, Metric, Missing, Ratio
from looseleaf.metrics.row import Row
from looseleaf.question import NOT_ANSWERABLE

__all__ = ["ANSWER_METRICS", "COUNT", "is_answerable", "is_unanswerable"]


def is_answerable(row: Row) -> bool:
    """Whether the gold answer exists."""
    return not row.question.unanswerable


def is_unanswerable(row: Row) -> bool:
    """Whether the gold answer is that the document does not say."""
    return row.question.unanswerable


def _accuracy(row: Row) -> Ratio | Missing:
    return UNSCORED if row.answer.value is None else Ratio(row.answer.value)


def _upstream(row: Row) -> Ratio | Missing:
    return Ratio(row.upstream or 0.0) if row.question.references else UNDEFINED


def _f1(row: Row) -> Ratio | Missing:
    """F1 = 2N / (#answerable gold + #attempts), so it is a ratio of sums over rows."""
    if row.answer.value is None:
        return UNSCORED
    attempt = float(row.prediction != NOT_ANSWERABLE)
    gold = float(is_answerable(row))
    return Ratio(2 * row.answer.value * gold, gold + attempt)


def _f1_at_worst(row: Row) -> Ratio:
    """A wrong attempt."""
    return Ratio(0.0, 1.0 + is_answerable(row))


def _f1_at_best(row: Row) -> Ratio:
    """A right attempt, or a refusal where there is no answer, which adds nothing."""
    return Ratio(2.0, 2.0) if is_answerable(row) else Ratio(0.0, 0.0)


def _turns(row: Row) -> Ratio | Missing:
    if row.lacks("steps"):
        return UNDEFINED
    return UNSCORED if row.ran is None else Ratio(row.ran.turns)


def _invalid(row: Row) -> Ratio | Missing:
    if row.lacks("steps"):
        return UNDEFINED
    if row.ran is None:
        return UNSCORED
    return Ratio(row.ran.invalid_turns, row.ran.turns)


COUNT: dict[str, Any] = {"is_rate": False, "percent": False, "worst": None, "best": None}
"""Fields of a metric that counts things and has no bounds."""

ACCURACY = Metric(name="Acc", doc="mean graded score of the final answer", of=_accuracy)

ANSWER_METRICS = (
    ACCURACY,
    ACCURACY.restricted("answerable", is_answerable),
    ACCURACY.restricted("unanswerable", is_unanswerable),
    Metric(
        name="Acc(upstream)",
        doc="what the upstream code would have recorded on these rows: whatever fails counts as 0",
        of=_upstream,
    ),
    Metric(
        name="F1",
        doc="abstention-aware F1 of MMLongBench-Doc (eval/eval_score.py @ d73f0dc, eval_acc_and_f1)",
        of=_f1,
        worst=_f1_at_worst,
        best=_f1_at_best,
    ),
    Metric(name="Turns", doc="mean generations of the policy", of=_turns, **COUNT),
    Metric(
        name="Invalid",
        doc="share of turns that were refused or malformed",
        of=_invalid,
        worst=None,
        best=None,
    ),
)
