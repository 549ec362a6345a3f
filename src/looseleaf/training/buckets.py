"""Difficulty buckets of collected trajectories, and taking the same number from each.

Source: AWM, arXiv 2608.25618, data and training: 994 SFT trajectories in difficulty-balanced buckets out of 2,000
questions. How difficulty is measured is not published; the measures here are our choice.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from looseleaf.environment import LOOKS
from looseleaf.question import Question
from looseleaf.trajectory import Trajectory

__all__ = ["MEASURES", "Measure", "Sampled", "balanced", "bucket_of", "in_buckets"]

Measure = Literal["looks", "success", "pages"]
MEASURES: tuple[Measure, ...] = ("looks", "success", "pages")
"""`looks`: searches and fetches that the teacher needed; `success`: share of its samples that are correct;
`pages`: gold evidence pages."""

MOST_LOOKS = 4
"""Trajectories with this many looks or more share a bucket."""
MOST_PAGES = 3
"""Questions with this many gold pages or more share a bucket."""
THIRD = 1 / 3


class Sampled(NamedTuple):
    """A kept trajectory with what its difficulty may be read from.

    Attributes:
        question: what was asked.
        trajectory: the kept one of its samples.
        right: how many of its samples were correct.
        scored: how many were scored.
    """

    question: Question
    trajectory: Trajectory
    right: int
    scored: int


def bucket_of(sampled: Sampled, measure: Measure) -> str:
    """The bucket's name, as it stands in the counts."""
    if measure == "looks":
        return _looks(sampled.trajectory)
    return _pages(sampled.question) if measure == "pages" else _success(sampled.right / sampled.scored)


def _looks(trajectory: Trajectory) -> str:
    count = sum(
        step.action is not None and step.action.name in LOOKS and step.invalid is None
        for step in trajectory.steps
    )
    return f"{MOST_LOOKS} looks or more" if count >= MOST_LOOKS else f"{count} looks"


def _pages(question: Question) -> str:
    if question.evidence_pages is None:
        return "gold pages unknown"
    count = len(question.evidence_pages)
    return f"{MOST_PAGES} gold pages or more" if count >= MOST_PAGES else f"{count} gold pages"


def _success(share: float) -> str:
    if share == 1.0:
        return "always right"
    return "often right" if share > 2 * THIRD else "sometimes right" if share > THIRD else "rarely right"


def balanced(
    buckets: Mapping[str, Sequence[Sampled]], keep: int | None, seed: int = 0
) -> dict[str, list[Sampled]]:
    """Take `keep` in all, as equally from each bucket as their sizes allow.

    Which ones of a bucket are taken is drawn by a hash of the seed and the question, so that it depends neither on
    their order nor on the other buckets.

    Args:
        buckets: by name.
        keep: how many in all; `None` takes everything.
        seed: of the draw.
    """
    quotas = _quotas({name: len(found) for name, found in buckets.items()}, keep)
    return {
        name: sorted(found, key=lambda one: _draw(one.question.question_id, seed))[: quotas[name]]
        for name, found in buckets.items()
    }


def _quotas(sizes: Mapping[str, int], keep: int | None) -> dict[str, int]:
    """Smallest buckets first: what they lack is shared by the larger ones."""
    left = sum(sizes.values()) if keep is None else keep
    quotas: dict[str, int] = {}
    for position, (name, size) in enumerate(sorted(sizes.items(), key=lambda item: (item[1], item[0]))):
        quotas[name] = min(size, left // (len(sizes) - position))
        left -= quotas[name]
    return quotas


def _draw(question_id: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}|{question_id}".encode()).hexdigest()


def in_buckets(found: Iterable[Sampled], measure: Measure) -> dict[str, list[Sampled]]:
    """Sort into buckets, by name."""
    buckets: dict[str, list[Sampled]] = defaultdict(list)
    for sampled in found:
        buckets[bucket_of(sampled, measure)].append(sampled)
    return dict(sorted(buckets.items()))
