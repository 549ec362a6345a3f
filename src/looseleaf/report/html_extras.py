"""What the HTML report shows beyond the tables: navigation, pages, training, spending, and the lab's results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from looseleaf.lab.anytime import Anytime, anytime
from looseleaf.lab.intervention import Intervention, intervention
from looseleaf.lab.ledgers import chosen_ledgers
from looseleaf.lab.records import INTERVENTION, ScoredRun
from looseleaf.lab.robustness import Agreement, agreement
from looseleaf.metrics import MetricTable, Row
from looseleaf.metrics.navigation import page_recall
from looseleaf.metrics.stored import StoredRun
from looseleaf.metrics.table import evaluate_by
from looseleaf.roles import Usage
from looseleaf.runstore import Ledger, Run

__all__ = ["Extras", "Spending", "extras_of"]

SHOWN = ("Acc", "MemAcc", "P_mmc")
PAGE_BINS = (
    (0, "0 pages"),
    (1, "1 page"),
    (2, "2 pages"),
    (4, "3–4 pages"),
    (8, "5–8 pages"),
    (16, "9–16 pages"),
)
"""Largest number of unique pages of each bin; more fall into the last."""
MORE_PAGES = "17 pages or more"
PAGE_ORDER = [*(label for _, label in PAGE_BINS), MORE_PAGES]
RECALL_ORDER = [
    "all gold pages shown",
    "some gold pages shown",
    "no gold page shown",
    "no gold pages annotated",
]


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What one role took.

    Attributes:
        role: `policy`, or the ledger of a reader or extractor.
        usage: tokens, calls and money.
        seconds: wall time added up over trajectories; `None` where it is not recorded.
        rows: trajectories or rows.
    """

    role: str
    usage: Usage
    seconds: float | None
    rows: int


class Extras(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is there; what a run does not have is empty or `None`."""

    navigation: list[MetricTable]
    pages_opened: list[MetricTable]
    training: list[MetricTable]
    spending: list[Spending]
    anytime: Anytime | None
    intervention: Intervention | None
    agreements: list[Agreement]


def extras_of(run: Run, score_id: str, reading_id: str | None, threshold: str) -> Extras:
    """Compute them from stored records; nobody is asked.

    Args:
        run: a scored run.
        score_id: ledger of the scores.
        reading_id: reader of the memory metrics; the headline reader by default.
        threshold: name of the binarisation.

    Raises:
        RunError: there is no such ledger.
    """
    score_id, reading_id = chosen_ledgers(run, score_id, reading_id)
    stored = StoredRun(run)
    rows = stored.rows(score_id, reading_id, threshold=threshold)
    found = _Ledger.of(run, score_id)
    scored = ScoredRun(run, score_id) if reading_id is not None and found.holds_lab else None
    readers = sorted(name for name in run.sidecars("readings") if name in found.readers)
    return Extras(
        navigation=_sorted(evaluate_by(rows, _recall_label, SHOWN), RECALL_ORDER),
        pages_opened=_sorted(evaluate_by(rows, _pages_label, SHOWN), PAGE_ORDER),
        training=_training(rows),
        spending=_spending(run, rows),
        anytime=None if scored is None or reading_id is None else anytime(scored, reading_id, threshold),
        intervention=None
        if scored is None or reading_id is None
        else intervention(scored, reading_id, threshold, found.answer_id, found.answer_id or ""),
        agreements=_agreements(stored, score_id, readers, threshold),
    )


class _Ledger(NamedTuple):
    """What a ledger of scores holds besides final answers.

    Attributes:
        holds_lab: whether it scores readings of other memories than the own, or answers given anew under them.
        readers: readers whose readings of the own memory it scores.
        answer_id: the last ledger of final answers that were given anew under other memories.
    """

    holds_lab: bool
    readers: frozenset[str | None]
    answer_id: str | None

    @classmethod
    def of(cls, run: Run, score_id: str) -> _Ledger:
        """Look through a ledger, a record at a time."""
        lab, readers, answer_id = False, set(), None
        for row in run.scores(score_id).read():
            if row.target == INTERVENTION:
                lab, answer_id = True, row.reading_id
            elif row.target == "memory":
                lab = lab or row.variant != "own"
                if row.variant == "own" and row.sample_index == 0:
                    readers.add(row.reading_id)
        return cls(lab, frozenset(readers), answer_id)


def _agreements(stored: StoredRun, score_id: str, readers: Sequence[str], threshold: str) -> list[Agreement]:
    """Every pair of readers."""
    rows = {
        reading_id: stored.rows(score_id, reading_id, threshold=threshold)
        for reading_id in (readers if len(readers) > 1 else ())
    }
    return [agreement(a, b, rows[a], rows[b]) for a, b in combinations(rows, 2)]


def _sorted(tables: Iterable[MetricTable], order: Sequence[str]) -> list[MetricTable]:
    return sorted(tables, key=lambda table: order.index(table.label))


def _recall_label(row: Row) -> list[str]:
    if row.ran is None or row.lacks("pages"):
        return []
    if not row.gold_pages:
        return [RECALL_ORDER[3]]
    recall = page_recall(row.shown_pages, row.gold_pages)
    return [RECALL_ORDER[0 if recall == 1 else 1 if recall else 2]]


def _pages_label(row: Row) -> list[str]:
    if row.ran is None or row.lacks("pages"):
        return []
    count = len(row.shown_pages)
    return [next((label for most, label in PAGE_BINS if count <= most), MORE_PAGES)]


def _training(rows: Sequence[Row]) -> list[MetricTable]:
    def step(row: Row) -> list[str]:
        at = row.trajectory.step_of_training if row.trajectory else None
        return [] if at is None else [str(at)]

    return sorted(evaluate_by(rows, step, SHOWN), key=lambda table: int(table.label))


def _spending(run: Run, rows: Sequence[Row]) -> list[Spending]:
    records = [row.trajectory for row in rows if row.trajectory]
    policy = Spending(
        role="policy",
        usage=sum((record.usage for record in records), Usage()),
        seconds=sum(record.seconds for record in records),
        rows=len(records),
    )
    return [
        policy,
        *_ledgers(run, "readings", run.readings),
        *_ledgers(run, "extractions", run.extractions),
        *_ledgers(run, "scores", run.scores),
    ]


def _ledgers(run: Run, kind: str, ledger: Callable[[str], Ledger[Any]]) -> Iterable[Spending]:
    for name in run.sidecars(kind):
        total, rows = Usage(), 0
        for row in ledger(name).read():
            rows += 1
            total = total + row.usage if row.usage != NOTHING else total
        if kind != "scores" or total.calls:
            yield Spending(role=f"{kind}: {name}", usage=total, seconds=None, rows=rows)


NOTHING = Usage()
