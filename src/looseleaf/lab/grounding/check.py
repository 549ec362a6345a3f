"""Claim-level grounding of a finding in the text of the page that it cites, without a model.

Numbers are held against their row, column, year and sentence; units, codes, names, dates and text cells against the
page; and the cited page against the document's other pages. The check reads text: a page without a text layer (or
recognised text) is unchecked, and what only a picture shows cannot be found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from looseleaf.document import MIN_TEXT_CHARACTERS
from looseleaf.lab.grounding.claims import Claims
from looseleaf.lab.grounding.mentions import Mention
from looseleaf.lab.grounding.numbers import check_number
from looseleaf.lab.grounding.page_index import PageIndex
from looseleaf.lab.grounding.places import numbered_labels, places_on
from looseleaf.lab.grounding.record import ClaimKind, ClaimVerdict, Grounding, Verdict
from looseleaf.lab.grounding.texts import (
    check_cells,
    check_codes,
    check_dates,
    check_names,
    check_references,
    check_words,
)
from looseleaf.lab.specificity import is_generic, says_nothing_found
from looseleaf.memory import Finding
from looseleaf.models.extractive.words import stem, tokens

__all__ = ["check_finding"]

NO_TEXT = "the cited page has no text"
NO_CLAIM = "the finding makes no claim that can be checked"
VERBATIM_WORDS = 5
"""Fewest words of a finding that counts as copied from the page."""


def check_finding(finding: Finding, index: PageIndex, question: str = "") -> Grounding:
    """Whether the page that a finding cites says it.

    Args:
        finding: text and physical 1-based page.
        index: the document's pages.
        question: the question that it was written for; what it repeats of it counts as context.
    """
    if not 1 <= finding.source_page <= index.page_count:
        missing = ClaimVerdict(
            ClaimKind.PAGE, str(finding.source_page), Verdict.NOT_FOUND, "there is no such page"
        )
        return Grounding(verdict=Verdict.NOT_FOUND, claims=(missing,))
    if says_nothing_found(finding.text) or is_generic(finding.text, question):
        return Grounding(verdict=Verdict.UNCHECKED, reason=NO_CLAIM)
    page = finding.source_page
    if len(index.text(page).strip()) < MIN_TEXT_CHARACTERS:
        return Grounding(verdict=Verdict.UNCHECKED, reason=NO_TEXT)
    if _is_verbatim(finding.text, index.text(page)):
        copied = ClaimVerdict(ClaimKind.WORDS, finding.text, Verdict.GROUNDED, "word for word")
        return Grounding(verdict=Verdict.GROUNDED, claims=(copied,))
    claims = Claims(finding.text, question)
    checked = tuple(_checked(claims, index, page))
    verdict = _worst(claim.verdict for claim in checked)
    if verdict is Verdict.GROUNDED and (better := _better_page(claims, index, page)):
        moved = ClaimVerdict(ClaimKind.PAGE, str(page), Verdict.NOT_FOUND, f"page {better} says it")
        return Grounding(verdict=Verdict.NOT_FOUND, claims=(*checked, moved), elsewhere=better)
    if verdict is Verdict.UNCHECKED:
        return Grounding(verdict=verdict, reason=NO_CLAIM)
    elsewhere = None if verdict is Verdict.GROUNDED else _page_that_says(claims, index, page)
    return Grounding(verdict=verdict, claims=checked, elsewhere=elsewhere)


def _checked(claims: Claims, index: PageIndex, page: int) -> Iterator[ClaimVerdict]:
    places = places_on(index.text(page))
    for number in claims.numbers:
        if _in_label(claims, number, index.text(page)):
            continue
        checked = check_number(claims, number, places, index.mentions(page), index.common)
        if checked is not None:
            yield checked
    text = index.text(page)
    yield from check_dates(claims, text)
    yield from check_codes(claims, text)
    yield from check_references(claims, index, page)
    yield from check_names(claims, index, page)
    yield from check_cells(claims, text)
    yield from check_words(claims, index, page)


def _in_label(claims: Claims, number: Mention, page: str) -> bool:
    """Whether a number is part of a row label or column head that the finding quotes."""
    for label in numbered_labels(page):
        start = claims.text.find(label)
        if 0 <= start <= number.start < start + len(label):
            return True
    return False


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    found = set(verdicts)
    for verdict in (Verdict.CONTRADICTED, Verdict.NOT_FOUND, Verdict.GROUNDED):
        if verdict in found:
            return verdict
    return Verdict.UNCHECKED


def _is_verbatim(text: str, page: str) -> bool:
    """Whether a finding of some length is copied from the page word for word."""
    wanted = [token.lower() for token in tokens(text)]
    if len(wanted) < VERBATIM_WORDS:
        return False
    return f" {' '.join(wanted)} " in f" {' '.join(token.lower() for token in tokens(page))} "


# -- the cited page against the others ----------------------------------------------------------------------------

CLEARLY_BETTER = 0.2
"""Support that another page must have beyond the cited one's to be the page where a finding comes from."""
WELL_SUPPORTED = 0.6
"""Support that such a page must have at least."""


def _better_page(claims: Claims, index: PageIndex, page: int) -> int | None:
    """Another page that holds all numbers and codes of the finding and clearly more of its words."""
    own = index.support(page, claims.words)
    for support, other in index.pages_by_support(claims.words):
        if support < WELL_SUPPORTED or support - own < CLEARLY_BETTER:
            return None
        if _says(claims, index, other):
            return other
    return None


def _page_that_says(claims: Claims, index: PageIndex, page: int) -> int | None:
    """The page with most of the finding's words that holds all its numbers, codes and names, if there is one."""
    own = index.support(page, claims.words)
    for support, other in index.pages_by_support(claims.words):
        if support < own or support < WELL_SUPPORTED:
            return None
        if other != page and _says(claims, index, other):
            return other
    return None


def _says(claims: Claims, index: PageIndex, page: int) -> bool:
    names = {stem(word) for name in claims.names for word in tokens(name)}
    codes = {code for code in claims.codes if code not in claims.question}
    return (
        index.holds(page, claims.values)
        and names - claims.asked <= index.stems(page)
        and all(code in index.text(page) for code in codes)
    )
