"""Answers in words: the part of a sentence that stands where the question has its question word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.page import PageModel, Sentence
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.span import name_spans
from looseleaf.models.extractive.words import STOPWORDS, stem_set, word_list

__all__ = ["clause_candidates"]

LEAST_COVERAGE: Final = 0.4
WORDED: Final = frozenset({Kind.TEXT, Kind.PERSON, Kind.PLACE, Kind.TITLE, Kind.NUMBER})
FRAGMENT: Final = 0.5
CONDITIONAL: Final = 1.1
LONGEST_ANSWER: Final = 25
GAP: Final = 3
"""Words that may stand between two words of the question in the matched stretch."""
_WORD: Final = re.compile(r"[^\s]+")
_SUBJECT: Final = re.compile(
    r"^(?:(?:in|on|at|for|by|according to|from)\b.*,\s*)?(?:who|what|which)\b(?!\s+(?:is|are|was|were)\b)"
    r"(?:\s+[\w-]+){0,4}?\s+(?!(?:do|does|did)\b)\w+",
    re.IGNORECASE,
)
_AUXILIARY: Final = re.compile(r"\b(?:do|does|did)\b", re.IGNORECASE)
_STOP_AT: Final = re.compile(
    r"[.;:]\s|[.;]$|,\s(?:which|who|where|while|and then|but|because|although)\b|\s\(|\)"
)
_LEADING: Final = re.compile(
    r"^(?:is|are|was|were|be|to|that|as|by|of|on|in|for|with|the|a|an|and|,|:|–|-|called|named|about)\s+",
    re.I,
)
_CONDITION: Final = re.compile(
    r"^what (?:happens |should .+?|can .+?|will .+?|to do )?(?:if|when)\b", re.IGNORECASE
)
_IF: Final = re.compile(
    r"\b(?:If|When|if|when)\s(?P<condition>[^,.()]+(?:\.\d[^,.()]*)*),\s(?P<then>[^.()]+(?:\.\d[^.()]*)*)[.)]?"
)
_DEFINED: Final = re.compile(
    r"^what (?:is|are) (?:an?|the meaning of)\b|\bdefin(?:e|ed|ition)\b|\bmeans?\b", re.IGNORECASE
)
_IS: Final = re.compile(
    r"\s*(?:\([^)]*\)\s*)?(?:is|are|means?|refers? to|denotes?|is defined as)\b", re.IGNORECASE
)
DEFINITION: Final = 1.3
SAYS_NOTHING: Final = stem_set("page document report text table figure section information details something")
"""Words for the place of an answer, which are none themselves."""
LINKING: Final = frozenset(
    word_list("and or but of in on at for from by with that which who as than then so because if when while")
)


def clause_candidates(pool: Pool) -> Iterator[Candidate]:
    """One candidate for each sentence that holds most of the question side by side."""
    if pool.query.kind not in WORDED or pool.query.form.listed:
        return
    if _CONDITION.match(pool.query.text):
        yield from _consequences(pool)
        return
    subject = _asks_subject(pool.query.text)
    for page, model in pool.pages():
        for sentence in model.sentences:
            coverage = pool.coverage(sentence.stems, stem_set(model.heading(sentence.line)))
            if coverage >= LEAST_COVERAGE and pool.roots(sentence.stems):
                yield from _from_sentence(pool, page, model, sentence, coverage, subject)


def _consequences(pool: Pool) -> Iterator[Candidate]:
    """For "what happens if …": the main clause of a sentence with that condition."""
    for page, model in pool.pages():
        for sentence in model.sentences:
            for match in _IF.finditer(sentence.text):
                coverage = pool.coverage(stem_set(match["condition"]), sentence.stems)
                if coverage >= LEAST_COVERAGE and pool.roots(stem_set(match["condition"])):
                    text = match["then"].strip(" .)")
                    score = CONDITIONAL * coverage * pool.page_factor(page)
                    yield Candidate(text, page, match[0], score, "clause:if", computed=True)


def _asks_subject(text: str) -> bool:
    """Whether the question word is the subject of its verb ("which method improves …")."""
    return bool(_SUBJECT.match(text)) and not _AUXILIARY.search(text)


def _from_sentence(
    pool: Pool, page: int, model: PageModel, sentence: Sentence, coverage: float, subject: bool
) -> Iterator[Candidate]:
    stretch = _stretch(pool, sentence.text)
    if stretch is None:
        return
    start, end, share = stretch
    before, after = sentence.text[:start], sentence.text[end:]
    if subject and sentence.text[0].islower():
        return
    text = _subject_text(before) if subject else _object_text(after)
    if not subject and _is_inside_brackets(sentence.text[:end]):
        return
    if not _is_phrase(text) or pool.knows_all(stem_set(text)) or stem_set(text) <= SAYS_NOTHING:
        return
    score = (1.0 if sentence.whole else FRAGMENT) * coverage * (0.45 + 0.45 * share) * pool.page_factor(page)
    if pool.query.kind in {Kind.PERSON, Kind.PLACE, Kind.NUMBER}:
        score *= 0.7
    if _is_definition(pool, before, after):
        score *= DEFINITION
    yield Candidate(text, page, sentence.text, score, "clause", computed=True)


def _is_inside_brackets(before: str) -> bool:
    return before.count("(") > before.count(")")


def _is_phrase(text: str) -> bool:
    """Whether a text can be an answer in words: it does not start with a number, a bracket or a linking word."""
    words = text.split()
    return bool(words) and not text[0].isdigit() and text[0] not in "$€£(" and words[0].lower() not in LINKING


def _is_definition(pool: Pool, before: str, after: str) -> bool:
    """Whether a sentence says what the thing is that the question asks about."""
    return bool(_DEFINED.match(pool.query.text)) and len(before.split()) <= 1 and bool(_IS.match(after))


def _stretch(pool: Pool, text: str) -> tuple[int, int, float] | None:
    """Start, end and weight share of the densest run of question words."""
    words = [(m.start(), m.end(), stem_set(m[0])) for m in _WORD.finditer(text)]
    best: tuple[float, int, int] | None = None
    first = last = -1
    seen: set[str] = set()
    for index, (_, _, stems) in enumerate(words):
        hit = pool.roots(stems)
        if not hit:
            continue
        if last < 0 or index - last > GAP + 1:
            first, seen = index, set()
        seen |= hit
        last = index
        weight = pool.weight(seen)
        if best is None or weight > best[0]:
            best = (weight, first, last)
    if best is None:
        return None
    return words[best[1]][0], words[best[2]][1], best[0] / pool.total


def _subject_text(before: str) -> str:
    """The noun phrase right before the stretch: a name, else the last few words."""
    names = name_spans(before)
    if names and len(before) - names[-1].end < 25:
        return names[-1].text
    words = re.split(r"[.;:,]\s", before)[-1].split()
    while words and words[-1].lower() in STOPWORDS:
        words.pop()
    return " ".join(words[-6:])


def _object_text(after: str) -> str:
    """What follows the stretch, up to the end of its clause."""
    text = after.strip(" ,")
    while (match := _LEADING.match(text)) is not None:
        text = text[match.end() :]
    match = _STOP_AT.search(text)
    text = text[: match.start()] if match else text
    return " ".join(text.split()[:LONGEST_ANSWER]).strip(" .,;:")
