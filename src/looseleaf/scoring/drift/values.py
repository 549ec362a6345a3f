"""What a scorer makes of the reply that an extractor or a judge gave on an item."""

from __future__ import annotations

import hashlib

from looseleaf.scoring import extraction
from looseleaf.scoring.drift.items import DriftItem, drift_items
from looseleaf.scoring.registry import JudgeScorer, Scorer

__all__ = ["item_value", "judge_prompt", "prompts_sha256"]


def item_value(scorer: Scorer | JudgeScorer, item: DriftItem, reply: str | None) -> float | None:
    """The item's score under that reply.

    Args:
        scorer: a rule scorer, which parses an extractor's output, or a judge scorer, which parses a judge's reply.
        item: the pinned item.
        reply: what the extractor or judge said, or `None`.

    Returns:
        The score, or `None` where there is no reply or it holds no answer or verdict.
    """
    if reply is None:
        return None
    if isinstance(scorer, JudgeScorer):
        return scorer.parse(reply).value
    try:
        answer = scorer.parse(reply)
    except ValueError:
        return None
    return scorer.score_answer(item.question_for(scorer.name), answer).value


def judge_prompt(scorer: JudgeScorer, item: DriftItem) -> str:
    """What a judge is asked about the item."""
    return scorer.prompt_for(item.question_for(scorer.name), item.response)


def prompts_sha256(scorer: Scorer | JudgeScorer) -> str:
    """Hash of all that is asked about the items: with another prompt, other replies are no drift."""
    digest = hashlib.sha256()
    for item in drift_items():
        digest.update(_asked(scorer, item).encode())
    return digest.hexdigest()


def _asked(scorer: Scorer | JudgeScorer, item: DriftItem) -> str:
    if isinstance(scorer, JudgeScorer):
        return judge_prompt(scorer, item)
    return extraction.prompt(item.question, item.response)
