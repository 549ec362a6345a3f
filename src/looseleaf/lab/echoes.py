"""The echo audit: does a memory say the answer, the gold one and the agent's own, and would it answer if it did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from looseleaf.lab.echo import EchoLevel, answer_items, echo_level, references_level, says_whole
from looseleaf.lab.measure import measured
from looseleaf.lab.records import Item, ScoredRun
from looseleaf.metrics import UNSCORED, MetricValue, Ratio
from looseleaf.reward.findings import echoes_answer
from looseleaf.scoring.thresholds import binarise

__all__ = ["EchoAudit", "audit_echoes"]


class EchoAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Over the answerable rows that no fault ended.

    Attributes:
        rows: how many.
        gold: rows by how literally the memory says the gold answer.
        predicted: rows by how literally it says the agent's final answer; rows without one are left out.
        paper_filter: share of rows whose memory holds the whole gold string, whitespace and punctuation normalised.
        without_gold: s_mem on the rows that pass the paper's filter (AWM: 98 of 304).
        without_predicted: s_mem on the rows whose memory does not say the agent's answer in any of the three literal
            ways.
        wrong_echo: of the wrong final answers, the share that the memory says literally.
        bare: share of memories with a finding that says nothing but the agent's answer.
        unremovable: rows whose memory says the gold answer only in other words, so that `answer-removed` leaves it.
    """

    rows: int
    gold: dict[str, int]
    predicted: dict[str, int]
    paper_filter: MetricValue
    without_gold: MetricValue
    without_predicted: MetricValue
    wrong_echo: MetricValue
    bare: MetricValue
    unremovable: int


LITERAL = frozenset({EchoLevel.EXACT, EchoLevel.NORMALISED, EchoLevel.NUMERIC})


class _Case(msgspec.Struct, frozen=True):
    """One memory: what it says, and what became of it."""

    doc_id: str
    gold: EchoLevel
    predicted: EchoLevel | None
    filtered: bool
    bare: bool
    memory: bool | None
    final: bool | None


def audit_echoes(scored: ScoredRun, reading_id: str | None, threshold: str) -> EchoAudit:
    """The echo audit under one reader; without one, what depends on readings is unscored."""
    cases = [
        _case(scored, item, reading_id, threshold)
        for item in scored.items
        if item.noted is not None and not item.question.unanswerable and item.question.references
    ]
    return EchoAudit(
        rows=len(cases),
        gold=_levels([case.gold for case in cases]),
        predicted=_levels([case.predicted for case in cases if case.predicted is not None]),
        paper_filter=_share("memory holds the gold string", cases, lambda c: c.filtered),
        without_gold=_answers("memory answers, gold string absent", [c for c in cases if not c.filtered]),
        without_predicted=_answers(
            "memory answers, final answer not in it", [c for c in cases if c.predicted not in LITERAL]
        ),
        wrong_echo=_share(
            "wrong final answers that the memory says",
            [case for case in cases if case.final is False and case.predicted is not None],
            lambda c: c.predicted in LITERAL,
        ),
        bare=_share("a finding says nothing but the answer", cases, lambda c: c.bare),
        unremovable=sum(case.gold is EchoLevel.PARAPHRASE for case in cases),
    )


def _case(scored: ScoredRun, item: Item, reading_id: str | None, threshold: str) -> _Case:
    assert item.noted is not None
    texts = [finding.text for finding in item.noted.memory]
    prediction = scored.prediction(item.key)
    memory = None if reading_id is None else scored.memory_score(item, reading_id)
    final = scored.answers.get(item.key)
    return _Case(
        doc_id=item.question.doc_id,
        gold=references_level(texts, item.question),
        predicted=echo_level(texts, prediction) if answer_items(prediction) else None,
        filtered=any(says_whole(texts, reference) for reference in item.question.references),
        bare=any(echoes_answer(item.noted.memory, prediction)),
        memory=None if memory is None or memory.value is None else binarise(memory.value, threshold),
        final=None if final is None or final.value is None else binarise(final.value, threshold),
    )


def _levels(levels: Sequence[EchoLevel]) -> dict[str, int]:
    counts = Counter(levels)
    return {str(level): counts[level] for level in EchoLevel}


def _share(name: str, cases: Sequence[_Case], hit: Callable[[_Case], bool]) -> MetricValue:
    return measured(name, [(Ratio(float(hit(case))), case.doc_id) for case in cases])


def _answers(name: str, cases: Sequence[_Case]) -> MetricValue:
    return measured(
        name,
        [(UNSCORED if case.memory is None else Ratio(float(case.memory)), case.doc_id) for case in cases],
    )
