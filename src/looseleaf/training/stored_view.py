"""`StoredView`: a stored trajectory as its policy saw it, whole, for building its conversation again."""

from __future__ import annotations

from collections.abc import Sequence

from looseleaf.environment import ShownPages
from looseleaf.memory import WorkingMemory
from looseleaf.protocol import Protocol
from looseleaf.retrieval.collection import AnyDocument
from looseleaf.roles import Observation, PolicyTurn
from looseleaf.trajectory import Step, Trajectory

__all__ = ["StoredView"]


class StoredView(ShownPages):
    """What the policy could look at after its last turn.

    Args:
        trajectory: what happened.
        document: the document that was read.
        protocol: the rules that it was run under.
        turns: how many of its turns have happened; all by default.
    """

    def __init__(
        self, trajectory: Trajectory, document: AnyDocument, protocol: Protocol, turns: int | None = None
    ) -> None:
        super().__init__(document, protocol)
        self._trajectory = trajectory
        steps: Sequence[Step] = [step for step in trajectory.steps if step.turn > 0]
        self._steps = steps if turns is None else steps[:turns]

    @property
    def question(self) -> str:
        """The question as asked."""
        return self._trajectory.question

    @property
    def turns_left(self) -> int:
        """Generations that remained."""
        return self._protocol.max_turns - len(self._steps)

    @property
    def opening(self) -> Observation | None:
        """What was shown before the first turn."""
        return self._trajectory.opening

    @property
    def history(self) -> tuple[tuple[PolicyTurn, Observation], ...]:
        """The turns with their observations."""
        return tuple((step.policy_turn, step.observation) for step in self._steps)

    @property
    def memory(self) -> WorkingMemory:
        """The terminal working memory."""
        return self._trajectory.working_memory

    @property
    def shown_pages(self) -> tuple[int, ...]:
        """Pages shown in these turns, in order of first showing."""
        opening = self.opening.shown if self.opening is not None else ()
        later = (page for step in self._steps for page in step.observation.shown)
        return tuple(dict.fromkeys((*opening, *later)))
