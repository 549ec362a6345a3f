"""Pairing two stored runs: which questions both have, and what each run's rows add to a metric."""

from __future__ import annotations

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


class PairedSums(NamedTuple):
    """What paired questions add to one metric, samples averaged.

    Attributes:
        clusters: documents of the questions that count.
        first: (x, y) of each question in A.
        second: (x, y) of each question in B.
        applies: questions to which the metric applies in at least one run.
        dropped: of those, questions that are unscored in either run and therefore left out of both.
    """

    clusters: Clusters
    first: tuple[Floats, Floats]
    second: tuple[Floats, Floats]
    applies: int
    dropped: int

    @property
    def same_rows(self) -> bool:
        """Whether both runs have the same denominators, so that rows pair one to one."""
        return bool(np.array_equal(self.first[1], self.second[1]))

    def by_document(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """(x_k, y_k) of A and of B by document."""
        (x_a, y_a), (x_b, y_b) = self.first, self.second
        sums = self.clusters.sums
        return (sums(x_a), sums(y_a)), (sums(x_b), sums(y_b))


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
    found = [(pair, _added(metric, pair.first), _added(metric, pair.second)) for pair in pairs]
    kept = [(pair, a, b) for pair, a, b in found if a is not None and b is not None]
    applies = sum(a is None or b is None or a.y > 0 or b.y > 0 for _, a, b in found)
    return PairedSums(
        clusters=Clusters([pair.question.doc_id for pair, _, _ in kept]),
        first=_columns([a for _, a, _ in kept]),
        second=_columns([b for _, _, b in kept]),
        applies=applies,
        dropped=len(found) - len(kept),
    )


def _added(metric: Metric, rows: Sequence[Row]) -> Ratio | None:
    """Mean over samples; `None` where one is unscored."""
    outcomes = [metric.of(row) for row in rows]
    if Missing.UNSCORED in outcomes:
        return None
    ratios = [outcome for outcome in outcomes if isinstance(outcome, Ratio)]
    return Ratio(sum(r.x for r in ratios) / len(rows), sum(r.y for r in ratios) / len(rows))


def _columns(ratios: Sequence[Ratio]) -> tuple[Floats, Floats]:
    return np.array([ratio.x for ratio in ratios]), np.array([ratio.y for ratio in ratios])
