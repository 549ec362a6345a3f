"""`ReplayView`: a stored trajectory as a policy sees it before its last turn, with another memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from looseleaf.document import Document
from looseleaf.environment import LOOKS, NOTED, ShownPages
from looseleaf.memory import WorkingMemory
from looseleaf.protocol import Protocol
from looseleaf.roles import Action, Observation, PolicyTurn
from looseleaf.trajectory import Step, Trajectory

__all__ = ["ReplayView"]

Turn = tuple[PolicyTurn, Observation]


class ReplayView(ShownPages):
    """What the policy may look at: the looks of the trajectory with their pages, then notes of the given memory.

    Notes, thoughts and the raw text of the stored turns are left out, since they would tell the own memory again; so
    are refused turns. One turn is left.

    Args:
        trajectory: what happened.
        document: the document that was read.
        protocol: the rules of the run.
        memory: the memory that takes the place of the own one.
    """

    def __init__(
        self, trajectory: Trajectory, document: Document, protocol: Protocol, memory: WorkingMemory
    ) -> None:
        self._trajectory = trajectory
        self._memory = memory
        self._history = (*_looks(trajectory.steps), *_notes(memory))
        optional = "optional" if protocol.memory == "mandatory" else protocol.memory  # the notes are given
        left = msgspec.structs.replace(protocol, max_turns=len(self._history) + 1, memory=optional)
        super().__init__(document, left)

    @property
    def question(self) -> str:
        """The question as asked."""
        return self._trajectory.question

    @property
    def turns_left(self) -> int:
        """The answering turn."""
        return 1

    @property
    def opening(self) -> Observation | None:
        """What the trajectory showed before its first turn."""
        return self._trajectory.opening

    @property
    def history(self) -> tuple[Turn, ...]:
        """The looks, then the notes."""
        return self._history

    @property
    def memory(self) -> WorkingMemory:
        """The given memory (a copy)."""
        return WorkingMemory(self._memory.findings)

    @property
    def shown_pages(self) -> tuple[int, ...]:
        """Pages that the trajectory showed."""
        return self._trajectory.shown_pages


def _looks(steps: Iterable[Step]) -> Iterator[Turn]:
    for step in steps:
        action = step.action
        if step.turn > 0 and step.invalid is None and action is not None and action.name in LOOKS:
            yield PolicyTurn(action=action), step.observation


def _notes(memory: WorkingMemory) -> Iterator[Turn]:
    for finding in memory:
        yield PolicyTurn(action=Action.note(finding.text, finding.source_page)), Observation(NOTED)
