"""`TrajectorySummary`: what metrics and reports look at of a trajectory, some 300 bytes where the record has kilobytes.

A report of a million trajectories holds a million of these and none of the records themselves.
"""

from __future__ import annotations

from typing import Any

import msgspec

from looseleaf.roles import Usage
from looseleaf.trajectory import Part, StopReason, Trajectory

__all__ = ["TrajectorySummary", "summary_of"]


class Spent(msgspec.Struct, frozen=True, gc=False):
    """What one trajectory took; see `Usage` and `Trajectory`."""

    prompt_tokens: int
    completion_tokens: int
    calls: int
    cost: float | None
    seconds: float


class TrajectorySummary(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is counted of one trajectory; names and meanings are those of `Trajectory`.

    Attributes:
        finding_count: findings in the terminal memory.
        spent: what it took; `None` where that was left out.
    """

    stop_reason: StopReason
    turns: int
    invalid_turns: int
    shown_pages: tuple[int, ...]
    finding_count: int
    undefined: tuple[Part, ...] = ()
    oracle: dict[str, Any] = {}
    step_of_training: int | None = None
    spent: Spent | None = None

    @property
    def usage(self) -> Usage:
        """Tokens of all turns."""
        spent = self.spent
        if spent is None:
            return NOTHING
        return Usage(spent.prompt_tokens, spent.completion_tokens, spent.calls, spent.cost)

    @property
    def seconds(self) -> float:
        """Wall time."""
        return 0.0 if self.spent is None else self.spent.seconds


def summary_of(
    made: Trajectory, oracles: dict[str, dict[str, Any]], *, slim: bool = False
) -> TrajectorySummary:
    """The summary of a trajectory.

    Args:
        made: the trajectory.
        oracles: oracle settings met before, so that equal ones are one object.
        slim: leave out tokens and seconds.
    """
    return TrajectorySummary(
        stop_reason=made.stop_reason,
        turns=made.turns,
        invalid_turns=made.invalid_turns,
        shown_pages=made.shown_pages,
        finding_count=made.finding_count,
        undefined=made.undefined,
        oracle=oracles.setdefault(repr(made.oracle), made.oracle) if made.oracle else NO_ORACLE,
        step_of_training=made.step_of_training,
        spent=None if slim else _spent(made),
    )


def _spent(made: Trajectory) -> Spent:
    usage = made.usage
    return Spent(usage.prompt_tokens, usage.completion_tokens, usage.calls, usage.cost, made.seconds)


NO_ORACLE: dict[str, Any] = {}
NOTHING = Usage()
