"""Causal memory score on counterfactual twins: does the memory follow the document?

D′ (`changed`) differs from D in one value that the answer follows from, D° (`control`) in one that it does not depend
on. With M, M′ and M° written on each, CF = P[R(q, M′) = y′ | R(q, M) = y], stability = P[R(q, M°) = y | R(q, M) = y],
score = CF + stability − 1. A policy that memorised y has CF 0, whatever its P_mmc. A reading equals an answer only at
the full score: y and y′ may differ in one letter or digit, and partial credit would take one for the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from looseleaf.errors import RunError
from looseleaf.lab.measure import Outcome, measured
from looseleaf.lab.records import ScoredRun
from looseleaf.metrics import UNDEFINED, UNSCORED, MetricValue, Ratio, Row

__all__ = ["CausalScore", "causal_score"]


EQUAL = "=1"
"""Threshold at which a reading equals an answer."""


class CausalScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score of one run with its two twin runs under one reader, over some of the questions.

    Attributes:
        reading_id: ledger of the readings of D.
        rows: `answerable` in D, or `all`: a memory that found nothing answers an unanswerable question at once.
        pairs: questions that all three runs have.
        n_answered: of those, the questions that the memory of D answers.
        cf: share of them that the memory of D′ answers with the changed answer.
        stability: share of them that the memory of D° answers with the old answer.
        score: CF + stability − 1; `None` where either is undefined.
        stuck: share of them where the memory of D′ still gives the reading of D.
        p_mmc: P_mmc of D over the answerable ones of the same questions.
        everything: the same over all rows; `None` where this is it.
    """

    reading_id: str
    rows: str
    pairs: int
    n_answered: int
    cf: MetricValue
    stability: MetricValue
    score: float | None
    stuck: MetricValue
    p_mmc: MetricValue
    everything: CausalScore | None = None


def causal_score(
    base: tuple[ScoredRun, str],
    changed: tuple[ScoredRun, str],
    control: tuple[ScoredRun, str],
    threshold: str = EQUAL,
) -> CausalScore:
    """The score from three stored runs, each with the ledger of its readings; row i is the same question in all.

    The headline is on questions that are answerable in D; all rows stand beside it.

    Raises:
        RunError: the runs do not ask the same questions.
    """
    rows = [scored.rows(reading_id, threshold=threshold) for scored, reading_id in (base, changed, control)]
    triples = _aligned(rows, (base[0], changed[0], control[0]))
    answerable = [triple for triple in triples if not triple[0].question.unanswerable]
    everything = _score_of(triples, base[1], "all")
    return msgspec.structs.replace(_score_of(answerable, base[1], "answerable"), everything=everything)


def _score_of(triples: Sequence[Triple], reading_id: str, rows: str) -> CausalScore:
    answered = [triple for triple in triples if triple[0].memory_correct]
    cf = measured("CF", [_correct(triple, 1) for triple in triples])
    stability = measured("stability", [_correct(triple, 2) for triple in triples])
    return CausalScore(
        reading_id=reading_id,
        rows=rows,
        pairs=len(triples),
        n_answered=len(answered),
        cf=cf,
        stability=stability,
        score=None if cf.value is None or stability.value is None else cf.value + stability.value - 1,
        stuck=measured("stuck at the old reading", [_stuck(triple) for triple in answered]),
        p_mmc=measured("P_mmc", [_missing(row) for row, _, _ in triples]),
    )


Triple = tuple[Row, Row, Row]


def _aligned(rows: Sequence[Sequence[Row]], runs: Sequence[ScoredRun]) -> list[Triple]:
    """Rows of the three runs by question id and sample, where all have it."""
    by_key = [
        {item.key: row for item, row in zip(run.items, found, strict=True)}
        for run, found in zip(runs, rows, strict=True)
    ]
    keys = [key for key in by_key[0] if key in by_key[1] and key in by_key[2]]
    triples = [(by_key[0][key], by_key[1][key], by_key[2][key]) for key in keys]
    if problem := _problem(triples):
        raise RunError(
            f"The runs are no twins: {problem}; run one policy on a generated folder and on its twins/changed and "
            "twins/control (made with twins), and give the changed one first."
        )
    return triples


def _problem(triples: Sequence[Triple]) -> str:
    """Why three runs are no twins, or an empty text."""
    if not triples:
        return "they share no question"
    for a, b, c in triples:
        if not a.question.question == b.question.question == c.question.question:
            return f"{a.question.question_id} differs"
        if a.question.references == b.question.references:
            return f"{a.question.question_id} has the same gold answer in the changed document"
        if a.question.references != c.question.references:
            return f"{a.question.question_id} has another gold answer in the control document"
    return ""


def _correct(triple: Triple, index: int) -> Outcome:
    doc = triple[0].question.doc_id
    base, other = triple[0].memory_correct, triple[index].memory_correct
    if base is None:
        return UNSCORED, doc
    if not base:
        return UNDEFINED, doc
    return (UNSCORED if other is None else Ratio(float(other))), doc


def _stuck(triple: Triple) -> Outcome:
    base, changed, _ = triple
    if changed.memory_correct is None:
        return UNSCORED, base.question.doc_id
    same = " ".join(base.reading.lower().split()) == " ".join(changed.reading.lower().split())
    return Ratio(float(same)), base.question.doc_id


def _missing(row: Row) -> Outcome:
    if row.answer_correct is False or row.question.unanswerable:
        return UNDEFINED, row.question.doc_id
    unknown = row.answer_correct is None or row.memory_correct is None
    return (UNSCORED if unknown else Ratio(float(not row.memory_correct))), row.question.doc_id
