"""`looseleaf_group`: looseleaf's group-relative advantages as an advantage estimator of verl.

verl hands an estimator of one's own token rewards, the response mask and group labels, and nothing else of the batch
(verl 0.9.1, `compute_advantage`; only GDPO gets `non_tensor_batch`, and the v1 trainer does not even fetch it). So the
reward itself says that a rollout is unscored: it is NaN, which no other estimator can take for a 0 either.

verl's own GRPO differs in three ways: it divides by Bessel's deviation, it counts a lone rollout's reward as its
advantage, and one NaN spoils its whole group.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from looseleaf.reward import ADVANTAGE_EPS, group_advantages
from looseleaf.training.faults import TrainingError
from looseleaf.training.verl.engine import SETTINGS
from looseleaf.training.verl.stop import read_note

__all__ = ["looseleaf_group"]


def looseleaf_group(
    token_level_rewards: Any, response_mask: Any, index: Any, config: Any = None, **_: Any
) -> tuple[Any, Any]:
    """Advantages of a batch.

    Args:
        token_level_rewards: rewards by token `[n, t]`; a row's reward is its sum, NaN for an unscored rollout.
        response_mask: 1 for tokens that the policy generated `[n, t]`.
        index: label of each rollout's prompt `[n]`.
        config: verl's `algorithm`, with `eps`, `ddof` and `scale` of `group_advantages` and the output folder under
            `looseleaf`; without it the paper's values.

    Returns:
        Advantages `[n, t]`, twice: as there are no values, returns are the same. Exactly 0 for unscored rollouts and
        for tokens that the policy did not generate.

    Raises:
        TrainingError: a rollout failed by no doing of the model, or none of the batch could be scored.
        ConfigError: the settings do not go together.
    """
    settings = _settings(config)
    rewards = token_level_rewards.detach().double().sum(dim=-1).cpu().numpy()
    _check(rewards, settings)
    found = group_advantages(
        rewards,
        [str(label) for label in index],
        float(settings.get("eps", ADVANTAGE_EPS)),
        settings.get("ddof", 0),
        settings.get("scale", "group"),
    )
    values = torch.as_tensor(found.values).to(token_level_rewards.device, token_level_rewards.dtype)
    advantages = values.unsqueeze(-1) * response_mask
    return advantages, advantages


def _settings(config: Any) -> Mapping[str, Any]:
    found = None if config is None else config.get(SETTINGS, None)
    return {} if found is None else found


def _check(rewards: Any, settings: Mapping[str, Any]) -> None:
    output = settings.get("output")
    if np.isinf(rewards).any():
        raise TrainingError(read_note(Path(output) if output else None))
    if len(rewards) and np.isnan(rewards).all():
        raise TrainingError(
            "No rollout of this step could be scored, so there is nothing to learn from it; see that the reader and "
            "the scorer of training answer, and start again: verl continues from its last checkpoint."
        )
