"""Memory variants: the memories that a reader answers from in place of the agent's own.

Every variant has a printable name, `kind` or `kind:argument`, that stands in the rows of readings and scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from looseleaf.errors import ConfigError
from looseleaf.lab.echo import answer_items, echo_spans
from looseleaf.memory import Finding, WorkingMemory
from looseleaf.question import Question
from looseleaf.trajectory import Trajectory

__all__ = ["Material", "Variant", "VariantKind", "kinds_named", "memories_of", "without_answer"]


class VariantKind(StrEnum):
    """Which memory the reader gets."""

    OWN = "own"
    """The agent's terminal memory."""
    EMPTY = "empty"
    """No findings."""
    QUESTION_ONLY = "question-only"
    """No findings, and the reader is asked for what it knows already."""
    GOLD_TEXT = "gold-text"
    """Text layer of the gold pages, one entry a page: a reference, not a memory. Charts have none."""
    IMPROVED = "improved"
    """Findings that a stronger model wrote from the gold pages."""
    ANSWER_REMOVED = "answer-removed"
    """The own memory without the gold answer string."""
    PREDICTION_REMOVED = "prediction-removed"
    """The own memory without the string of the agent's own final answer."""
    SHUFFLED = "shuffled"
    """The memory of another question of the same document and answer format."""
    LEAVE_ONE_OUT = "leave-one-out"
    """The own memory without one finding."""
    KEEP_ONE_IN = "keep-one-in"
    """One finding of the own memory."""
    PREFIX = "prefix"
    """The first findings of the own memory."""
    BUDGET = "budget"
    """The first findings of the own memory that fit a number of words."""


class Variant(NamedTuple):
    """One variant: its kind, and the number of a finding, a budget in words, or a ledger id."""

    kind: VariantKind
    argument: str = ""

    @property
    def name(self) -> str:
        """As it stands in stored rows."""
        return f"{self.kind}:{self.argument}" if self.argument else str(self.kind)

    @classmethod
    def parse(cls, name: str) -> Variant:
        """Read a stored name.

        Raises:
            ConfigError: there is no such kind.
        """
        kind, _, argument = name.partition(":")
        return cls(kinds_named([kind])[0], argument)


def kinds_named(names: Iterable[str]) -> tuple[VariantKind, ...]:
    """Kinds by their names.

    Raises:
        ConfigError: there is no such kind.
    """
    found = []
    for name in names:
        if name not in set(VariantKind):
            raise ConfigError(f"There is no memory variant {name!r}; use some of {', '.join(VariantKind)}.")
        found.append(VariantKind(name))
    return tuple(found)


class Material(NamedTuple):
    """What variants are made from besides the trajectory.

    Attributes:
        prediction: the agent's short final answer.
        donor: memory of another question for `shuffled`, or `None` where there is none.
        gold_text: text of the gold pages as findings, or `None` where they have none.
        improved: improved memories by the ledger they are in.
        budgets: word budgets.
    """

    prediction: str = ""
    donor: WorkingMemory | None = None
    gold_text: WorkingMemory | None = None
    improved: Mapping[str, WorkingMemory] = {}
    budgets: Sequence[int] = ()


def memories_of(
    kind: VariantKind, question: Question, trajectory: Trajectory, material: Material
) -> Iterator[tuple[Variant, WorkingMemory]]:
    """The variants of one kind; none where the kind is undefined for the question."""
    findings = trajectory.memory
    match kind:
        case VariantKind.OWN:
            yield Variant(kind), WorkingMemory(findings)
        case VariantKind.EMPTY | VariantKind.QUESTION_ONLY:
            yield Variant(kind), WorkingMemory()
        case VariantKind.GOLD_TEXT:
            if material.gold_text is not None:
                yield Variant(kind), material.gold_text
        case VariantKind.IMPROVED:
            for ledger_id, memory in material.improved.items():
                yield Variant(kind, ledger_id), memory
        case VariantKind.ANSWER_REMOVED:
            if items := _gold_items(question):
                yield Variant(kind), without_answer(findings, items)
        case VariantKind.PREDICTION_REMOVED:
            if items := answer_items(material.prediction):
                yield Variant(kind), without_answer(findings, items)
        case VariantKind.SHUFFLED:
            if material.donor is not None:
                yield Variant(kind), material.donor
        case _:
            yield from _parts_of(kind, findings, material)


def _gold_items(question: Question) -> tuple[str, ...]:
    """Every item of every reference answer."""
    items = (item for reference in question.references for item in answer_items(reference))
    return tuple(dict.fromkeys(items))


def _parts_of(
    kind: VariantKind, findings: tuple[Finding, ...], material: Material
) -> Iterator[tuple[Variant, WorkingMemory]]:
    """Variants that hold some of the own findings; findings are numbered from 1."""
    if kind is VariantKind.BUDGET:
        for budget in material.budgets:
            yield Variant(kind, str(budget)), WorkingMemory(within_budget(findings, budget))
        return
    for number in range(1, len(findings) + 1):
        kept = {
            VariantKind.LEAVE_ONE_OUT: findings[: number - 1] + findings[number:],
            VariantKind.KEEP_ONE_IN: findings[number - 1 : number],
            VariantKind.PREFIX: findings[:number],
        }[kind]
        yield Variant(kind, str(number)), WorkingMemory(kept)


def within_budget(findings: Sequence[Finding], words: int) -> tuple[Finding, ...]:
    """The longest run of first findings with at most so many words in all."""
    kept, spent = [], 0
    for finding in findings:
        spent += finding.words
        if spent > words:
            break
        kept.append(finding)
    return tuple(kept)


REMOVED = "…"
"""What stands where an answer was removed."""


def without_answer(findings: Iterable[Finding], items: Sequence[str]) -> WorkingMemory:
    """The findings with every item of an answer taken out: exact, normalised, and equal numbers.

    What says the answer in other words stays; the echo audit counts such memories apart.
    """
    return WorkingMemory(
        msgspec.structs.replace(finding, text=_without(finding.text, items)) for finding in findings
    )


def _without(text: str, items: Sequence[str]) -> str:
    spans = sorted((span for item in items for span in echo_spans(text, item)), reverse=True)
    cut = len(text)
    for start, end in spans:
        if end <= cut:
            text = text[:start] + REMOVED + text[end:]
            cut = start
        elif start < cut:
            text = text[:start] + REMOVED + text[min(end, cut) :].removeprefix(REMOVED)
            cut = start
    return _SPACES.sub(" ", text).strip()


_SPACES = re.compile(r" {2,}")
