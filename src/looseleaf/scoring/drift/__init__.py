"""Does an extractor or a judge still say what it said? 300 items, their values under a scorer, and an exact test."""

from looseleaf.scoring.drift.items import DriftItem, drift_items, items_sha256
from looseleaf.scoring.drift.paired import PairedChange, paired_change
from looseleaf.scoring.drift.record import DriftRow, PinnedReply
from looseleaf.scoring.drift.values import item_value, judge_prompt, prompts_sha256

__all__ = [
    "DriftItem",
    "DriftRow",
    "PairedChange",
    "PinnedReply",
    "drift_items",
    "item_value",
    "items_sha256",
    "judge_prompt",
    "paired_change",
    "prompts_sha256",
]
