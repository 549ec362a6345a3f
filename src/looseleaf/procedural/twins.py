"""Counterfactual twins: the same document with one value changed.

D′ (`changed`) changes one value that the answer follows from, so that the answer becomes another; D° (`control`)
changes one value that the answer does not depend on. A memory that carries the evidence follows D′ and ignores D°.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from looseleaf.procedural.choose import Chosen, contains, plain
from looseleaf.procedural.dice import dice
from looseleaf.procedural.document import Document, lay_out
from looseleaf.procedural.draft import CHART, FIGURE, LAYOUT, TABLE, TEXT, Source
from looseleaf.procedural.page import Sheet
from looseleaf.procedural.programs import Answer, Program, evaluate
from looseleaf.procedural.slots import Mint, Slot, Values
from looseleaf.procedural.splits import belongs

__all__ = ["Twin", "TwinKind", "twins_of"]

TwinKind = Literal["changed", "control"]
TRIES = 12
FLIP_TRIES = 400
OVERTAKE = (1.02, 1.12)
"""By which factor a row that becomes the largest passes the former one."""
SOURCES: dict[str, Source] = {
    "table": TABLE,
    "chart": CHART,
    "figure": FIGURE,
    "layout": LAYOUT,
    "fact": TEXT,
}


class Twin(NamedTuple):
    """One twin: the changed slot before and after, the pages, the answer, its evidence pages and sources."""

    kind: TwinKind
    before: Slot
    after: Slot
    values: Values
    sheets: list[Sheet]
    answer: Answer
    pages: tuple[int, ...]
    sources: tuple[Source, ...]


def twins_of(document: Document, chosen: Chosen, seed: str) -> tuple[Twin, Twin] | None:
    """D′ and D° of a question, or none where no single value changes the answer and keeps every page."""
    rng = dice(seed)
    mint = Mint(rng, document.author.split, document.author.mint.used)
    changed = _first(document, chosen, "changed", _changes(document, chosen, mint))
    if changed is None:
        return None
    control = _first(document, chosen, "control", _controls(document, chosen, mint, changed.before))
    return None if control is None else (changed, control)


def _first(document: Document, chosen: Chosen, kind: TwinKind, proposals: Iterator[Slot]) -> Twin | None:
    """The first proposal that gives the wanted answer and leaves every slot on its page."""
    values = document.author.values
    question = plain(chosen.draft.text)
    for _, after in zip(range(TRIES), proposals, strict=False):
        twin_values = {**values, after.slot_id: after}
        answer = evaluate(chosen.draft.program, twin_values)
        if (answer.items == chosen.answer.items) is (kind == "changed"):
            continue
        if chosen.draft.program.op != "exceeds" and any(contains(question, plain(i)) for i in answer.items):
            continue
        sheets = lay_out(document.author, twin_values)
        places = slot_pages(sheets)
        if places == slot_pages(document.sheets):
            return _twin(chosen, kind, values[after.slot_id], after, twin_values, sheets, answer)
    return None


def _twin(
    chosen: Chosen,
    kind: TwinKind,
    before: Slot,
    after: Slot,
    values: Values,
    sheets: list[Sheet],
    answer: Answer,
) -> Twin:
    pages, sources = chosen.pages, chosen.draft.sources
    if kind == "changed" and not pages:  # an unanswerable question became answerable
        value = chosen.draft.program.candidates[0].value
        pages = tuple(sorted(slot_pages(sheets)[value]))
        sources = (SOURCES[chosen.draft.template.partition(".")[0]],)
    return Twin(kind, before, after, values, sheets, answer, pages, sources)


def slot_pages(sheets: Sequence[Sheet]) -> dict[str, set[int]]:
    """Physical pages, from 1, on which each slot is to be seen."""
    places: dict[str, set[int]] = {}
    for number, sheet in enumerate(sheets, start=1):
        for mark in sheet.marks:
            places.setdefault(mark.slot_id, set()).add(number)
    return places


# proposals


def _changes(document: Document, chosen: Chosen, mint: Mint) -> Iterator[Slot]:
    """Evidence slots with other values, of which each is likely to change the answer."""
    values, program = document.author.values, chosen.draft.program
    match program.op:
        case "find" if chosen.answer.answer_format == "None":
            yield from _completed(program, values)
        case "find":
            while True:
                yield mint.fresh(values[program.candidates[0].value])
        case "list" | "difference" | "total" | "mean" | "change":
            while True:
                yield mint.fresh(values[mint.rng.choice(program.operands)])
        case "largest" | "smallest" | "top":
            yield from _overtaking(program, values, mint)
        case "count" | "where" | "exceeds":
            pool = [slot for slot in program.operands if slot in chosen.draft.evidence]
            while True:
                yield _flipped(program, values[mint.rng.choice(pool)], mint)


def _completed(program: Program, values: Values) -> Iterator[Slot]:
    """The one key that does not read as the question wants it, made to do so."""
    for candidate in program.candidates:
        odd = [i for i, key in enumerate(candidate.keys) if values[key].shown != program.wanted[i]]
        if len(odd) == 1:
            yield msgspec.structs.replace(values[candidate.keys[odd[0]]], value=program.wanted[odd[0]])


def _overtaking(program: Program, values: Values, mint: Mint) -> Iterator[Slot]:
    """A row that passes the first one."""
    slots = sorted((values[slot] for slot in program.operands), key=lambda slot: slot.units)
    falling = program.op != "smallest"
    first, others = (slots[-1], slots[:-1]) if falling else (slots[0], slots[1:])
    while True:
        slot, factor = mint.rng.choice(others), mint.rng.uniform(*OVERTAKE)
        units = first.units * factor if falling else first.units / factor
        steps = int(units // slot.step) + (1 if falling else 0)
        value = steps * slot.step
        if falling and first.step > 1:
            value = first.units + slot.step
        if 0 < value != first.units and (slot.step > 1 or belongs(value, mint.split)):
            yield msgspec.structs.replace(slot, value=value)


def _flipped(program: Program, slot: Slot, mint: Mint) -> Slot:
    """The slot on the other side of the threshold."""

    def holds(candidate: Slot) -> bool:
        if program.relation == "equal":
            return candidate.value == program.threshold
        above = candidate.units > int(program.threshold)
        return above if program.relation == "above" else candidate.units < int(program.threshold)

    fresh = slot
    for _ in range(FLIP_TRIES):
        fresh = mint.fresh(slot)
        if holds(fresh) != holds(slot):
            break
    return fresh


def _controls(document: Document, chosen: Chosen, mint: Mint, changed: Slot) -> Iterator[Slot]:
    """Figures, dates and codes that the answer does not depend on: those on evidence pages first."""
    values, used = document.author.values, set(chosen.draft.program.slots) | {changed.slot_id}
    places = slot_pages(document.sheets)
    free = [
        slot
        for slot in places
        if slot not in used
        and values[slot].kind in ("number", "percent", "date", "code")
        and not _margin(document, slot)
    ]
    near = [slot for slot in free if places[slot] & set(chosen.pages)]
    if mint.rng.random() < 0.5:
        near = []
    for pool in (near, free):
        for slot in mint.rng.sample(pool, min(len(pool), TRIES // 2)):
            yield mint.fresh(values[slot])


def _margin(document: Document, slot: str) -> bool:
    return slot in document.author.margin_codes
