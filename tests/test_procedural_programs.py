"""Programs: answers worked out by hand."""

from __future__ import annotations

import pytest

from looseleaf.procedural.programs import Answer, Candidate, Program, evaluate
from looseleaf.procedural.slots import Slot

VALUES = {
    slot.slot_id: slot
    for slot in [
        Slot(slot_id="a", kind="number", value=1500),
        Slot(slot_id="b", kind="number", value=1200),
        Slot(slot_id="c", kind="number", value=1201),
        Slot(slot_id="d", kind="number", value=412, decimals=1),
        Slot(slot_id="e", kind="number", value=375, decimals=1),
        Slot(slot_id="A", kind="name", value="Ada"),
        Slot(slot_id="B", kind="name", value="Bo"),
        Slot(slot_id="C", kind="name", value="Cy"),
        Slot(slot_id="p", kind="percent", value=6425, decimals=2),
        Slot(slot_id="q", kind="percent", value=1450, decimals=2),
        Slot(slot_id="yes", kind="category", value="Open"),
        Slot(slot_id="no", kind="category", value="Closed"),
        Slot(slot_id="year", kind="year", value="2004"),
    ]
}
ABC, LABELS = ("a", "b", "c"), ("A", "B", "C")


@pytest.mark.parametrize(
    ("program", "text", "answer_format"),
    [
        (Program(op="list", operands=("A", "p")), "['Ada', '64.25%']", "List"),
        (Program(op="difference", operands=("b", "a")), "300", "Int"),
        (Program(op="difference", operands=("d", "e")), "3.7", "Float"),
        (Program(op="difference", operands=("p", "q")), "49.75", "Float"),
        (Program(op="total", operands=("a", "b", "c")), "3901", "Int"),
        (Program(op="mean", operands=("b", "c"), places=1), "1200.5", "Float"),
        (Program(op="mean", operands=("d", "e"), places=2), "39.35", "Float"),
        (Program(op="mean", operands=("a", "b", "c"), places=1), "1300.3", "Float"),
        (Program(op="change", operands=("a", "b")), "25.0%", "Float"),
        (Program(op="change", operands=("b", "a")), "20.0%", "Float"),
        (Program(op="change", operands=("d", "e")), "9.9%", "Float"),
        (Program(op="largest", operands=ABC, labels=LABELS), "Ada", "Str"),
        (Program(op="smallest", operands=ABC, labels=LABELS), "Bo", "Str"),
        (Program(op="top", operands=ABC, labels=LABELS, k=2), "['Ada', 'Cy']", "List"),
        (Program(op="count", operands=ABC, relation="above", threshold=1200), "2", "Int"),
        (Program(op="count", operands=ABC, relation="below", threshold=1201), "1", "Int"),
        (Program(op="count", operands=("yes", "no", "yes"), threshold="Open"), "2", "Int"),
        (Program(op="where", operands=ABC, labels=LABELS, relation="below", threshold=1300), "['Bo', 'Cy']", "List"),
        (Program(op="exceeds", operands=("a",), relation="above", threshold=1499), "Yes", "Str"),
        (Program(op="exceeds", operands=("a",), relation="above", threshold=1500), "No", "Str"),
    ],
)  # fmt: skip
def test_operations(program: Program, text: str, answer_format: str) -> None:
    answer = evaluate(program, VALUES)
    assert (answer.text, answer.answer_format) == (text, answer_format)


def test_find_gives_the_first_candidate_whose_keys_read_as_wanted() -> None:
    rows = (Candidate(("A", "year"), "a"), Candidate(("B", "year"), "b"))
    assert evaluate(Program(op="find", candidates=rows, wanted=("Bo", "2004")), VALUES) == Answer(
        "1200", ("1200",), "Int"
    )


def test_find_without_a_match_is_not_answerable() -> None:
    program = Program(op="find", candidates=(Candidate(("A", "year"), "a"),), wanted=("Ada", "2005"))
    assert evaluate(program, VALUES) == Answer("Not answerable", (), "None")


def test_a_program_names_every_slot_that_it_depends_on() -> None:
    find = Program(op="find", candidates=(Candidate(("A", "year"), "a"),), wanted=("Ada", "2004"))
    assert find.slots == ("A", "year", "a")
    assert Program(op="top", operands=ABC, labels=LABELS, k=1).slots == (*ABC, *LABELS)
