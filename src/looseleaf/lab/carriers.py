"""Which finding carries the answer: leave-one-out and keep-one-in.

A finding is *sufficient* where it answers alone, and *necessary* where the memory without it no longer answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from looseleaf.lab.measure import measured
from looseleaf.lab.records import Item, ScoredRun
from looseleaf.lab.variants import VariantKind
from looseleaf.metrics import UNDEFINED, MetricValue, Ratio
from looseleaf.scoring.thresholds import binarise

__all__ = ["Carriers", "RowCarriers", "carriers", "row_carriers"]


class RowCarriers(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of one memory.

    Attributes:
        trajectory_id: whose memory.
        findings: how many there are.
        answers: s_mem of the whole memory.
        necessary: 1-based numbers of the findings without which a memory that answers does not; `None` where not all
            parts were read and scored.
        sufficient: 1-based numbers of the findings that answer alone; `None` likewise.
    """

    trajectory_id: str
    findings: int
    answers: bool | None
    necessary: tuple[int, ...] | None
    sufficient: tuple[int, ...] | None


class Carriers(msgspec.Struct, frozen=True, kw_only=True):
    """Over the answerable rows with at least one finding.

    Attributes:
        reading_id: ledger of the readings.
        one_suffices: of the memories that answer, the share where a single finding answers alone.
        one_needed: of the memories that answer, the share that stop answering without some single finding.
        redundant: of the memories that answer, the share that still answer without any one finding.
        drowned: of the memories that do not answer, the share where some single finding would.
        gold_page: of the sufficient findings, the share that cites a gold page, where the set annotates them.
        places: how many sufficient findings are the only, first, last or a middle one.
    """

    reading_id: str
    one_suffices: MetricValue
    one_needed: MetricValue
    redundant: MetricValue
    drowned: MetricValue
    gold_page: MetricValue
    places: dict[str, int]


def carriers(scored: ScoredRun, reading_id: str, threshold: str) -> Carriers | None:
    """Summary over the run; `None` where the reader did not read parts of memories."""
    names = set(scored.variants(reading_id))
    if not any(name.startswith((VariantKind.LEAVE_ONE_OUT, VariantKind.KEEP_ONE_IN)) for name in names):
        return None
    found = [
        (item, row)
        for item in scored.items
        if not item.question.unanswerable
        and (row := row_carriers(scored, reading_id, item, threshold)).findings
    ]
    right = [(item, row) for item, row in found if row.answers]
    wrong = [(item, row) for item, row in found if row.answers is False]
    alone = [(item, row.sufficient) for item, row in right]
    needed = [(item, row.necessary) for item, row in right]
    return Carriers(
        reading_id=reading_id,
        one_suffices=_share("one finding suffices", alone),
        one_needed=_share("some finding is needed", needed),
        redundant=_share("no single finding is needed", needed, empty=True),
        drowned=_share(
            "a finding would answer, the memory does not", [(item, row.sufficient) for item, row in wrong]
        ),
        gold_page=measured("sufficient findings that cite a gold page", _cites_gold(found)),
        places=dict(
            Counter(_place(number, row.findings) for _, row in found for number in row.sufficient or ())
        ),
    )


def _share(
    name: str, rows: Iterable[tuple[Item, tuple[int, ...] | None]], *, empty: bool = False
) -> MetricValue:
    """Share of rows that have such a finding, or with `empty` that have none."""
    return measured(
        name,
        [
            (UNDEFINED if numbers is None else Ratio(float(bool(numbers) is not empty)), item.question.doc_id)
            for item, numbers in rows
        ],
    )


def row_carriers(scored: ScoredRun, reading_id: str, item: Item, threshold: str) -> RowCarriers:
    """Which findings of one memory carry the answer."""
    memory = () if item.noted is None else item.noted.memory
    answers = _correct(scored, reading_id, item, VariantKind.OWN, threshold)
    without, alone = (
        [
            _correct(scored, reading_id, item, f"{kind}:{number}", threshold)
            for number in range(1, len(memory) + 1)
        ]
        for kind in (VariantKind.LEAVE_ONE_OUT, VariantKind.KEEP_ONE_IN)
    )
    return RowCarriers(
        trajectory_id=item.key,
        findings=len(memory),
        answers=answers,
        necessary=None if None in without else _numbers(bool(answers) and not right for right in without),
        sufficient=None if None in alone else _numbers(map(bool, alone)),
    )


def _numbers(flags: Iterable[bool]) -> tuple[int, ...]:
    return tuple(number for number, flag in enumerate(flags, start=1) if flag)


def _correct(scored: ScoredRun, reading_id: str, item: Item, variant: str, threshold: str) -> bool | None:
    score = scored.memory_score(item, reading_id, variant)
    return None if score is None or score.value is None else binarise(score.value, threshold)


def _cites_gold(found: Iterable[tuple[Item, RowCarriers]]) -> Iterator[tuple[Ratio, str]]:
    for item, row in found:
        gold = item.question.evidence_pages
        if gold and item.noted is not None:
            for number in row.sufficient or ():
                page = item.noted.memory[number - 1].source_page
                yield Ratio(float(page in gold)), item.question.doc_id


def _place(number: int, findings: int) -> str:
    if findings == 1:
        return "only"
    return {1: "first", findings: "last"}.get(number, "middle")
