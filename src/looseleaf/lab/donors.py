"""Whose memory a question gets in the `shuffled` control: a derangement within document and answer format.

Within the document the memory is about the right pages, and within the answer format it holds the right kind of
value; so what is left of memory-only accuracy is what such a memory gives away by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from random import Random

from looseleaf.question import Question

__all__ = ["donor_questions"]

TRIES = 200
"""Random permutations to try: about one in e has no fixed point, so 200 fail with probability 1e-40."""


def donor_questions(questions: Iterable[Question], seed: int = 0) -> dict[str, str]:
    """For each question the question whose memory it gets, by id; never itself.

    Questions that are alone in their document and answer format have no donor and are left out.
    """
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    for question in questions:
        strata[question.doc_id, question.answer_format].append(question.question_id)
    donors: dict[str, str] = {}
    for (doc_id, answer_format), ids in sorted(strata.items()):
        if len(ids) > 1:
            donors |= _derangement(ids, Random(f"{seed}/{doc_id}/{answer_format}"))  # noqa: S311
    return donors


def _derangement(ids: list[str], rng: Random) -> dict[str, str]:
    """A uniformly drawn permutation without fixed points."""
    shuffled = list(ids)
    for _ in range(TRIES):
        rng.shuffle(shuffled)
        if all(donor != receiver for donor, receiver in zip(shuffled, ids, strict=True)):
            return dict(zip(ids, shuffled, strict=True))
    return dict(zip(ids, [*ids[1:], ids[0]], strict=True))
