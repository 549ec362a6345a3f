"""Controls: the same question and reader, another memory."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from looseleaf.lab.donors import donor_questions
from looseleaf.lab.measure import measured
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.variants import Variant, VariantKind
from looseleaf.metrics import UNDEFINED, MetricTable, MetricValue, Ratio, Row, evaluate_rows

__all__ = ["Control", "controls"]

SHOWN = ("MemAcc[answerable]", "MemAcc", "P_mmc[answerable]", "P_mmc")
ONE_A_ROW = (
    VariantKind.OWN,
    VariantKind.EMPTY,
    VariantKind.QUESTION_ONLY,
    VariantKind.GOLD_TEXT,
    VariantKind.IMPROVED,
    VariantKind.ANSWER_REMOVED,
    VariantKind.PREDICTION_REMOVED,
    VariantKind.SHUFFLED,
)
"""Kinds that give each row one memory; the others are looked at finding by finding or as a curve."""
REFERENCES = {
    VariantKind.GOLD_TEXT: "a reference, not a memory: text layer of the gold pages; charts have none",
    VariantKind.IMPROVED: "an oracle setting: written from the gold pages",
    VariantKind.EMPTY: "an unanswerable question counts as answered",
    VariantKind.QUESTION_ONLY: "what the reader knew already",
    VariantKind.SHUFFLED: "memory of another question of the same document and answer format",
    VariantKind.ANSWER_REMOVED: "gold answer string taken out where it stands",
    VariantKind.PREDICTION_REMOVED: "string of the final answer taken out where it stands",
    VariantKind.OWN: "",
}
"""What each control is, in words."""


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """One memory variant under one reader.

    Attributes:
        variant: its stored name.
        what: what it is, in words.
        table: metrics with the variant in place of the own memory.
        lost: of the answerable rows that the own memory answers, the share that the variant does not.
        gained: of the answerable rows that the own memory does not answer, the share that the variant does.
        same_gold: for `shuffled`, share of rows whose donor question has the same gold answer.
    """

    variant: str
    what: str
    table: MetricTable
    lost: MetricValue
    gained: MetricValue
    same_gold: MetricValue | None = None


def controls(scored: ScoredRun, reading_id: str, threshold: str) -> list[Control]:
    """Every control that this reader has readings of, in the order of `ONE_A_ROW`."""
    own = scored.rows(reading_id, threshold=threshold)
    names = [
        name for kind in ONE_A_ROW for name in scored.variants(reading_id) if Variant.parse(name).kind is kind
    ]
    return [_control(scored, reading_id, name, own, threshold) for name in names]


def _control(scored: ScoredRun, reading_id: str, name: str, own: Sequence[Row], threshold: str) -> Control:
    kind = Variant.parse(name).kind
    rows = scored.rows(reading_id, name, threshold=threshold)
    return Control(
        variant=name,
        what=REFERENCES[kind],
        table=evaluate_rows(rows, SHOWN, name),
        lost=_moved("lost", own, rows, was=True),
        gained=_moved("gained", own, rows, was=False),
        same_gold=_same_gold(scored, rows) if kind is VariantKind.SHUFFLED else None,
    )


def _moved(name: str, own: Sequence[Row], rows: Sequence[Row], *, was: bool) -> MetricValue:
    """Share of the answerable rows with s_mem = `was` whose s_mem the variant turns."""
    pairs = [
        (a.memory_correct, b.memory_correct, a.question)
        for a, b in zip(own, rows, strict=True)
        if not a.question.unanswerable
    ]
    return measured(
        name,
        [
            (Ratio(float(after is not was)) if before is was and after is not None else UNDEFINED, q.doc_id)
            for before, after, q in pairs
        ],
    )


def _same_gold(scored: ScoredRun, rows: Sequence[Row]) -> MetricValue:
    """How often a donor's gold answer is the receiver's, so that its memory answers by being right about both."""
    by_id = {question.question_id: question for question in scored.questions}
    donors = donor_questions(scored.questions)
    return measured(
        "donors with the same gold answer",
        [
            (Ratio(float(by_id[donors[q.question_id]].references[:1] == q.references[:1])), q.doc_id)
            if q.question_id in donors
            else (UNDEFINED, q.doc_id)
            for q in (row.question for row in rows)
        ],
    )
