"""Answers to either-or and yes-no questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.lookup import Fit, fits
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.words import stem_set

__all__ = ["choice_candidates"]

LEAST_COVERAGE: Final = 0.35
LEAST_SUPPORT: Final = 0.6
"""Share of a yes-no question that one sentence must hold to be said to confirm it."""
CONFIRMED: Final = 0.9
_HIGHER: Final = re.compile(
    r"\b(?:more|higher|larger|greater|bigger|longer|later|most|highest)\b", re.IGNORECASE
)
_LOWER: Final = re.compile(r"\b(?:less|lower|smaller|fewer|shorter|earlier|least|lowest)\b", re.IGNORECASE)
_NEGATION: Final = re.compile(r"\b(?:not|no|never|none|cannot|without|n't)\b|n['’]t\b", re.IGNORECASE)


def choice_candidates(pool: Pool) -> Iterator[Candidate]:
    """One of the alternatives that the question gives, or yes or no."""
    if pool.query.kind is Kind.CHOICE:
        yield from _by_value(pool)
        yield from _by_mention(pool)
    elif pool.query.kind is Kind.YES_NO:
        yield from _confirmed(pool)


def _by_value(pool: Pool) -> Iterator[Candidate]:
    """The alternative with the higher (or lower) number, where the question compares numbers."""
    sign = -1 if _LOWER.search(pool.query.text) else 1 if _HIGHER.search(pool.query.text) else 0
    if not sign or len(pool.query.options) != 2:
        return
    found = [_fit(pool, option) for option in pool.query.options]
    if found[0] is None or found[1] is None:
        return
    first, second = found[0], found[1]
    if first.fact.amount == second.fact.amount or first.fact is second.fact:
        return
    chosen = 0 if sign * (first.fact.amount - second.fact.amount) > 0 else 1
    evidence = f"{first.fact.evidence}; {second.fact.evidence}"
    yield Candidate(
        pool.query.options[chosen],
        first.page,
        evidence,
        min(first.score, second.score),
        "choice:value",
        computed=True,
    )


def _fit(pool: Pool, option: str) -> Fit | None:
    """The best fact about one alternative; the other one's words do not count."""
    own = {pool.term(root) for root in stem_set(option)}
    others = {pool.term(root) for other in pool.query.options if other != option for root in stem_set(other)}
    weights = {root: weight for root, weight in pool.weights.items() if root in own or root not in others}
    best = [
        fit for fit in fits(pool, weights, pool.query.years)[:10] if pool.roots(fit.fact.label_stems) & own
    ]
    return best[0] if best else None


def _by_mention(pool: Pool) -> Iterator[Candidate]:
    """The one alternative that stands in a sentence which covers the question."""
    for page, model in pool.pages():
        for sentence in model.sentences:
            coverage = pool.coverage(sentence.stems)
            named = [option for option in pool.query.options if option.lower() in sentence.text.lower()]
            if coverage >= LEAST_COVERAGE and len(named) == 1:
                yield Candidate(
                    named[0], page, sentence.text, 0.8 * coverage, "choice:mention", computed=True
                )


def _confirmed(pool: Pool) -> Iterator[Candidate]:
    """Yes where a sentence holds most of the question, no where that sentence negates it."""
    asked_small = all(option.islower() for option in pool.query.options) and bool(pool.query.options)
    for page, model in pool.pages():
        for sentence in model.sentences:
            coverage = pool.coverage(sentence.stems)
            if coverage >= LEAST_SUPPORT and sentence.whole and not sentence.text.endswith("?"):
                negated = bool(_NEGATION.search(sentence.text)) != bool(_NEGATION.search(pool.query.text))
                text = "No" if negated else "Yes"
                score = CONFIRMED * coverage * pool.page_factor(page)
                yield Candidate(
                    text.lower() if asked_small else text, page, sentence.text, score, "yes-no", computed=True
                )
