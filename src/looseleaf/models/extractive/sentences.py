"""Answers from running text: typed spans in the sentences that cover the question best."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import NUMERIC, Kind
from looseleaf.models.extractive.lookup import COMPUTED, HALF_ANSWER
from looseleaf.models.extractive.number import find_numbers
from looseleaf.models.extractive.page import PageModel, Sentence
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.span import Span, find_spans, nearby
from looseleaf.models.extractive.words import stem, stem_set, tokens

__all__ = ["sentence_candidates"]

LEAST_COVERAGE: Final = 0.3
"""Sentences that hold a smaller share of the question are not looked at."""
UNIT_WINDOW: Final = 4
"""Tokens after a number in which the thing counted must stand."""
UNIT_SIGNS: Final = {
    stem(word): signs
    for word, signs in (
        ("grams", ("g", "gr")),
        ("kilograms", ("kg",)),
        ("meters", ("m",)),
        ("centimeters", ("cm",)),
        ("millimeters", ("mm",)),
        ("kilometers", ("km",)),
        ("miles", ("mi",)),
        ("seconds", ("s", "sec")),
        ("minutes", ("min",)),
        ("hours", ("h", "hr", "hrs")),
        ("liters", ("l",)),
        ("watts", ("w",)),
        ("volts", ("v",)),
        ("degrees", ("c", "f")),
        ("percent", ("%",)),
        ("dollars", ("$",)),
    )
}
"""Signs that documents print for units which questions spell out."""
OWNER_WORDS: Final = 2
"""Words before a bracket that say whose the number in it is."""
_BRACKETED: Final = re.compile(r"\((?=\d)")
OWNED: Final = 1.1
NOT_OWNED: Final = 0.75
SHARE_OF_PEOPLE: Final = 1.0
PEOPLE: Final = stem_set(
    "people person adults americans respondents voters users students workers parents men women children teens seniors "
    "employees customers households families citizens immigrants residents public"
)
"""Words for people: surveys answer "how many people" by a percentage."""
ADJACENT: Final = 1.25
"""Factor for a number right before the thing counted."""
SPECIFIC: Final = 3.0
"""Weight of terms (plus 1) from which on a question is specific: with fewer, any sentence about the thing covers it."""
SEVERAL: Final = 0.85
NO_UNIT: Final = 0.55
"""Factor for a count whose sentence does not say what is counted right after it."""
NEAR_SHARE: Final = 0.5
"""Part of a score that only the words near the span earn: long sentences hold many words by chance."""
PHRASE_BONUS: Final = 0.08
MOST_PHRASES: Final = 3
FRAGMENT: Final = 0.7
"""Factor for words that do not read as a sentence."""
FIRST_WORD: Final = 0.6
FRAGMENT_NUMBERS: Final = 0.15
MOST_FRAGMENT_NUMBERS: Final = 2
"""Words with more numbers that do not read as a sentence are a chart or table, which others read."""
TYPED: Final = frozenset(Kind) - {Kind.TEXT, Kind.CHOICE, Kind.YES_NO, Kind.TITLE, Kind.PAGE}
_YEAR: Final = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?!\d|,\d{3})")
_SHARES: Final = frozenset({Kind.PERCENT, Kind.MONEY})
_COUNTED: Final = frozenset({Kind.COUNT, Kind.NUMBER})


def sentence_candidates(pool: Pool) -> Iterator[Candidate]:
    """One candidate for each typed span of each sentence that covers the question well enough."""
    if pool.query.kind not in TYPED:
        return
    for page, model in pool.pages():
        for position, sentence in enumerate(model.sentences):
            context = _context(model, position)
            coverage = pool.coverage(sentence.stems, context)
            if coverage >= LEAST_COVERAGE and pool.roots(sentence.stems):
                yield from _several(pool, page, sentence, coverage)
                yield from _from_sentence(pool, page, model, sentence, coverage)


def _context(model: PageModel, position: int) -> frozenset[str]:
    """Stems of the heading above and of the sentence before."""
    sentence = model.sentences[position]
    before = model.sentences[position - 1].stems if position else frozenset()
    return before | stem_set(model.heading(sentence.line))


def _from_sentence(
    pool: Pool, page: int, model: PageModel, sentence: Sentence, coverage: float
) -> Iterator[Candidate]:
    if pool.query.kind in NUMERIC and not sentence.whole and _is_tabular(sentence.text):
        return
    asked = pool.query.text.lower()
    if (
        pool.query.years
        and pool.query.kind in _COUNTED | {Kind.MONEY, Kind.PERCENT}
        and _is_listed_by_year(sentence)
    ):
        return
    for span in find_spans(sentence.text, pool.query.kind):
        if span.text.lower() in asked or pool.knows_all(stem_set(span.text)):
            continue
        near = pool.coverage(stem_set(nearby(sentence.text, span.start, span.end)))
        score = (
            ((1.0 - NEAR_SHARE) * coverage + NEAR_SHARE * near)
            * (1.0 if sentence.whole else FRAGMENT)
            * pool.page_factor(page)
            * _nearness(pool, sentence.text, span)
            * _phrase_factor(pool, sentence.text, span)
            * _owner_factor(pool, sentence.text, span)
            * _unit_factor(pool, sentence.text, span)
        )
        if pool.query.kind is Kind.PERSON and _is_first_word(model, span):
            score *= FIRST_WORD
        if pool.query.kind in _SHARES:
            score *= pool.focus_factor(stem_set(nearby(sentence.text, span.start, span.end)))
        if pool.query.operation in COMPUTED:
            score *= HALF_ANSWER
        yield Candidate(span.text, page, sentence.text, score, f"sentence:{pool.query.kind}")


def _is_first_word(model: PageModel, span: Span) -> bool:
    """Whether a name is one word that starts its sentence or a line: then it may be any word."""
    if " " in span.text:
        return False
    return span.start == 0 or any(line.text.startswith(f"{span.text} ") for line in model.lines)


def _is_tabular(text: str) -> bool:
    """Whether words that do not read as a sentence hold so many numbers that they are a chart or a table."""
    return len(find_numbers(text)) > max(MOST_FRAGMENT_NUMBERS, FRAGMENT_NUMBERS * len(text.split()))


def _several(pool: Pool, page: int, sentence: Sentence, coverage: float) -> Iterator[Candidate]:
    """All spans of a sentence as a list, where several things of a kind are asked for."""
    if not pool.query.form.listed or pool.query.kind is Kind.COUNT or not sentence.whole:
        return
    asked = pool.query.text.lower()
    spans = [
        span.text for span in find_spans(sentence.text, pool.query.kind) if span.text.lower() not in asked
    ]
    texts = list(dict.fromkeys(spans))
    if len(texts) > 1 and (not pool.query.wanted or len(texts) == pool.query.wanted):
        score = SEVERAL * coverage * pool.page_factor(page)
        yield Candidate(str(texts), page, sentence.text, score, f"sentence:{pool.query.kind}s", computed=True)


def _is_listed_by_year(sentence: Sentence) -> bool:
    """Whether the sentence lists values of several years, which `fact` reads year by year."""
    return len(set(_YEAR.findall(sentence.text))) > 1


def _nearness(pool: Pool, text: str, span: Span) -> float:
    """1 where question terms stand next to the span, down to .7 where they are far away."""
    before = [stem(token) for token in tokens(text[: span.start])][-12:]
    after = [stem(token) for token in tokens(text[span.end :])][:12]
    distances = [i for i, root in enumerate(reversed(before)) if root in pool.canon]
    distances += [i for i, root in enumerate(after) if root in pool.canon]
    near = sorted(distances)[:3]
    return 0.7 + 0.3 * sum(1.0 / (1.0 + distance / 4.0) for distance in near) / 3.0


def _phrase_factor(pool: Pool, text: str, span: Span) -> float:
    """More than 1 where the words around the span follow each other in the question too ("not at all (41%)")."""
    around = [*tokens(text[: span.start])[-5:], "", *tokens(text[span.end :])[:4]]
    pairs = {f"{a} {b}".lower() for a, b in pairwise(around) if a and b}
    return 1.0 + PHRASE_BONUS * min(sum(pair in pool.asked for pair in pairs), MOST_PHRASES)


def _owner_factor(pool: Pool, text: str, span: Span) -> float:
    """For a number in brackets: whether the words before it fit the question as well as those before any other."""
    if not text[: span.start].endswith("("):
        return 1.0
    owners = {match.start() + 1: _owner(pool, text[: match.start()]) for match in _BRACKETED.finditer(text)}
    mine = owners.get(span.start, 0)
    return OWNED if mine and mine == max(owners.values()) else NOT_OWNED


def _owner(pool: Pool, before: str) -> int:
    """How many terms of the question the words right before a bracket hold."""
    return len(pool.roots(stem_set(" ".join(before.split()[-OWNER_WORDS:]))))


def _unit_factor(pool: Pool, text: str, span: Span) -> float:
    if pool.query.kind not in _COUNTED or not pool.focus:
        return 1.0
    if pool.query.kind is Kind.COUNT and span.text.endswith("%"):
        return SHARE_OF_PEOPLE if set(pool.focus) & PEOPLE or pool.query.focus_is_name else NO_UNIT
    after = [stem(token) for token in tokens(text[span.end :])][:UNIT_WINDOW]
    short = min(1.0, (pool.total + 1.0) / SPECIFIC) if pool.query.kind is Kind.COUNT else 1.0
    if pool.focus[-1] in after or (after and after[0] in UNIT_SIGNS.get(pool.focus[-1], ())):
        return (ADJACENT if after[0] == pool.focus[-1] else 1.15) * short
    if any(root in after for root in pool.focus):
        return short
    return NO_UNIT if pool.query.kind is Kind.COUNT else 0.8
