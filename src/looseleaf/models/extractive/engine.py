"""`answer`: the best supported answer to a question in some passages, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from looseleaf.models.extractive.arithmetic import computed_candidates
from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.choice import choice_candidates
from looseleaf.models.extractive.clause import clause_candidates
from looseleaf.models.extractive.counting import count_candidates
from looseleaf.models.extractive.keyed import keyed_candidates
from looseleaf.models.extractive.lists import list_candidates
from looseleaf.models.extractive.lookup import fact_candidates
from looseleaf.models.extractive.number import parse_number, plain
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.query import Kind, Query, analyse
from looseleaf.models.extractive.sentences import sentence_candidates
from looseleaf.models.extractive.structure import structure_candidates
from looseleaf.models.extractive.tables import table_candidates

__all__ = ["answer", "candidates"]

MECHANISMS: Final[tuple[Callable[[Pool], Iterator[Candidate]], ...]] = (
    computed_candidates,
    fact_candidates,
    table_candidates,
    sentence_candidates,
    list_candidates,
    count_candidates,
    clause_candidates,
    keyed_candidates,
    choice_candidates,
    structure_candidates,
)
LEAST_SUPPORT: Final = 0.45
"""Below this score the honest answer is that the passages do not say."""
MISSING_FOCUS: Final = 0.7
"""Factor for each word for the thing asked for that no passage holds."""
MISSING_NAME: Final = 0.5
"""Factor for each name or number of the question that no passage holds."""


def candidates(question: str, passages: Sequence[Passage]) -> list[Candidate]:
    """All candidates of all mechanisms, best first; deterministic."""
    pool = Pool(analyse(question), passages)
    factor = MISSING_NAME ** len(pool.missing_names()) * MISSING_FOCUS ** len(pool.missing_focus())
    found = [c for mechanism in MECHANISMS for c in mechanism(pool)]
    found = [msgspec.structs.replace(c, score=c.score * factor) for c in found]
    return sorted(found, key=lambda c: -c.score)


def answer(question: str, passages: Sequence[Passage]) -> Candidate | None:
    """The best supported answer, or `None` where the passages do not support any.

    Args:
        question: as asked, with any instructions on how to write the answer.
        passages: texts with their pages; the order breaks ties.
    """
    found = candidates(question, passages)
    if not found or found[0].score < LEAST_SUPPORT:
        return None
    best = found[0]
    return best if best.computed else msgspec.structs.replace(best, text=_written(analyse(question), best))


def _written(query: Query, found: Candidate) -> str:
    """The answer in the form that the question asks for."""
    number = parse_number(found.text)
    if number is None or query.kind in {Kind.YEAR, Kind.DATE, Kind.TIME, Kind.PHONE, Kind.IDENTIFIER}:
        return found.text
    value = number.value
    scale = number.scale if number.scale != 1.0 else found.scale
    if scale != query.form.scale and query.form.scale != 1.0 and scale != 1.0:
        value = value * scale / query.form.scale
    digits = plain(value, query.form.decimals if number.unit != "%" else None)
    return digits + "%" if number.unit == "%" else digits
