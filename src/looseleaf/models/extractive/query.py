"""`Query`: what a question asks for, read from its wording alone."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from looseleaf.models.extractive.form import Form, form_of, options_of, split_instructions
from looseleaf.models.extractive.kinds import KIND_WORDS, Kind, Operation, kind_of, operation_of
from looseleaf.models.extractive.mentions import (
    LIMIT,
    PAGE,
    labels_of,
    names_of,
    ordinal_of,
    pages_of,
    quotes_of,
    wanted_of,
)
from looseleaf.models.extractive.terms import focus_of, terms_of

__all__ = ["Query", "analyse"]


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A question, taken apart.

    Attributes:
        raw: the question as asked.
        text: the question without its instructions on how to write the answer.
        kind: the sort of answer.
        operation: what to do with the values found.
        form: how to write the answer.
        terms: content stems with their weights, in order of appearance.
        focus: stems of the noun phrase right after the question word ("which *officer* …", "how many *steps* …").
        focus_is_name: whether that noun phrase starts with a capital letter.
        names: capitalised words and quoted phrases, as written.
        quotes: quoted phrases.
        years: four-digit years.
        numbers: other digit strings.
        pages: physical pages that the question names.
        labels: `("figure", 3)`-like references.
        options: the alternatives of an either-or question.
        from_end: whether the items asked for are the last ones of their list.
        ordinal: place in a list that the question names ("the *second* objective"), -1 for the last, or 0.
        wanted: number of items asked for ("the *three* reasons"), or 0.
    """

    raw: str
    text: str
    kind: Kind
    operation: Operation
    form: Form
    terms: dict[str, float]
    focus: tuple[str, ...]
    focus_is_name: bool
    names: tuple[str, ...]
    quotes: tuple[str, ...]
    years: tuple[int, ...]
    numbers: tuple[str, ...]
    pages: tuple[int, ...]
    labels: tuple[tuple[str, int], ...]
    options: tuple[str, ...]
    wanted: int
    ordinal: int = 0
    from_end: bool = False


_FISCAL: Final = re.compile(r"\b(?:FY|fiscal year|fiscal)\s*(?=(?:19|20)\d\d)", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?<![\d.,])((?:1[6-9]|20)\d\d)(?!\d|,\d{3}|\.\d)")
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_LAST_ITEMS: Final = re.compile(r"\blast (?:\d+|two|three|four|five)\b", re.IGNORECASE)
_NAMED_FOCUS: Final = re.compile(r"[Hh]ow many [A-Z]")


@lru_cache(maxsize=512)
def analyse(question: str) -> Query:
    """Take a question apart; depends on the wording only."""
    text, told = split_instructions(_FISCAL.sub("", question))
    names, options, wanted = names_of(text), options_of(text, told), wanted_of(text)
    placeless = PAGE.sub(lambda match: match[1] if any(map(str.isdigit, match[2])) else match[0], text)
    form = form_of(question, text, told, wanted)
    kind = kind_of(text, options)
    if kind is Kind.TEXT and (form.scale != 1.0 or form.decimals is not None or form.integer):
        kind = Kind.NUMBER
    return Query(
        raw=question,
        text=text,
        kind=kind,
        operation=operation_of(text),
        form=form,
        terms=terms_of(placeless, names, KIND_WORDS.get(kind, frozenset())),
        focus=tuple(root for root in focus_of(text) if root not in KIND_WORDS.get(kind, frozenset())),
        focus_is_name=bool(_NAMED_FOCUS.search(text)),
        names=names,
        quotes=quotes_of(text),
        years=tuple(dict.fromkeys(int(year) for year in _YEAR.findall(text))),
        numbers=tuple(
            number
            for number in _NUMBER.findall(LIMIT.sub("", placeless))
            if not _YEAR.fullmatch(number) and number != str(wanted)
        ),
        pages=pages_of(text),
        labels=labels_of(text),
        options=options,
        wanted=wanted,
        ordinal=ordinal_of(text),
        from_end=bool(_LAST_ITEMS.search(text)),
    )
