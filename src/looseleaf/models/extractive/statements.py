"""Answers from findings: statements about the question's subject, and findings that are nothing but an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.compound import asks_pair
from looseleaf.models.extractive.kinds import NUMERIC
from looseleaf.models.extractive.number import parse_number
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.words import stem_set

__all__ = ["bare_candidates", "stated_candidates"]

STATED: Final = 0.7
"""Share of the question that the subject of a statement must hold."""
STATED_SCORE: Final = 1.2
BARE: Final = 0.48
"""Score of a bare text: just enough to be given where nothing is better."""


def stated_candidates(pool: Pool) -> Iterator[Candidate]:
    """Values of statements whose subject is nearly the whole question ("the revenue in 2020: 4.7")."""
    for passage in pool.passages:
        subject, colon, value = passage.text.partition(": ")
        coverage = pool.coverage(stem_set(subject)) if colon and value.strip() else 0.0
        if coverage >= STATED:
            items = [item.strip() for item in value.split(";")]
            listed = pool.query.form.listed or asks_pair(pool.query)
            text = str(items) if listed and len(items) > 1 else value.strip()
            yield Candidate(
                text, passage.page, passage.text, STATED_SCORE * coverage, "stated", computed=True
            )


def bare_candidates(pool: Pool) -> Iterator[Candidate]:
    """Findings that are nothing but a text of the kind asked for, taken at their word."""
    for passage in pool.passages:
        text = passage.text.strip()
        if not text or text[-1] in ".?!:" or ": " in text:
            continue
        if pool.query.kind not in NUMERIC or parse_number(text) is not None or text.startswith("["):
            yield Candidate(text, passage.page, text, BARE, "bare", computed=True)
