"""The search plan: where to look for the answer to a question, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.measures import measure_of
from looseleaf.models.extractive.operands import operands_of
from looseleaf.models.extractive.query import Query
from looseleaf.models.extractive.statement_lines import STATEMENT_SEARCHES
from looseleaf.models.extractive.structure import AUTHORS, TITLE
from looseleaf.models.extractive.words import stem
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
    for page in first_hits[:1]:
        for neighbour in (page + 1, page - 1):
            if 1 <= neighbour <= page_count:
                yield Action.fetch(neighbour)
    strong = " ".join(root for root, weight in query.terms.items() if weight >= 1.0)
    if strong:
        yield Action.search(strong)
