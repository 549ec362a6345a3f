"""Rewards over answer and memory, group-relative advantages, and the record that makes a reward recomputable.

`looseleaf.reward.simulation` tries rewards out on mixtures and on stored rollouts.
"""

from looseleaf.reward.advantages import ADVANTAGE_EPS, GroupAdvantages, group_advantages
from looseleaf.reward.alden import AldenEpisode, AldenReward, AldenTurn, alden_episode, fetch_proximity, ndcg
from looseleaf.reward.bilevel import (
    ALDEN_LAMBDA,
    ALDEN_TOKEN_GAMMA,
    ALDEN_TURN_GAMMA,
    BiLevel,
    bi_level_returns,
    whitened,
)
from looseleaf.reward.cells import AnswerOnlyReward, AWMReward, CellReward, RewardWarning
from looseleaf.reward.findings import cites_shown_page, echoes_answer
from looseleaf.reward.outcome import CELLS, Outcome
from looseleaf.reward.pool import PoolPrompt, PromptPool, check_same_pool, read_pool, select_pool, write_pool
from looseleaf.reward.query_repetition import query_penalties, repeated_share
from looseleaf.reward.record import (
    REWARD_VERSION,
    Reward,
    RewardRecord,
    check_records,
    make_record,
    recompute,
    reward_from_config,
    reward_id,
    reward_ledger,
)
from looseleaf.reward.stored import stored_outcomes

__all__ = [
    "ADVANTAGE_EPS",
    "ALDEN_LAMBDA",
    "ALDEN_TOKEN_GAMMA",
    "ALDEN_TURN_GAMMA",
    "CELLS",
    "REWARD_VERSION",
    "AWMReward",
    "AldenEpisode",
    "AldenReward",
    "AldenTurn",
    "AnswerOnlyReward",
    "BiLevel",
    "CellReward",
    "GroupAdvantages",
    "Outcome",
    "PoolPrompt",
    "PromptPool",
    "Reward",
    "RewardRecord",
    "RewardWarning",
    "alden_episode",
    "bi_level_returns",
    "check_records",
    "check_same_pool",
    "cites_shown_page",
    "echoes_answer",
    "fetch_proximity",
    "group_advantages",
    "make_record",
    "ndcg",
    "query_penalties",
    "read_pool",
    "recompute",
    "repeated_share",
    "reward_from_config",
    "reward_id",
    "reward_ledger",
    "select_pool",
    "stored_outcomes",
    "whitened",
    "write_pool",
]
