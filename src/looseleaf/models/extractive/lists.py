"""Answers that are lists, from the listings of the passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import NUMERIC
from looseleaf.models.extractive.listing import ITEM_WORDS, LEAST_COVERAGE, Listing
from looseleaf.models.extractive.names import asks_names, series_of_names
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.running import inline, labels
from looseleaf.models.extractive.sections import subsections
from looseleaf.models.extractive.stacked import marked, named, plain, questions
from looseleaf.models.extractive.words import stem_set

__all__ = ["list_candidates", "listings", "written_list"]

RIGHT_LENGTH: Final = 1.25
WRONG_LENGTH: Final = 0.5
"""Factors for a listing with as many items as the question asks for, and with another number."""
NO_FOCUS: Final = 0.75
"""Factor for a listing whose introduction does not name the thing asked for."""
LONG_ITEMS: Final = 0.6
LONGEST_MEAN: Final = 25
"""Factor for items that are texts, and the words from which on they are."""
MOST_LISTINGS: Final = 6


def list_candidates(pool: Pool) -> Iterator[Candidate]:
    """One candidate for each listing, where the question asks for a list."""
    if pool.query.ordinal and not pool.query.form.listed:
        yield from _nth(pool)
    if not pool.query.form.listed or pool.query.kind in NUMERIC:
        return
    for listing in listings(pool):
        items = _ordered(pool, _asked_part(pool, listing.items))
        yield Candidate(
            written_list(items),
            listing.page,
            listing.evidence,
            listing.score,
            f"list:{listing.kind}",
            computed=True,
        )


def _nth(pool: Pool) -> Iterator[Candidate]:
    """The item at the place in a list that the question names."""
    for listing in listings(pool)[:MOST_LISTINGS]:
        place = pool.query.ordinal
        if listing.kind != "inline" and -1 <= place <= len(listing.items):
            text = listing.items[place - 1 if place > 0 else -1]
            evidence = f"{listing.introduction.rstrip(':')}, item {place}: {text}"
            yield Candidate(text, listing.page, evidence, listing.score, f"nth:{listing.kind}", computed=True)


def written_list(items: Sequence[str]) -> str:
    """Items as the list literal that benchmark scorers parse."""
    return str([item.strip().lstrip("-–—•*").strip() or item for item in items])


def _asked_part(pool: Pool, items: tuple[str, ...]) -> tuple[str, ...]:
    """The last items where the question asks for those, else all."""
    return items[-pool.query.wanted :] if pool.query.from_end and pool.query.wanted else items


def _ordered(pool: Pool, items: tuple[str, ...]) -> list[str]:
    order = pool.query.form.order
    return sorted(items, key=str.lower, reverse=order == "descending") if order else list(items)


def listings(pool: Pool) -> list[Listing]:
    """All listings that cover the question well enough, best first."""
    found: list[Listing] = []
    for page, model in pool.pages():
        found += marked(pool, page, model)
        found += plain(pool, page, model)
        found += named(pool, page, model)
        found += questions(pool, page, model)
        for sentence in model.sentences:
            found += inline(pool, page, model, sentence)
            found += series_of_names(pool, page, model, sentence)
    found += subsections(pool)
    for passage in pool.passages:
        found += labels(pool, passage.page, passage.text)
    suited = [
        msgspec.structs.replace(
            listing,
            score=listing.score
            * _length_factor(pool, listing)
            * (LONG_ITEMS if _are_texts(listing.items) else 1.0)
            * _focus_factor(pool, listing)
            * pool.entity_factor(_words(listing)),
        )
        for listing in found
    ]
    return sorted(
        (listing for listing in suited if listing.score >= LEAST_COVERAGE), key=lambda one: -one.score
    )


def _are_texts(items: tuple[str, ...]) -> bool:
    """Whether items are whole texts rather than things."""
    return sum(len(item.split()) for item in items) > LONGEST_MEAN * len(items)


def _words(listing: Listing) -> frozenset[str]:
    """The stems of a listing, with those that its sentence need not repeat."""
    return stem_set(f"{listing.introduction} {' '.join(listing.items)}") | listing.implied


def _length_factor(pool: Pool, listing: Listing) -> float:
    if not pool.query.wanted or (pool.query.from_end and len(listing.items) >= pool.query.wanted):
        return 1.0
    return RIGHT_LENGTH if len(listing.items) == pool.query.wanted else WRONG_LENGTH


def _focus_factor(pool: Pool, listing: Listing) -> float:
    """Less than 1 where the introduction does not name the kind of thing asked for."""
    named = set(pool.focus) & stem_set(listing.introduction) or listing.kind == "subsections"
    named = named or (listing.kind == "names" and asks_names(pool)) or bool(ITEM_WORDS & set(pool.focus))
    heavy = any(pool.weights.get(root, 0.0) >= 1.0 for root in pool.focus)
    return 1.0 if named or not heavy else NO_FOCUS
