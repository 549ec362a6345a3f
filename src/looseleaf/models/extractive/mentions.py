"""What a question mentions: pages, figures, quoted phrases, names, places in a list."""

from __future__ import annotations

import re
from typing import Final

from looseleaf.models.extractive.words import (
    QUESTION_WORDS,
    STOPWORDS,
    number_word,
    ordinal_word,
    roman,
    word_list,
)

__all__ = [
    "LABEL",
    "LIMIT",
    "PAGE",
    "labels_of",
    "names_of",
    "ordinal_of",
    "pages_of",
    "quotes_of",
    "wanted_of",
]

STARTERS: Final = frozenset(
    word_list(
        """after before during within since until without despite besides across around among amongst against via
        compared comparing considering excluding including regarding concerning add assume assuming suppose looking
        see there yes no directly please only out because while whether"""
    )
)
"""Words that start questions with a capital and are no names."""
MOST_PAGES: Final = 50
"""Longest range of pages that is taken for one."""
LABEL: Final = re.compile(
    r"\b(figure|fig|table|section|appendix|chapter|unit|step|question|part|exhibit|quarter|chart)s?\.?[\s-]*"
    r"(\d+|[IVX]+)\b(?!\.\d)",
    re.IGNORECASE,
)
"""A numbered thing: its name and its number."""
LIMIT: Final = re.compile(
    r"\b(?:(?P<at_least>at least|no less than|no fewer than)|(?P<at_most>at most|no more than|up to)"
    r"|(?P<more>(?:more|greater|higher|larger|bigger|longer) than|over|above|exceed\w*)"
    r"|(?P<less>(?:less|fewer|lower|smaller|shorter) than|under|below)|(?P<exactly>exactly|equal to))"
    r"\s+(?P<number>[$€£]?\d[\d,.]*\d%?|[$€£]?\d%?)(?!\w)",
    re.IGNORECASE,
)
"""A condition on values: the wording's group and the number that limits them."""
PAGE: Final = re.compile(
    r"\b(pages?|slides?)\s*(?:numbers?\s*|no\.?\s*)?"
    r"((?:\d+|[a-z]+)(?:(?:\s*(?:,|and|to|through|&|-|–)\s*)+(?:pages?\s*|slides?\s*)?\d+)*)",
    re.IGNORECASE,
)
_ORDINALPAGE: Final = re.compile(r"\b(\w+)\s+(?:cover\s+)?(?:page|slide)\b", re.IGNORECASE)
_COVER: Final = re.compile(r"\b(?:on|of) the (?:front )?cover\b", re.IGNORECASE)
_QUOTE: Final = re.compile(r"[\"“]([^\"”]{2,120})[\"”]|(?<!\w)['‘]([^'’]{2,80})['’](?!\w)")
_WANTED: Final = re.compile(
    r"\b(?:what|which|who|list|name|are|were) (?:are |were )?(?:the |[A-Z][\w-]*['’]s? )?"
    r"(?:(?:first|top|last|main|key) )?(\w+(?:-\w+)?) \w+",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(
    r"\bthe (\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final)\s+"
    r"(?!page|slide|figure|fig|table|chart|column|row|half|quarter|time|largest|highest|smallest|lowest|most|cover|two"
    r"|three|four|\d)[a-z]",
    re.IGNORECASE,
)

_NUMBERED_ITEM: Final = re.compile(
    r"\b(?:bullet(?: points?)?|item|point|entry)s? (?:number |no\.? ?|#)?(\d{1,2})\b", re.IGNORECASE
)


def pages_of(text: str) -> tuple[int, ...]:
    """Physical pages that are named by number ("pages 3 to 5"), by place ("the second page") or as cover."""
    found: list[int] = []
    for match in PAGE.finditer(text):
        found += _numbers(match[2])
    for match in _ORDINALPAGE.finditer(text):
        value = ordinal_word(match[1])
        found += [value] if value else []
    if _COVER.search(text):
        found.append(1)
    return tuple(dict.fromkeys(found))


def _numbers(text: str) -> list[int]:
    """The numbers of "3, 4 and 7", of "3 to 7" or of "three"."""
    numbers = [int(digits) for digits in re.findall(r"\d+", text)]
    if not numbers:
        value = number_word(text)
        return [value] if value else []
    is_range = len(numbers) == 2 and re.search(r"to|through|-|–", text) is not None
    if is_range and numbers[0] < numbers[1] <= numbers[0] + MOST_PAGES:
        return list(range(numbers[0], numbers[1] + 1))
    return numbers


def labels_of(text: str) -> tuple[tuple[str, int], ...]:
    """Numbered things, e.g. `("figure", 3)`."""
    found = []
    for match in LABEL.finditer(text):
        value = int(match[2]) if match[2].isdigit() else roman(match[2])
        if value is not None:
            name = match[1].lower()
            found.append(("figure" if name == "fig" else name, value))
    return tuple(dict.fromkeys(found))


def quotes_of(text: str) -> tuple[str, ...]:
    """Quoted phrases, without their marks."""
    return tuple((match[1] or match[2]).strip() for match in _QUOTE.finditer(text))


def names_of(text: str) -> tuple[str, ...]:
    """Capitalised or mixed-case words that do not merely start a sentence."""
    found = []
    for match in re.finditer(r"[^\W\d_][\w&'’-]*", text):
        word = match[0]
        before = text[: match.start()].rstrip()
        starts = not before or before[-1] in ".?!:"
        plain = word[1:].islower() and word.lower() in QUESTION_WORDS | STARTERS
        if word[0].isupper() and word.lower() not in STOPWORDS and not (starts and plain):
            found.append(word)
    return tuple(dict.fromkeys(found))


def wanted_of(text: str) -> int:
    """Number of items asked for ("the *three* reasons"), or 0."""
    match = _WANTED.search(text)
    if match is None:
        return 0
    value = int(match[1]) if match[1].isdigit() and len(match[1]) < 3 else number_word(match[1])
    return value if value and value > 1 else 0


def ordinal_of(text: str) -> int:
    """Place in a list that is named ("the *second* objective"), -1 for the last, or 0."""
    match = _NUMBERED_ITEM.search(text)
    if match is not None:
        return int(match[1])
    match = _PLACE.search(text)
    if match is None:
        return 0
    return -1 if match[1].lower() in {"last", "final"} else ordinal_word(match[1]) or 0
