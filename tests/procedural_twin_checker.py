"""A checker of twins, written from docs/design/procedural.md: D' changes one evidence value, D° one other value.

Pages are compared as pypdfium2 reads and draws them. The rules:

1. `row`: row i of all three folders asks the same question, and the records agree with the rows.
2. `answer`: the answer of D' is another one and follows from the changed value; the answer of D° is the same.
3. `value`: the value that D' changes is evidence, or what a look-up goes by; the one of D° is neither, nor named by the
   program.
4. `words`: the changed value is replaced by the new one, once for each place, and nothing else in any page differs.
5. `drawing`: pages without a place of the value look the same, pixel by pixel (optional, slower).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from procedural_checker import Book, Fault, Made, calculate, question_of, read_made, unanswerable

__all__ = ["TwinReport", "check_twins"]

KINDS = ("changed", "control")
SCALE = 0.5


@dataclass
class TwinReport:
    """What was looked at, and what does not hold."""

    questions: int = 0
    without_twins: int = 0
    on_evidence_pages: int = 0
    faults: list[Fault] = field(default_factory=list)


def check_twins(folder: Path, *, drawings: bool = False) -> TwinReport:
    """Check both twins of every question of a folder."""
    made, report = read_made(folder), TwinReport()
    twins = {kind: _twin_folder(made, folder / "twins" / kind) for kind in KINDS}
    for name in made.documents:
        book = made.book(name)
        for question in made.truth["questions"]:
            if question["doc_id"] == name:
                _check(made, twins, question, book, report, drawings)
        book.close()
    return report


def _twin_folder(made: Made, folder: Path) -> Made:
    rows = json.loads((folder / "samples.json").read_text(encoding="utf-8"))
    return Made(folder, made.truth, rows)


def _check(
    made: Made,
    twins: dict[str, Made],
    question: dict[str, Any],
    book: Book,
    report: TwinReport,
    drawings: bool,
) -> None:
    report.questions += 1
    if question["changed"] is None or question["control"] is None:
        report.without_twins += 1
        return
    control_pages = {place["page"] for place in question["control"]["places"]}
    report.on_evidence_pages += bool(control_pages & set(question["evidence_pages"]))
    for kind in KINDS:
        twin = question[kind]
        where = f"{question['index']} {question['template']} {kind} {twin['slot_id']}"
        other = twins[kind].book(twin["doc_id"])
        report.faults += _row_faults(made, twins[kind], question, twin, where)
        report.faults += _value_faults(question, kind, where)
        report.faults += _answer_faults(question, kind, where)
        report.faults += _word_faults(book, other, twin, where)
        if other.sha256 != twin["sha256"]:
            report.faults.append(Fault("row", where, "the hash is another"))
        if drawings:
            report.faults += _drawing_faults(book, other, twin, where)
        other.close()


def _row_faults(
    made: Made, twins: Made, question: dict[str, Any], twin: dict[str, Any], where: str
) -> Iterator[Fault]:
    row = twins.rows[question["index"]]
    if len(twins.rows) != len(made.rows) or row["question"] != question_of(made, question):
        yield Fault("row", where, "the rows are not aligned")
    for key in ("doc_id", "answer", "answer_format"):
        if row[key] != twin[key]:
            yield Fault("row", where, f"{key} differs")
    if (row["evidence_pages"] == "[]") != (twin["answer_format"] == "None"):
        yield Fault("row", where, f"evidence pages {row['evidence_pages']} with {twin['answer']!r}")


def _value_faults(question: dict[str, Any], kind: str, where: str) -> Iterator[Fault]:
    name = question[kind]["slot_id"]
    slot = question["slots"].get(name)
    if kind == "changed":
        # Only the name that an unanswerable question nearly asks for is not evidence before the change.
        if slot is None or not (slot["evidence"] or unanswerable(question)):
            yield Fault("value", where, "D' changes what is not evidence")
    elif name in _named(question["program"]) or (slot is not None and slot["evidence"]):
        yield Fault("value", where, "D° changes what the program names")


def _named(program: dict[str, Any]) -> set[str]:
    named = {*program.get("operands", []), *program.get("labels", [])}
    for candidate in program.get("candidates", []):
        named |= {*candidate["keys"], candidate["value"]}
    return named


def _answer_faults(question: dict[str, Any], kind: str, where: str) -> Iterator[Fault]:
    twin = question[kind]
    if kind == "control":
        if (twin["answer"], twin["answer_format"]) != (question["answer"], question["answer_format"]):
            yield Fault("answer", where, f"D° answers {twin['answer']!r}, not {question['answer']!r}")
        return
    if twin["answer"] == question["answer"]:
        yield Fault("answer", where, f"D' answers {twin['answer']!r} too")
    result = calculate(question["program"], _with_change(question, twin))
    text = str(result) if isinstance(result, list) else result
    if text != twin["answer"]:
        yield Fault("answer", where, f"computed {text!r}, D' says {twin['answer']!r}")


def _with_change(question: dict[str, Any], twin: dict[str, Any]) -> dict[str, Any]:
    slot = question["slots"][twin["slot_id"]]
    changed = {**slot, "shown": twin["after"], "slot": {**slot["slot"], "value": _value(slot, twin["after"])}}
    return {**question["slots"], twin["slot_id"]: changed}


def _value(slot: dict[str, Any], after: str) -> Any:
    """The new value of a category as the program compares it; the printed form of any other is enough."""
    return after or slot["slot"]["value"]


def _word_faults(book: Book, other: Book, twin: dict[str, Any], where: str) -> Iterator[Fault]:
    if len(book.texts) != len(other.texts):
        yield Fault("words", where, "another number of pages")
        return
    before, after = twin["before"], twin["after"]
    printed = Counter(place["page"] for place in twin["places"] if place["text_layer"])
    for page, (old, new) in enumerate(zip(book.texts, other.texts, strict=True), 1):
        if not _replaced(old, new, before, after, printed[page]):
            yield Fault("words", where, f"page {page} differs in more than {before!r} -> {after!r}")


def _replaced(old: str, new: str, before: str, after: str, times: int) -> bool:
    """Whether `new` is `old` with so many of the places of one value replaced."""
    if times == 0:
        return old == new
    start = old.find(before)
    while start >= 0 and new.startswith(old[:start]):
        rest = old[start + len(before) :]
        if new.startswith(after, start) and _replaced(
            rest, new[start + len(after) :], before, after, times - 1
        ):
            return True
        start = old.find(before, start + 1)
    return False


def _drawing_faults(book: Book, other: Book, twin: dict[str, Any], where: str) -> Iterator[Fault]:
    places = {place["page"] for place in twin["places"]}
    for page in range(1, len(book.texts) + 1):
        same = _drawn(book, page) == _drawn(other, page)
        if same == (page in places):
            yield Fault("drawing", where, f"page {page} {'is the same' if same else 'looks different'}")


def _drawn(book: Book, page: int) -> bytes:
    return bytes(book.pdf[page - 1].render(scale=SCALE, grayscale=True).to_numpy().tobytes())
