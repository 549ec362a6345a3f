"""Pairing two stored runs: which questions both have, and what each run's rows add to a metric."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from looseleaf.metrics import Metric, Ratio, Row
from looseleaf.metrics.metric import Missing
from looseleaf.question import Question
from looseleaf.statistics import Clusters
from looseleaf.statistics.clusters import Floats

__all__ = ["PairedQuestion", "PairedSums", "Pairing", "pair_questions", "paired_sums"]


class PairedQuestion(NamedTuple):
    """One question that both runs have, with its rows (one a sample) in each."""

    question: Question
    first: tuple[Row, ...]
    second: tuple[Row, ...]


class Pairing(NamedTuple):
    """Two runs' questions put together.

    Attributes:
        pairs: questions that both runs have.
        only_first: questions that only the first run has.
        only_second: questions that only the second has.
        unlike: questions with the same id whose text, document or gold answer differs; they are left out.
    """

    pairs: list[PairedQuestion]
    only_first: int
    only_second: int
    unlike: int


Ends = tuple[float | None, float | None]
"""A metric with every unscored row at its worst and at its best; `None` where nothing bounds it."""


class PairedSums(NamedTuple):
    """What paired questions add to one metric, samples averaged, over the questions that both runs scored.

    Attributes:
        documents: of the questions that count, in order.
        first: (x_k, y_k) of A by document.
        second: (x_k, y_k) of B by document.
        totals: (Σx, Σy) of A and of B.
        same_rows: whether both runs have the same denominators, so that rows pair one to one.
        applies: questions to which the metric applies in at least one run.
        dropped: of those, questions that are unscored in either run and therefore left out of both.
        ends: A's and B's values over all rows with every unscored row at the bounds.
    """

    documents: tuple[str, ...]
    first: tuple[Floats, Floats]
    second: tuple[Floats, Floats]
    totals: tuple[tuple[float, float], tuple[float, float]]
    same_rows: bool
    applies: int
    dropped: int
    ends: tuple[Ends, Ends]


def pair_questions(first: Sequence[Row], second: Sequence[Row]) -> Pairing:
    """Put the rows of two runs together by question, in the first run's order."""
    a, b = _by_question(first), _by_question(second)
    common = [key for key in a if key in b]
    alike = [key for key in common if _same(a[key][0].question, b[key][0].question)]
    return Pairing(
        pairs=[PairedQuestion(a[key][0].question, tuple(a[key]), tuple(b[key])) for key in alike],
        only_first=len(a) - len(common),
        only_second=len(b) - len(common),
        unlike=len(common) - len(alike),
    )


def _by_question(rows: Sequence[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.question.question_id, []).append(row)
    return grouped


def _same(a: Question, b: Question) -> bool:
    return (a.question, a.doc_id, a.references) == (b.question, b.doc_id, b.references)


def paired_sums(pairs: Sequence[PairedQuestion], metric: Metric) -> PairedSums:
    """What each question adds in each run, over the questions that both runs scored."""
    a, b = _Side(metric), _Side(metric)
    documents: list[str] = []
    values = array("d")
    applies = dropped = 0
    for pair in pairs:
        first, second = a.added(pair.first), b.added(pair.second)
        applies += first is None or second is None or first.y > 0 or second.y > 0
        if first is None or second is None:
            dropped += 1
        else:
            documents.append(pair.question.doc_id)
            values.extend((*first, *second))
    x_a, y_a, x_b, y_b = np.ascontiguousarray(np.frombuffer(values, dtype=np.float64).reshape(-1, 4).T)
    clusters = Clusters(documents)
    return PairedSums(
        documents=tuple(map(str, clusters.names)),
        first=(clusters.sums(x_a), clusters.sums(y_a)),
        second=(clusters.sums(x_b), clusters.sums(y_b)),
        totals=((float(x_a.sum()), float(y_a.sum())), (float(x_b.sum()), float(y_b.sum()))),
        same_rows=bool(np.array_equal(y_a, y_b)),
        applies=applies,
        dropped=dropped,
        ends=(a.ends(), b.ends()),
    )


class _Side:
    """What one run's rows add to a metric, looked at once."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric
        self._bounds = (metric.worst, metric.best)
        self._sums = [[0.0, 0.0], [0.0, 0.0]]
        self._unbounded = [False, False]

    def added(self, rows: Sequence[Row]) -> Ratio | None:
        """Mean over samples; `None` where one is unscored."""
        x = y = 0.0
        scored = True
        for row in rows:
            outcome = self._metric.of(row)
            if isinstance(outcome, Ratio):
                x, y = x + outcome.x, y + outcome.y
                for sums in self._sums:
                    sums[0] += outcome.x
                    sums[1] += outcome.y
            elif outcome is Missing.UNSCORED:
                scored = False
                self._bound(row)
        return Ratio(x / len(rows), y / len(rows)) if scored else None

    def _bound(self, row: Row) -> None:
        for end, bound in enumerate(self._bounds):
            if bound is None:
                self._unbounded[end] = True
                continue
            at = bound(row) if callable(bound) else bound
            self._sums[end][0] += at.x
            self._sums[end][1] += at.y

    def ends(self) -> Ends:
        """The metric at its worst and at its best."""
        worst, best = (
            None if unbounded or not y else x / y
            for (x, y), unbounded in zip(self._sums, self._unbounded, strict=True)
        )
        return worst, best
