"""`ReplayView`: a stored trajectory as a policy sees it before its last turn, with another memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from looseleaf.document import Document, PageImage
from looseleaf.environment import LOOKS, NOTED
from looseleaf.memory import WorkingMemory
from looseleaf.protocol import Protocol
from looseleaf.roles import Action, Observation, PolicyTurn
from looseleaf.trajectory import Step, Trajectory

__all__ = ["ReplayView"]

Turn = tuple[PolicyTurn, Observation]


class ReplayView:
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
        self._document = document
        self._memory = memory
        self._history = (*_looks(trajectory.steps), *_notes(memory))
        optional = "optional" if protocol.memory == "mandatory" else protocol.memory  # the notes are given
        self._protocol = msgspec.structs.replace(protocol, max_turns=len(self._history) + 1, memory=optional)

    @property
    def question(self) -> str:
        """The question as asked."""
        return self._trajectory.question

    @property
    def page_count(self) -> int:
        """Number of pages of the document."""
        return self._document.page_count

    @property
    def protocol(self) -> Protocol:
        """The rules, with a budget that leaves one turn."""
        return self._protocol

    @property
    def turns_left(self) -> int:
        """The answering turn."""
        return 1

    @property
    def opening(self) -> Observation | None:
        """What the trajectory showed before its first turn."""
        return next((step.observation for step in self._trajectory.steps if step.turn == 0), None)

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

    def page_text(self, page: int) -> str:
        """Text of a shown page.

        Raises:
            LookupError: the page was not shown.
        """
        return self._document.text(self._seen(page))

    def page_label(self, page: int) -> str:
        """Printed label of a shown page.

        Raises:
            LookupError: the page was not shown.
        """
        return self._document.label(self._seen(page))

    def page_image(self, page: int) -> PageImage:
        """Image of a shown page.

        Raises:
            LookupError: the page was not shown.
        """
        return self._document.image(self._seen(page), max_pixels=self._protocol.max_pixels)

    def _seen(self, page: int) -> int:
        if page not in self.shown_pages:
            raise LookupError(f"page {page} was not shown")
        return page


def _looks(steps: Iterable[Step]) -> Iterator[Turn]:
    for step in steps:
        action = step.action
        if step.turn > 0 and step.invalid is None and action is not None and action.name in LOOKS:
            yield PolicyTurn(action=action), step.observation


def _notes(memory: WorkingMemory) -> Iterator[Turn]:
    for finding in memory:
        yield PolicyTurn(action=Action.note(finding.text, finding.source_page)), Observation(NOTED)
