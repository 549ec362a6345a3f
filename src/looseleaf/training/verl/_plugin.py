"""Fills verl's registries by being imported: `actor_rollout_ref.model.external_lib` names it.

The one module that imports verl when it is imported itself. verl's own tool-agent loop shows a tool's exceptions to the
model and trains on; here they end the training (`looseleaf.training.verl.stop`).
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopMetrics,
    AgentLoopOutput,
    register,
)
from verl.trainer.ppo.core_algos import register_adv_est

from looseleaf.errors import FaultError, UserError
from looseleaf.training.verl.dataset import config_path
from looseleaf.training.verl.engine import AGENT, ESTIMATOR, SETTINGS
from looseleaf.training.verl.estimator import looseleaf_group
from looseleaf.training.verl.output import Served, stopping
from looseleaf.training.verl.player import Player, ServerFaultError
from looseleaf.training.verl.session import Session, open_session, weights_of
from looseleaf.training.verl.stop import write_note

__all__ = ["LooseleafAgentLoop"]

log = logging.getLogger(__name__)

register_adv_est(ESTIMATOR)(looseleaf_group)


@register(AGENT)
class LooseleafAgentLoop(AgentLoopBase):  # type: ignore[misc, unused-ignore]  # untyped where verl is not read
    """Plays one rollout; verl makes one for each."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play the rollout of a row of `PlannedPrompts` and reward it.

        Raises:
            ServerFaultError: a server failed, which verl takes care of.
        """
        try:
            fields = await self._player().play(row, sampling_params)
        except ServerFaultError:
            raise
        except Exception as problem:
            log.exception("A rollout of %s ends the training", row.get("question_id"))
            write_note(self._output_folder(), _sentence(problem))
            weights = weights_of(row)
            fields = stopping(Served(weights, weights), int(self.tokenizer.eos_token_id))
        return AgentLoopOutput(**{**fields, "metrics": AgentLoopMetrics(**fields["metrics"])})

    def _player(self) -> Player:
        return Player(
            self._session(),
            self.server_manager,
            engine=str(self.rollout_config.name),
            longest_opening=int(self.rollout_config.prompt_length),
        )

    def _session(self) -> Session:
        path = config_path(self.data_config.train_files)
        return open_session(path, self.processor, int(self.rollout_config.response_length))

    def _output_folder(self) -> Path | None:
        output = (self.config.algorithm.get(SETTINGS, None) or {}).get("output")
        return Path(output) if output else None


def _sentence(problem: Exception) -> str:
    if isinstance(problem, UserError | FaultError):
        return str(problem)
    return (
        f"A rollout failed by no doing of the model ({type(problem).__name__}: {problem}); "
        "nothing was learnt from its step. The log of its agent loop worker has the traceback."
    )
