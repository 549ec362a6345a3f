"""The search plan: where to look for the answer to a question, in order."""

from __future__ import annotations

from looseleaf.models.extractive.finance import STATEMENT_SEARCHES, measure_of
from looseleaf.models.extractive.query import Kind, Query
from looseleaf.roles import Action

__all__ = ["MAX_FETCHES", "planned_actions"]

MAX_FETCHES = 4
"""Pages named in the question that are opened one by one before searching."""


def planned_actions(query: Query, page_count: int) -> list[Action]:
    """Pages that the question names, then searches: its wording, its names and phrases, its focus."""
    fetches = [Action.fetch(page) for page in query.pages if page <= page_count][:MAX_FETCHES]
    statements = STATEMENT_SEARCHES if measure_of(query) is not None else ()
    queries = [*statements, query.text, *_rewritten(query)]
    unique = dict.fromkeys(" ".join(text.split()) for text in queries if text.strip())
    return fetches + [Action.search(text) for text in unique]


def _rewritten(query: Query) -> list[str]:
    labels = " ".join(f"{name} {number}" for name, number in query.labels)
    strong = [root for root, weight in query.terms.items() if weight >= 1.0]
    key = " ".join([*query.quotes, *query.names, *query.focus])
    return [labels, key, " ".join(strong)] if query.kind is not Kind.PAGE else [key]
