"""Bi-level advantages and returns of a multi-turn trajectory (ALDEN).

Source: gipplab/ALDEN @ 8a0d3d4, `verl/trainer/core_algos.py::compute_bi_level_gae_advantage_return`, with γ and λ of
`examples/config_ppo.yaml` and `verl/trainer/config.py`; whitening as `verl/utils/torch_functional.py::masked_whiten`.
Written anew from its behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from looseleaf.errors import ConfigError

__all__ = ["ALDEN_LAMBDA", "ALDEN_TOKEN_GAMMA", "ALDEN_TURN_GAMMA", "BiLevel", "bi_level_returns", "whitened"]

ALDEN_TURN_GAMMA = 0.9
"""`turn_level_gamma` (ALDEN, examples/config_ppo.yaml)."""
ALDEN_TOKEN_GAMMA = 1.0
"""`gamma` (ALDEN, verl/trainer/config.py)."""
ALDEN_LAMBDA = 1.0
"""`lam` (ALDEN, verl/trainer/config.py)."""
WHITEN_EPS = 1e-8
"""Added to the mask's sum and to the variance (ALDEN, verl/utils/torch_functional.py)."""

Floats = NDArray[np.float64]


class BiLevel(NamedTuple):
    """Per token `[n]`; 0 where the policy did not generate.

    Attributes:
        advantages: not whitened yet, because whitening runs over a whole batch; see `whitened`.
        returns: targets of the critic.
    """

    advantages: Floats
    returns: Floats


def bi_level_returns(
    rewards: ArrayLike,
    values: ArrayLike,
    actions: ArrayLike,
    turn_ends: Sequence[int],
    turn_gamma: float = ALDEN_TURN_GAMMA,
    token_gamma: float = ALDEN_TOKEN_GAMMA,
    lam: float = ALDEN_LAMBDA,
) -> BiLevel:
    """GAE over turns, whose return then stands as the terminal reward of each turn for GAE over its tokens.

    Args:
        rewards: reward at each token `[n]`: the turn's at its last token, query penalties at the query's tokens.
        values: the critic's value at each token `[n]`.
        actions: whether the policy generated the token `[n]`; the others (observations, padding) are skipped.
        turn_ends: position of the last generated token of each turn, ascending.
        turn_gamma: discount from one turn to the next.
        token_gamma: discount from one token to the next inside a turn.
        lam: λ of both levels.

    Raises:
        ConfigError: the shapes do not fit, or a turn ends on a token that was not generated.
    """
    reward = np.array(rewards, dtype=np.float64)
    value = np.asarray(values, dtype=np.float64)
    generated = np.asarray(actions, dtype=bool)
    ends = list(turn_ends)
    _check(reward, value, generated, ends)
    reward[ends] = _gae(reward[ends], value[ends], turn_gamma, lam) + value[ends]
    advantages = np.zeros_like(reward)
    positions = np.flatnonzero(generated)
    for tokens in np.split(positions, np.searchsorted(positions, ends, side="right")):
        if len(tokens):
            advantages[tokens] = _gae(reward[tokens], value[tokens], token_gamma, lam)
    return BiLevel(advantages, np.where(generated, advantages + value, 0.0))


def _gae(rewards: Floats, values: Floats, gamma: float, lam: float) -> Floats:
    """Generalised advantage estimates of one episode, whose value after the end is 0."""
    following = np.append(values[1:], 0.0)
    deltas = rewards + gamma * following - values
    advantages, running = [], 0.0
    for delta in deltas[::-1].tolist():
        running = delta + gamma * lam * running
        advantages.append(running)
    return np.array(advantages[::-1])


def _check(reward: Floats, value: Floats, generated: NDArray[np.bool_], ends: list[int]) -> None:
    if reward.ndim != 1 or reward.shape != value.shape or reward.shape != generated.shape:
        raise ConfigError(
            f"rewards, values and actions have the shapes {reward.shape}, {value.shape} and {generated.shape}; "
            "give one number for each token of one trajectory."
        )
    if ends != sorted(set(ends)) or any(not 0 <= end < len(reward) or not generated[end] for end in ends):
        raise ConfigError("A turn must end on a token that the policy generated, and turns must be in order.")
    if not ends or generated[ends[-1] + 1 :].any():
        raise ConfigError("Tokens were generated after the last turn's end; give the end of every turn.")


def whitened(advantages: ArrayLike, actions: ArrayLike) -> Floats:
    """Advantages of a batch, shifted and scaled to mean 0 and variance 1 over generated tokens.

    As upstream, the shift also reaches the tokens that were not generated; the loss must leave them out.

    Args:
        advantages: of any shape.
        actions: which of them were generated, of the same shape.
    """
    values = np.asarray(advantages, dtype=np.float64)
    mask = np.asarray(actions, dtype=np.float64)
    count = mask.sum()
    mean = (values * mask).sum() / (count + WHITEN_EPS)
    variance = ((values - mean) ** 2 * mask).sum() / (count + WHITEN_EPS)
    if count > 1:
        variance *= count / (count - 1)
    return np.asarray((values - mean) / np.sqrt(variance + WHITEN_EPS))
