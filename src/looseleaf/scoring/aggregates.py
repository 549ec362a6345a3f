"""Accuracy and F1 over scored samples, as both official scorers compute them.

Source: MMLongBench-Doc `eval/eval_score.py` @ d73f0dc, which LongDocURL `utils/utils_score_v3.py` @ 3807c0e repeats
with another key for the score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from looseleaf.question import NOT_ANSWERABLE

__all__ = ["AccF1", "Sample", "Slice", "acc_and_f1", "added_up"]

Sample = Mapping[str, Any]
"""One scored row: `answer` (gold), `pred`, and the score where there is one."""


class AccF1(NamedTuple):
    """Accuracy and F1; `n` samples have a score."""

    acc: float
    f1: float
    n: int


class Slice(NamedTuple):
    """One line of a breakdown: `n` questions, and the mean score of those that have one."""

    label: str
    value: float
    n: int


def added_up(values: Iterable[float]) -> float:
    """The sum from left to right. (The built-in `sum` rounds differently from Python 3.12 on.)"""
    total: float = 0
    for value in values:
        total += value
    return total


def acc_and_f1(samples: Iterable[Sample], key: str = "score") -> AccF1:
    """Mean score, and the harmonic mean of answered recall and precision.

    Samples without `key` are left out, as upstream does; a zero denominator or a sample without `answer` or `pred`
    makes F1 0, and no scored sample makes both 0.
    """
    scored = [sample for sample in samples if key in sample]
    if not scored:
        return AccF1(0.0, 0.0, 0)
    acc = added_up(sample[key] for sample in scored) / len(scored)
    try:
        f1 = _f1(scored, key)
    except (KeyError, ZeroDivisionError):
        f1 = 0.0
    return AccF1(acc, f1, len(scored))


def _f1(scored: Sequence[Sample], key: str) -> float:
    answerable = [sample[key] for sample in scored if sample["answer"] != NOT_ANSWERABLE]
    earned = added_up(answerable)
    recall = earned / len(answerable)
    precision = earned / sum(sample["pred"] != NOT_ANSWERABLE for sample in scored)
    return 2 * recall * precision / (recall + precision) if recall + precision > 0.0 else 0.0
