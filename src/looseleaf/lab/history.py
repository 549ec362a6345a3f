"""The history of one memory: what it answered after each finding, and what had been spent by then.

M_t is the memory after turn t. Before the first finding it is empty. The memories are prefixes of the stored one,
because memory is append-only, so nothing here calls the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from looseleaf.lab.records import Item, ScoredRun
from looseleaf.lab.variants import VariantKind
from looseleaf.memory import Finding
from looseleaf.scoring.thresholds import binarise
from looseleaf.trajectory import Step, Trajectory

__all__ = ["RowHistory", "row_history", "turns_written"]


def turns_written(trajectory: Trajectory) -> tuple[int, ...]:
    """The turn that wrote each finding of the terminal memory.

    Findings are matched in order with the notes of the steps. Where that fails, as for imported memories without
    steps, the number of the finding stands in for its turn.
    """
    notes = [(step.turn, note) for step in trajectory.steps if step.turn > 0 for note in _notes(step)]
    turns: list[int] = []
    position = 0
    for finding in trajectory.memory:
        while position < len(notes) and notes[position][1] != _key(finding):
            position += 1
        if position == len(notes):
            return tuple(range(1, len(trajectory.memory) + 1))
        turns.append(notes[position][0])
        position += 1
    return tuple(turns)


Note = tuple[str, str]


def _key(finding: Finding) -> Note:
    return finding.text, str(finding.source_page)


def _notes(step: Step) -> list[Note]:
    """Text and page of what a step noted, riding notes first, as the environment writes them."""
    riding = [(note.text.strip(), str(note.source_page)) for note in step.notes]
    if step.action is None or step.action.name != "note" or step.invalid is not None:
        return riding
    arguments = step.action.arguments
    return [*riding, (str(arguments.get("text", "")).strip(), str(arguments.get("source_page", "")).strip())]


class Spent(NamedTuple):
    """What was spent up to and with one turn."""

    turn: int
    pages: int
    tokens: int


def _spending(trajectory: Trajectory) -> list[Spent]:
    """Spending after each turn; the opening counts as turn 0."""
    seen: set[int] = set()
    found, tokens = [], 0
    for step in trajectory.steps:
        seen |= set(step.observation.shown)
        tokens += step.usage.prompt_tokens + step.usage.completion_tokens
        found.append(Spent(step.turn, len(seen), tokens))
    return found


class RowHistory(msgspec.Struct, frozen=True, kw_only=True):
    """How well the memory of one row answered over time.

    Attributes:
        trajectory_id: whose memory.
        doc_id: its document.
        values: graded scores of the memory with 0, 1, … findings; `None` = unscored.
        turns: turn that wrote the 1st, 2nd, … finding.
        pages: unique pages shown up to that turn.
        tokens: tokens spent by the policy up to that turn.
        last: turns, unique pages and tokens of the whole trajectory.
    """

    trajectory_id: str
    doc_id: str
    values: tuple[float | None, ...]
    turns: tuple[int, ...]
    pages: tuple[int, ...]
    tokens: tuple[int, ...]
    last: tuple[int, int, int]

    @property
    def complete(self) -> bool:
        """Whether every prefix is scored."""
        return None not in self.values[1:]

    def value_at(self, places: Sequence[int], x: float) -> float:
        """Score of the memory when at most `x` of something was spent; `places` is that at each finding."""
        held = sum(place <= x for place in places)
        return self.values[held] or 0.0

    def first_answerable(self, threshold: str) -> int | None:
        """Turn after which the memory first answers, or `None`."""
        for value, turn in zip(self.values[1:], self.turns, strict=True):
            if value is not None and binarise(value, threshold):
                return turn
        return None

    def regrets(self, threshold: str) -> bool | None:
        """Whether some prefix answers and the terminal memory does not; `None` where that is unknown."""
        if not self.complete:
            return None
        if len(self.values) == 1:
            return False
        terminal = self.values[-1]
        answers = terminal is not None and binarise(terminal, threshold)
        return not answers and self.first_answerable(threshold) is not None


def row_history(scored: ScoredRun, reading_id: str, item: Item) -> RowHistory | None:
    """The history of one row; `None` where nothing ran, or where notes and pages were not both recorded."""
    trajectory = item.noted
    if trajectory is None or "pages" in trajectory.undefined:
        return None
    turns = turns_written(trajectory)
    spending = _spending(trajectory)
    at = [_spent_at(spending, turn) for turn in turns]
    last = spending[-1] if spending else Spent(0, 0, 0)
    return RowHistory(
        trajectory_id=item.key,
        doc_id=item.question.doc_id,
        values=tuple(_values(scored, reading_id, item, len(trajectory.memory))),
        turns=turns,
        pages=tuple(spent.pages for spent in at),
        tokens=tuple(spent.tokens for spent in at),
        last=(max([last.turn, *turns]), last.pages, last.tokens),
    )


def _spent_at(spending: Sequence[Spent], turn: int) -> Spent:
    reached = [spent for spent in spending if spent.turn <= turn]
    return reached[-1] if reached else Spent(turn, 0, 0)


def _values(scored: ScoredRun, reading_id: str, item: Item, findings: int) -> list[float | None]:
    names = [str(VariantKind.EMPTY), *(f"{VariantKind.PREFIX}:{n}" for n in range(1, findings + 1))]
    found = (scored.memory_score(item, reading_id, name) for name in names)
    return [None if score is None else score.value for score in found]
