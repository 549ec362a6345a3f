"""`Program`: how an answer follows from slots, as data, so that anybody can compute it again."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from looseleaf.procedural.slots import Slot, number_text
from looseleaf.question import NOT_ANSWERABLE

__all__ = ["Answer", "Candidate", "Op", "Program", "evaluate"]

Op = Literal[
    "find", "list", "difference", "total", "mean", "change", "largest", "smallest", "top", "count", "where",
    "exceeds",
]  # fmt: skip
"""What is done with the operands.

* `find`: the value of the first candidate whose keys read `wanted`; without one, not answerable.
* `list`: the operands in their order.
* `difference`, `total`, `mean`, `change`: arithmetic on numbers with the same decimals; `mean` and `change`
  round half up, `change` is |a - b| / b in percent with one decimal place.
* `largest`, `smallest`: the label of the extreme operand; `top`: the labels of the `k` largest, falling.
* `count`, `where`: how many operands, or which labels, satisfy `relation threshold`.
* `exceeds`: Yes or No.
"""
Relation = Literal["above", "below", "equal"]


class Candidate(msgspec.Struct, frozen=True):
    """A value together with the slots that say what it is the value of."""

    keys: tuple[str, ...]
    value: str


class Program(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an answer follows from slots; slot names stand for their values.

    Attributes:
        op: see `Op`.
        operands: slots that are reckoned with.
        labels: for each operand, the slot that names it.
        candidates, wanted: the rows that `find` looks through, and what their keys must read.
        relation, threshold: the condition of `count`, `where` and `exceeds`; numbers in units.
        k: how many labels `top` gives.
        places: decimal places of `mean`.
    """

    op: Op
    operands: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    wanted: tuple[str, ...] = ()
    relation: Relation = "equal"
    threshold: int | str = 0
    k: int = 0
    places: int = 0

    @property
    def slots(self) -> tuple[str, ...]:
        """Every slot that the answer can depend on."""
        rows = [slot for candidate in self.candidates for slot in (*candidate.keys, candidate.value)]
        return (*self.operands, *self.labels, *rows)

    def on(self, operands: tuple[str, ...], labels: tuple[str, ...]) -> Program:
        """The same program on other slots."""
        return msgspec.structs.replace(self, operands=operands, labels=labels if self.labels else ())


class Answer(msgspec.Struct, frozen=True):
    """A gold answer: its text as `samples.json` has it, its items, and its format."""

    text: str
    items: tuple[str, ...]
    answer_format: str


REFUSAL = Answer(NOT_ANSWERABLE, (), "None")


def evaluate(program: Program, values: Mapping[str, Slot]) -> Answer:
    """The exact answer of a program on the values of one document."""
    operands = [values[slot] for slot in program.operands]
    labels = [values[slot].shown for slot in program.labels]
    match program.op:
        case "find":
            return _find(program, values)
        case "list":
            return _list([slot.gold for slot in operands])
        case "difference" | "total" | "mean" | "change":
            return _arithmetic(program, operands)
        case "largest" | "smallest":
            return _one(_ranked(operands, labels, falling=program.op == "largest")[0], "Str")
        case "top":
            return _list(_ranked(operands, labels, falling=True)[: program.k])
        case "count":
            return _one(str(sum(_holds(program, slot) for slot in operands)), "Int")
        case "where":
            return _list(
                [label for slot, label in zip(operands, labels, strict=True) if _holds(program, slot)]
            )
        case "exceeds":
            return _one("Yes" if _holds(program, operands[0]) else "No", "Str")


def _one(text: str, answer_format: str) -> Answer:
    return Answer(text, (text,), answer_format)


def _list(items: list[str]) -> Answer:
    return Answer(repr(items), tuple(items), "List")


def _find(program: Program, values: Mapping[str, Slot]) -> Answer:
    for candidate in program.candidates:
        if tuple(values[key].shown for key in candidate.keys) == program.wanted:
            slot = values[candidate.value]
            return _one(slot.gold, slot.answer_format)
    return REFUSAL


def _holds(program: Program, slot: Slot) -> bool:
    match program.relation:
        case "above":
            return slot.units > int(program.threshold)
        case "below":
            return slot.units < int(program.threshold)
        case "equal":
            return slot.value == program.threshold


def _ranked(operands: list[Slot], labels: list[str], *, falling: bool) -> list[str]:
    order = sorted(range(len(operands)), key=lambda i: operands[i].units, reverse=falling)
    return [labels[i] for i in order]


def _arithmetic(program: Program, operands: list[Slot]) -> Answer:
    units, decimals = [slot.units for slot in operands], operands[0].decimals
    match program.op:
        case "difference":
            result = Fraction(abs(units[0] - units[1]))
        case "total":
            result = Fraction(sum(units))
        case "mean":
            result, decimals = _rescale(Fraction(sum(units), len(units)), decimals, program.places)
        case _:
            result, decimals = _rescale(Fraction(100 * abs(units[0] - units[1]), units[1]), 0, 1)
    text = number_text(round_half_up(result), decimals, grouped=False)
    if program.op == "change":
        return _one(f"{text}%", "Float")
    return _one(text, "Float" if decimals else "Int")


def _rescale(value: Fraction, decimals: int, places: int) -> tuple[Fraction, int]:
    """Units of `10**-decimals` in units of `10**-places`."""
    return value * Fraction(10) ** (places - decimals), places


def round_half_up(value: Fraction) -> int:
    """The nearest integer, halves away from zero for the positive numbers that occur here."""
    return int(value + Fraction(1, 2))
