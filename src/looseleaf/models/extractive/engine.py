"""`answer`: the best supported answer to a question in some passages, or none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from looseleaf.models.extractive.arithmetic import computed_candidates
from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.choice import choice_candidates
from looseleaf.models.extractive.clause import clause_candidates
from looseleaf.models.extractive.compound import (
    Ask,
    asks_pair,
    composed_candidates,
    enumerated_candidates,
    verdict_candidates,
)
from looseleaf.models.extractive.conditions import condition_candidates
from looseleaf.models.extractive.counting import count_candidates
from looseleaf.models.extractive.expansion import expansion_candidates
from looseleaf.models.extractive.finance import finance_candidates
from looseleaf.models.extractive.forms import form_candidates
from looseleaf.models.extractive.keyed import keyed_candidates
from looseleaf.models.extractive.lists import list_candidates
from looseleaf.models.extractive.lookup import fact_candidates
from looseleaf.models.extractive.measures import MEASURE_WORDS, measure_of
from looseleaf.models.extractive.names import CLASSES
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.query import Query, analyse
from looseleaf.models.extractive.relations import relation_candidates
from looseleaf.models.extractive.rivals import Rivals
from looseleaf.models.extractive.running import items_of
from looseleaf.models.extractive.sentences import sentence_candidates
from looseleaf.models.extractive.statements import bare_candidates, stated_candidates
from looseleaf.models.extractive.structure import structure_candidates
from looseleaf.models.extractive.tables import table_candidates
from looseleaf.models.extractive.titled import titled_candidates
from looseleaf.models.extractive.words import stem_set
from looseleaf.models.extractive.writing import written

__all__ = ["answer", "candidates"]

MECHANISMS: Final[tuple[Callable[[Pool], Iterator[Candidate]], ...]] = (
    finance_candidates,
    computed_candidates,
    fact_candidates,
    table_candidates,
    condition_candidates,
    sentence_candidates,
    list_candidates,
    count_candidates,
    clause_candidates,
    keyed_candidates,
    form_candidates,
    titled_candidates,
    expansion_candidates,
    choice_candidates,
    structure_candidates,
)
SINGLE: Final = 0.8
REMEMBERED: Final = 64
LEAST_SUPPORT: Final = 0.475
"""Below this score the honest answer is that the passages do not say."""
MISSING_FOCUS: Final = 0.7
"""Factor for each word for the thing asked for that no passage holds."""
CONFLICT: Final = 0.46
"""Factor for each thing of the question that the evidence names with another word before it."""
QUOTING: Final = ("sentence", "fact", "cell", "clause", "keyed")
"""Kinds of candidates whose evidence is a piece of text that names the thing."""
MISSING_NAME: Final = 0.5
"""Factor for each name or number of the question that no passage holds."""
_SEVERAL: Final = re.compile(r",\s|\band\b|;")
_PAGE_COUNT: Final = re.compile(
    r"\bhow many (?:total )?(?:pages|slides) (?:are (?:there )?(?:in|of)|does|do|has|is) (?:this|the) \w+"
    r"(?: have| contain| has)?\s*\??$",
    re.IGNORECASE,
)


def candidates(
    question: str, passages: Sequence[Passage], page_count: int | None = None, *, findings: bool = False
) -> list[Candidate]:
    """All candidates of all mechanisms, best first; deterministic.

    Args:
        question: as asked.
        passages: texts with their pages.
        page_count: number of pages of the whole document, where it is known.
        findings: whether the passages are findings, of which one may be nothing but an answer, and not pages.
    """
    query = analyse(question)
    found = _direct(query, passages, findings=findings)
    ask = _asking(passages)
    if query.form.listed or asks_pair(query):
        found = [*(_single(one, query.wanted) for one in found), *enumerated_candidates(query, ask)]
    found += [*composed_candidates(query, ask), *verdict_candidates(query, ask)]
    related = list(relation_candidates(query, ask))
    found = [*(_half(one) for one in found), *related] if related else found
    if page_count is not None and _asks_page_count(query):
        text = f"The document has {page_count} pages."
        found.append(
            Candidate(str(page_count), passages[0].page if passages else 1, text, 1.0, "pages", computed=True)
        )
    return sorted(found, key=lambda c: -c.score)


def _half(found: Candidate) -> Candidate:
    """A candidate counts less where it answers one half of what is asked."""
    return msgspec.structs.replace(found, score=found.score * SINGLE)


def _single(found: Candidate, wanted: int) -> Candidate:
    """A candidate of one text counts less where a list is asked for."""
    if found.text.startswith("["):
        return found
    if found.kind.startswith("keyed") and _SEVERAL.search(found.text):
        items = items_of(found.text, wanted)
        return msgspec.structs.replace(found, text=str(items), computed=True) if len(items) > 1 else found
    return msgspec.structs.replace(found, score=found.score * SINGLE)


def _direct(query: Query, passages: Sequence[Passage], *, findings: bool = False) -> list[Candidate]:
    """Candidates for the question as it stands."""
    pool = Pool(query, passages)
    known = MEASURE_WORDS if measure_of(query) is not None else stem_set(" ".join(query.options))
    names = [root for root in pool.missing_names() if root not in known]
    focus = [root for root in pool.missing_focus() if root not in known]
    factor = MISSING_NAME ** len(names) * MISSING_FOCUS ** len(focus)
    named = MISSING_NAME ** len(names) * MISSING_FOCUS ** len([root for root in focus if root not in CLASSES])
    mechanisms = (*MECHANISMS, stated_candidates) if findings else MECHANISMS
    rivals = Rivals(pool)
    found = [
        _judged(rivals, c, named if c.kind == "list:names" else factor)
        for one in mechanisms
        for c in one(pool)
    ]
    return found + list(bare_candidates(pool)) if findings else found


def _judged(rivals: Rivals, found: Candidate, factor: float) -> Candidate:
    """The candidate with what its question lacks and what its evidence contradicts held against it."""
    score = found.score
    if score >= LEAST_SUPPORT and found.kind.startswith(QUOTING):
        conflicts = rivals.named_in(found.evidence)
        score = min(score, 1.0) * CONFLICT**conflicts if conflicts else score
    return found if score * factor == found.score else msgspec.structs.replace(found, score=score * factor)


def _asking(passages: Sequence[Passage]) -> Ask:
    """Asks the questions that a question holds, each alone."""

    def ask(text: str) -> Candidate | None:
        single = analyse(text)
        form = msgspec.structs.replace(single.form, listed=False)
        single = msgspec.structs.replace(single, form=form)
        found = max(_direct(single, passages), key=lambda one: one.score, default=None)
        if found is None or found.computed:
            return found
        return msgspec.structs.replace(found, text=written(single, found))

    return ask


def _asks_page_count(query: Query) -> bool:
    return bool(_PAGE_COUNT.search(query.text))


def answer(
    question: str, passages: Sequence[Passage], page_count: int | None = None, *, findings: bool = False
) -> Candidate | None:
    """The best supported answer, or `None` where the passages do not support any.

    Args:
        question: as asked, with any instructions on how to write the answer.
        passages: texts with their pages; the order breaks ties.
        page_count: number of pages of the whole document, where it is known.
        findings: whether the passages are findings, of which one may be nothing but an answer, and not pages.
    """
    return _answer(question, tuple(passages), page_count, findings)


@lru_cache(maxsize=REMEMBERED)
def _answer(
    question: str, passages: tuple[Passage, ...], page_count: int | None, findings: bool
) -> Candidate | None:
    """`answer`, remembered: a policy without state asks the same again at every turn."""
    pages = analyse(question).pages
    if page_count is not None and pages and min(pages) > page_count:
        return None
    found = candidates(question, passages, page_count, findings=findings)
    if not found or found[0].score < LEAST_SUPPORT:
        return None
    best = found[0]
    return best if best.computed else msgspec.structs.replace(best, text=written(analyse(question), best))
