"""The controlled intervention: swap the terminal memory, keep answerer, reader and judge (AWM, Tables 3, 8 and 9).

Final answers are given anew under each memory. The paper does not say whether its answer generator sees the pages;
here `replay` lets the policy answer with the pages of its stored trajectory before it, and `memory-only` lets the
policy's model answer from the memory alone. Both are named wherever their numbers stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from looseleaf.lab.measure import measured
from looseleaf.lab.records import INTERVENTION, ScoredRun
from looseleaf.lab.variants import Variant, VariantKind
from looseleaf.metrics import MetricValue, Ratio
from looseleaf.metrics.memory import OutcomeCell
from looseleaf.scoring.thresholds import binarise
from looseleaf.statistics import Interval, independent_interval

__all__ = ["Intervention", "Outcome", "Rate", "Transition", "intervene", "intervention"]

KINDS = (VariantKind.EMPTY, VariantKind.OWN, VariantKind.IMPROVED)
"""Memories that are swapped in, in the paper's order."""
CELLS = (OutcomeCell.SUPPORTED, OutcomeCell.MISSING, OutcomeCell.ANSWERING_ERROR, OutcomeCell.UNRESOLVED)
"""Order of Table 9."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A binary rate as papers print it, with the clustered interval beside it.

    Attributes:
        hits: rows that are correct.
        n: rows.
        clustered: the rate with its document-clustered interval.
        independent: plain Wilson interval, which assumes independent questions.
    """

    hits: int
    n: int
    clustered: MetricValue
    independent: Interval


class Outcome(NamedTuple):
    """One row under one memory: is the final answer correct, and does the memory alone answer."""

    final: bool | None
    memory: bool | None


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """One original outcome cell and what the memory-only answers of its rows become.

    Attributes:
        cell: original (s_ans, s_mem).
        n: rows in it.
        before: rows that the own memory answers.
        after: rows that the other memory answers.
    """

    cell: str
    n: int
    before: int
    after: int


class Intervention(msgspec.Struct, frozen=True, kw_only=True):
    """Rates under each memory, on the answerable rows that are scored under all of them.

    Attributes:
        answerer: where the final answers come from; empty where only the reader read the memories.
        reading_id: ledger of the reader.
        n_rows: answerable rows of the run.
        n: of those, the rows that are scored under every memory.
        final: rates of the final answers by memory; empty without an answerer.
        memory: rates of the reader's answers by memory.
        transitions: own to another memory, by original cell, for each memory but the own; the last line is the total.
        same_final: rows whose final answer under the own memory is as right or wrong as the stored one.
    """

    answerer: str
    reading_id: str
    n_rows: int
    n: int
    final: dict[str, Rate]
    memory: dict[str, Rate]
    transitions: dict[str, list[Transition]]
    same_final: int | None


def intervention(
    scored: ScoredRun, reading_id: str, threshold: str, answer_id: str | None = None, answerer: str = ""
) -> Intervention | None:
    """The intervention of a stored run; `None` where fewer than two memories were read.

    Args:
        scored: the run.
        reading_id: the reader.
        threshold: when a graded score counts as correct.
        answer_id: ledger of the final answers that were given anew, if any.
        answerer: its printable name.
    """
    names = [name for name in scored.variants(reading_id) if Variant.parse(name).kind in KINDS]
    names.sort(key=lambda name: KINDS.index(Variant.parse(name).kind))
    if VariantKind.OWN not in names or len(names) < 2:
        return None
    rows = [item for item in scored.items if not item.question.unanswerable]
    outcomes: dict[str, list[Outcome]] = {name: [] for name in names}
    stored, docs = [], []
    for item in rows:
        row = scored.answers.get(item.key)
        before = None if row is None or row.value is None else binarise(row.value, threshold)
        stored.append(before)
        docs.append(item.question.doc_id)
        for name in names:
            memory = scored.memory_score(item, reading_id, name)
            answer = scored.scores(INTERVENTION, answer_id, name).get(item.key)
            outcomes[name].append(
                Outcome(
                    None if answer is None or answer.value is None else binarise(answer.value, threshold),
                    None if memory is None or memory.value is None else binarise(memory.value, threshold),
                )
            )
    return intervene(outcomes, stored, docs, reading_id=reading_id, answerer=answerer if answer_id else "")


def intervene(
    outcomes: dict[str, list[Outcome]],
    stored: Sequence[bool | None],
    docs: Sequence[str],
    *,
    reading_id: str = "",
    answerer: str = "",
) -> Intervention:
    """The tables from the outcomes of every row.

    Args:
        outcomes: by memory, one a row; `own` must be among them.
        stored: whether the stored final answer of each row is correct; it makes the original cell.
        docs: document of each row.
        reading_id: the reader, for the record.
        answerer: where the final answers come from; empty where there are none.
    """
    complete = [
        index
        for index, before in enumerate(stored)
        if before is not None
        and all(
            rows[index].memory is not None and (not answerer or rows[index].final is not None)
            for rows in outcomes.values()
        )
    ]
    own = outcomes[VariantKind.OWN]
    finals = {name: [bool(rows[i].final) for i in complete] for name, rows in outcomes.items()}
    memories = {name: [bool(rows[i].memory) for i in complete] for name, rows in outcomes.items()}
    kept = [docs[index] for index in complete]
    cells = [OutcomeCell(f"{int(bool(stored[i]))}{int(bool(own[i].memory))}") for i in complete]
    return Intervention(
        answerer=answerer,
        reading_id=reading_id,
        n_rows=len(stored),
        n=len(complete),
        final={name: _rate(name, hits, kept) for name, hits in finals.items()} if answerer else {},
        memory={name: _rate(name, hits, kept) for name, hits in memories.items()},
        transitions={
            name: list(_transitions(cells, memories[VariantKind.OWN], hits))
            for name, hits in memories.items()
            if name != VariantKind.OWN
        },
        same_final=sum(bool(stored[i]) == own[i].final for i in complete) if answerer else None,
    )


def _rate(name: str, hits: Sequence[bool], docs: Sequence[str]) -> Rate:
    outcomes = [(Ratio(float(hit)), doc) for hit, doc in zip(hits, docs, strict=True)]
    return Rate(
        hits=sum(hits),
        n=len(hits),
        clustered=measured(name, outcomes),
        independent=independent_interval(sum(hits), len(hits)),
    )


def _transitions(
    cells: Sequence[OutcomeCell], before: Sequence[bool], after: Sequence[bool]
) -> Iterable[Transition]:
    for cell in CELLS:
        rows = [index for index, found in enumerate(cells) if found is cell]
        yield Transition(
            cell=str(cell),
            n=len(rows),
            before=sum(before[i] for i in rows),
            after=sum(after[i] for i in rows),
        )
    yield Transition(cell="total", n=len(cells), before=sum(before), after=sum(after))
