"""`Player`: verl's servers generate, `looseleaf.Environment` answers, token for token.

One generation is one turn of the environment. The sequence only grows: what a server generated is taken up as it came,
and an observation's tokens are appended with mask 0 and its pages beside them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from looseleaf.errors import FaultError
from looseleaf.training.grpo import SUPPRESSING_BIAS
from looseleaf.training.rollout import Rollout
from looseleaf.training.verl.output import Served, finished
from looseleaf.training.verl.session import Session, weights_of
from looseleaf.trajectory import StopReason

__all__ = ["Player", "ServerFaultError"]

ABORTED = "aborted"
"""`TokenOutput.stop_reason` of a generation that verl broke off (verl 0.9.1, `workers/rollout/replica.py`)."""


class ServerFaultError(FaultError):
    """One of verl's servers failed; the rollout is missing from its group, as verl does it."""


class Player:
    """Plays one rollout and rewards it.

    Args:
        session: of this process.
        server: verl's `LLMServerClient`, or anything that generates like one.
        engine: what the servers run, e.g. `vllm`.
        longest_opening: most tokens before the first turn.
    """

    def __init__(self, session: Session, server: Any, *, engine: str, longest_opening: int) -> None:
        self._session = session
        self._server = server
        self._engine = engine
        self._longest_opening = longest_opening

    async def play(self, row: Mapping[str, Any], sampling: Mapping[str, Any]) -> dict[str, Any]:
        """Play the rollout of a row.

        Args:
            row: a row of the data set, and what verl adds to it (`session_id`, `global_steps`).
            sampling: verl's sampling parameters.

        Returns:
            The fields of verl's `AgentLoopOutput` (`output.finished`).

        Raises:
            ServerFaultError: a server failed.
            TrainingError: a vision token was generated.
            ToolFaultError: the environment failed, by no doing of the model.
        """
        place = self._session.place(row)
        served = Served(weights_of(row), weights_of(row))
        found = await self._session.begin(place)
        if isinstance(found, Rollout):
            self._check_opening(found)
            await self._turns(found, self._sampling(sampling), served)
        since = time.perf_counter()
        rewarded = await self._session.reward(place, found)
        served.scoring = time.perf_counter() - since
        rollout = found if isinstance(found, Rollout) else None
        return finished(rollout, rewarded, served, self._session.conversation.end_of_turn)

    def _sampling(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A turn's length, its end, and the tokens that must not be sampled: a stray one has no image behind it."""
        conversation = self._session.conversation
        wants_text = self._engine == "sglang"  # keys of its biases are strings
        return {
            **given,
            "max_tokens": self._session.budget.turn,
            "stop_token_ids": [conversation.end_of_turn],
            "logit_bias": {
                str(token) if wants_text else token: SUPPRESSING_BIAS for token in conversation.vision_tokens
            },
        }

    def _check_opening(self, rollout: Rollout) -> None:
        if rollout.start > self._longest_opening:
            rollout.shim._environment.stop(
                StopReason.CONTEXT_OVERFLOW,
                f"the opening has {rollout.start} tokens and data.max_prompt_length is {self._longest_opening}",
            )

    async def _turns(self, rollout: Rollout, sampling: Mapping[str, Any], served: Served) -> None:
        request = uuid4().hex  # the same for all turns: verl keeps a conversation on one server
        while not rollout.done:
            since = time.perf_counter()
            reply = await self._generate(request, rollout, sampling)
            between = time.perf_counter()
            served.note(reply)
            await rollout.absorb(reply.token_ids, _logprobs(reply))
            served.generation += between - since
            served.environment += time.perf_counter() - between

    async def _generate(self, request: str, rollout: Rollout, sampling: Mapping[str, Any]) -> Any:
        prompt = rollout.prompt()
        try:
            reply = await self._server.generate(
                request_id=request,
                prompt_ids=list(prompt.ids),
                sampling_params=dict(sampling),  # servers take it apart
                image_data=list(prompt.images) or None,
            )
        except Exception as problem:
            raise ServerFaultError(f"Generation failed ({type(problem).__name__}: {problem}).") from problem
        if reply.stop_reason == ABORTED or not reply.token_ids:
            raise ServerFaultError("Generation was broken off, and verl did not resume it.")
        return reply


def _logprobs(reply: Any) -> list[float] | None:
    """Log-probabilities of the reply's tokens, if the server gave one for each."""
    given = reply.log_probs
    return list(given) if given and len(given) == len(reply.token_ids) else None
