"""The prompts of GRPO in the order in which they are drawn, worked out before anything is sampled.

A training that is continued must draw what the unbroken one would have drawn, so the order is data and not the state
of a generator: rows in order, each once, never shuffled again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["PlannedPrompt", "plan_prompts"]


class PlannedPrompt(NamedTuple):
    """One group.

    Attributes:
        question_id: whose question its rollouts answer.
        visit: how often the question was drawn before.
    """

    question_id: str
    visit: int


def plan_prompts(question_ids: Sequence[str], count: int, seed: int) -> list[PlannedPrompt]:
    """Draw prompts: every question once in a random order, then all again in another.

    Args:
        question_ids: the training questions.
        count: groups of the whole training.
        seed: of the orders.
    """
    generator = np.random.default_rng(seed)
    drawn: list[str] = []
    while len(drawn) < count:
        drawn += [question_ids[index] for index in generator.permutation(len(question_ids))]
    visits: Counter[str] = Counter()
    plan = []
    for question_id in drawn[:count]:
        plan.append(PlannedPrompt(question_id, visits[question_id]))
        visits[question_id] += 1
    return plan
