"""The loop: a policy and an environment, until the trajectory ends."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable
from functools import partial
from typing import Any, TypeVar

import msgspec

from looseleaf.environment import Environment
from looseleaf.errors import AgentError, ContextOverflowError, DocumentError, FaultError, boundary
from looseleaf.models.chat.sampling import sampling
from looseleaf.roles import Action, NoteWriting, Policy, PolicyTurn, Usage
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["as_turn", "resolved", "run_agent"]

Result = TypeVar("Result")


async def resolved(result: Result | Awaitable[Result]) -> Result:
    """The result of a role's method, whether it is synchronous or not."""
    if inspect.isawaitable(result):
        return await result
    return result


async def run_agent(
    policy: Policy,
    environment: Environment,
    *,
    run_id: str = "",
    sample_index: int = 0,
    seed: int | None = None,
    step_of_training: int | None = None,
) -> Trajectory:
    """Let the policy act until the trajectory ends; a fault ends it and is recorded, never raised.

    Args:
        policy: decides the turns.
        environment: freshly reset.
        run_id: run that the trajectory belongs to.
        sample_index: 0-based sample of this question.
        seed: seed of the sample, for the record.
        step_of_training: optimiser step of the policy, for the record.
    """
    start = time.perf_counter()
    try:
        with sampling(seed, sample_index):
            await _loop(policy, environment)
    except ContextOverflowError as problem:
        environment.stop(StopReason.CONTEXT_OVERFLOW, str(problem))
    except DocumentError as problem:
        environment.stop(StopReason.DOCUMENT_ERROR, str(problem))
    except FaultError as problem:
        environment.stop(StopReason.PROVIDER_ERROR, str(problem))
    return environment.trajectory(
        run_id=run_id,
        sample_index=sample_index,
        seed=seed,
        step_of_training=step_of_training,
        seconds=time.perf_counter() - start,
    )


async def _loop(policy: Policy, environment: Environment) -> None:
    while not environment.done:
        start = time.perf_counter()
        with boundary(AgentError, "The policy failed"):
            turn = as_turn(await resolved(policy.act(environment)))
        step = partial(environment.step, turn, seconds=time.perf_counter() - start)
        if turn.action is not None and turn.action.name == "search":
            await asyncio.to_thread(step)  # an encoder may be asked, and other trajectories go on meanwhile
        else:
            step()


TURN_FIELDS: dict[str, type | tuple[type, ...]] = {
    "action": (Action, type(None)),
    "thought": str,
    "notes": (tuple, list),
    "model_text": str,
    "usage": Usage,
    "problem": str,
}
"""Types of a turn's fields. What a model wrote into an action is not checked here but by the environment."""


def as_turn(given: Any) -> PolicyTurn:
    """What `act` returned, as a turn.

    Raises:
        TypeError: it is none; the agent's own code is wrong, not its model.
    """
    turn = PolicyTurn(action=given) if isinstance(given, Action) else given
    if not isinstance(turn, PolicyTurn):
        raise TypeError(f"act() returned a {type(turn).__name__}, not an Action or a PolicyTurn")
    for field, kind in TURN_FIELDS.items():
        if not isinstance(value := getattr(turn, field), kind):
            raise TypeError(f"act() returned a turn whose {field} is a {type(value).__name__}")
    if not all(isinstance(note, NoteWriting) for note in turn.notes):
        raise TypeError("act() returned a turn whose notes are no NoteWriting")
    msgspec.convert(msgspec.to_builtins(turn.usage), Usage)
    return turn
