"""The search plan: where to look for the answer to a question, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.measures import measure_of
from looseleaf.models.extractive.operands import operands_of
from looseleaf.models.extractive.query import Query
from looseleaf.models.extractive.sections import SECTION_WORDS
from looseleaf.models.extractive.statement_lines import STATEMENT_SEARCHES
from looseleaf.models.extractive.structure import AUTHORS, TITLE
from looseleaf.models.extractive.words import stem, tokens
from looseleaf.roles import Action

__all__ = ["MAX_FETCHES", "next_action"]

MAX_FETCHES: Final = 5
"""Pages named in the question that are opened one by one."""
CONTENTS: Final = frozenset(stem(word) for word in ("chapters", "sections", "appendices", "appendix"))
HINTS: Final = {
    Kind.EMAIL: "email e-mail contact prepared by",
    Kind.PHONE: "phone telephone tel contact fax",
    Kind.URL: "website visit www http https",
}
"""Words that stand near things which a lexical search cannot name."""


def next_action(
    query: Query, page_count: int, taken: list[Action], shown: tuple[int, ...], first_hits: tuple[int, ...]
) -> Action | None:
    """The first planned action that was not taken yet and does not just show a page again, or `None`.

    Args:
        query: the question, taken apart.
        page_count: pages of the document.
        taken: actions so far.
        shown: pages shown so far.
        first_hits: pages that the first search showed, best first.
    """
    for action in _plan(query, page_count, first_hits):
        again = action.name == "fetch" and action.arguments["page"] in shown
        if action not in taken and not again:
            return action
    return None


def _plan(query: Query, page_count: int, first_hits: tuple[int, ...]) -> Iterator[Action]:
    """Named pages, the wording, its key words, the neighbours of the best page, its weightier words."""
    for page in [page for page in query.pages if page <= page_count][:MAX_FETCHES]:
        yield Action.fetch(page)
    if TITLE.search(query.text) or AUTHORS.search(query.text):
        yield Action.fetch(1)
    if measure_of(query) is not None:
        yield from map(Action.search, STATEMENT_SEARCHES)
    yield Action.search(query.text)
    for phrase in dict.fromkeys(phrase for one in operands_of(query.text) for phrase in one.phrases):
        yield Action.search(phrase)
    labels = " ".join(f"{name} {number}" for name, number in query.labels)
    hint = HINTS.get(query.kind, "")
    if CONTENTS & set(query.terms):
        hint = f"{hint} table of contents".strip()
    key = " ".join([*query.quotes, *query.names, *query.focus])
    for text in (labels, hint, key):
        if text.strip():
            yield Action.search(" ".join(text.split()))
        if text is hint and SECTION_WORDS & set(query.terms):
            yield from _around(query, page_count, first_hits)
    named = {stem(word) for name in query.names for word in tokens(name)}
    things = [
        root for root, weight in query.terms.items() if weight >= 1.0 and root.isalpha() and root not in named
    ]
    if query.form.listed and named and len(things) > 1:
        yield Action.search(" ".join(things))
    yield from _around(query, page_count, first_hits)
    strong = " ".join(root for root, weight in query.terms.items() if weight >= 1.0)
    if strong:
        yield Action.search(strong)


def _around(query: Query, page_count: int, hits: tuple[int, ...]) -> Iterator[Action]:
    """Looks at the pages around those that the first search found."""
    yield from (Action.fetch(page) for page in _neighbours(query, hits) if 1 <= page <= page_count)


def _neighbours(query: Query, hits: tuple[int, ...]) -> Iterator[int]:
    """Pages around the best one; sections begin before the pages that say most about them and go on behind."""
    if SECTION_WORDS & set(query.terms):
        yield from (page - 1 for page in hits)
        yield from (page + 1 for page in hits)
    elif hits:
        yield from (hits[0] + 1, hits[0] - 1)
