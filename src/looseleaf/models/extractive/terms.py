"""The content words of a question, with their weights, and its focus."""

from __future__ import annotations

import re
from typing import Final

from looseleaf.models.extractive.mentions import LABEL
from looseleaf.models.extractive.words import QUESTION_WORDS, STOPWORDS, stem, stem_set, tokens, word_list

__all__ = ["COMPANY_WEIGHT", "DATE_WEIGHT", "focus_of", "terms_of"]

GENERIC_WEIGHT: Final = 0.35
"""Weight of words that any question may hold ("report", "number", "mentioned")."""
NAME_WEIGHT: Final = 1.3
NUMBER_WEIGHT: Final = 1.5
DATE_WEIGHT: Final = 0.4
"""Weight of the day and month of a date: the year is what tells columns apart."""
COMPANY_WEIGHT: Final = 0.2
"""Weight of the words of a company's full name: the document is about it, its tables do not repeat it."""
MOST_FOCUS: Final = 5

_GENERIC: Final = frozenset(
    stem(word)
    for word in word_list(
        """document documents paper report slide slides page pages text file book brochure manual guide handbook
        presentation write answer format show shows shown mention mentioned appear appears include included provide
        list name names call called total number many type types kind kinds give state stated describe described use
        used refer according figure table chart section end ended survey people percentage percent proportion value
        amount group groups category categories points time times date dates year years bullet bullets field fields
        entry entries entered box boxes row rows column columns letter highest lowest largest smallest biggest greatest
        most least fewest top order main key major primary different various several overall following
        subsection subsections part parts
        thing things component components"""
    )
)
_PAID: Final = re.compile(
    r"\bhow much (?:money )?(?:do|does|did|has|have|is|was|were|will)\b.*?\b(pay|paid|spend|spent|cost|earn|charge)",
    re.IGNORECASE,
)
"""Verbs that say no more than that an amount of money is asked for."""
_MONTHS: Final = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_MONTH: Final = re.compile(rf"(?!may\b){_MONTHS}", re.IGNORECASE)
_DAY: Final = re.compile(
    rf"\b{_MONTHS}\s+(\d{{1,2}})\b|\b(\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTHS}\b", re.IGNORECASE
)
_COUNTED: Final = re.compile(
    r"\b(?:the|first|last|top) (\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)\b", re.IGNORECASE
)
_WANTED: Final = re.compile(
    r"(?:\b(?:which|what|list|name|are|the)|['’]s) (two|three|four|five|six|seven|eight|nine|ten|\d{1,2})\b"
    r"(?! (?:percent|%))",
    re.IGNORECASE,
)
"""How many things are asked for: a text lists them and need not count them."""
_PLACES: Final = ("first", "last", "top", "second", "third")
_COMPANY: Final = re.compile(
    r"(?:[A-Z][\w&'’-]*,? )+(?:Inc|Corp|Corporation|Ltd|LLC|plc|PLC|AG|SE|Co|Company)\b\.?"
)
_UNIT: Final = re.compile(
    r",?\s*\(?\bin (?:us |usd |eur |gbp |u\.s\. )?(?:dollars? |\$ ?)?(?:thousand|million|billion)s?\)?(?=[\s?.,)]|$)"
    r"|,?\s+in (?:usd|eur|gbp|dollars|percent|%)(?=[\s?.,)]|$)",
    re.IGNORECASE,
)
"""The unit that an answer is asked in; it says nothing about where the answer stands."""
_MEASURED_IN: Final = re.compile(
    r"\bin (?:(?:tenths|hundreds|thousands|millions) of (?:a )?|(?:square|cubic|thousand|million|billion|newton) )*"
    r"([a-z]+(?:lit|met)(?:re|er)s?|kilograms?|grams?|milligrams?|tonnes?|tons?|pounds?|inches|feet|miles|seconds"
    r"|minutes|hours|days|weeks|months|years|watts?|kilowatts?|volts?|amperes?|hertz|bar|millibar|pascals?|lumens?|degrees"
    r"|euros?|dollars?|pounds?|yen|percent|points|thousands|millions|hundreds|operating hours)"
    r"(?: an? ([a-z]+)| per ([a-z]+))?\b",
    re.IGNORECASE,
)
"""A unit spelled out behind what is measured ("mass in grams"), which documents print as a sign."""
_SHARE_OF: Final = re.compile(
    r"\b(?:percentage|percent|proportion|share) of\s+(?:the |all )?([^?,.;:]+)", re.IGNORECASE
)
_FOCUS: Final = re.compile(
    r"\b(?:which|what|whose|how many|how much(?! (?:did|does|do|is|was|were|will|has|have)\b)|number of|amount of"
    r"|list(?: all)?(?: the)?|name(?: of)?(?: the)?|total)"
    r"\s+(?:(?:is|are|was|were|of|the|a|an|all)\s+)*([^?,.;:]+)",
    re.IGNORECASE,
)
_FOCUS_END: Final = frozenset(
    word_list(
        """is are was were do does did has have had can could will would should in on at of for from to by with that
        which who when where as between according mentioned listed shown included there be being and or per during
        under used uses"""
    )
)

_DETERMINERS: Final = frozenset(["the", "a", "an", "its", "their", "this", "these"])
"""Words that follow a verb, never the last noun of a phrase."""


def terms_of(text: str, names: tuple[str, ...], kind_words: frozenset[str] = frozenset()) -> dict[str, float]:
    """Stems of the content words with their weights, in order of appearance.

    Args:
        text: the question proper.
        names: its names, as written.
        kind_words: stems that only say which kind of answer is asked for.
    """
    light = _light_words(text)
    companies = stem_set(" ".join(match[0] for match in _COMPANY.finditer(text)))
    named = {stem(name) for name in names}
    weights: dict[str, float] = {}
    for token in tokens(_UNIT.sub("", text)):
        if token.lower() in STOPWORDS or token.lower() in QUESTION_WORDS:
            continue
        root = stem(token)
        weight = light.get(token.lower()) or _weight(token, root, root in companies, root in named)
        weight = min(weight, GENERIC_WEIGHT) if root in kind_words and token.islower() else weight
        weights[root] = max(weight, weights.get(root, 0.0))
    return weights


def _light_words(text: str) -> dict[str, float]:
    """Words that only place things: numbers of figures, places in a list, days and months."""
    light = {match[2].lower(): GENERIC_WEIGHT for match in LABEL.finditer(text)}
    light |= dict.fromkeys(_PLACES, GENERIC_WEIGHT)
    for pattern, weight in (
        (_COUNTED, GENERIC_WEIGHT),
        (_WANTED, GENERIC_WEIGHT),
        (_PAID, GENERIC_WEIGHT),
        (_DAY, DATE_WEIGHT),
    ):
        light |= {word.lower(): weight for match in pattern.finditer(text) for word in match.groups() if word}
    units = (word for match in _MEASURED_IN.finditer(text) for word in tokens(match[0]))
    return light | {word.lower(): GENERIC_WEIGHT for word in units if word.lower() not in STOPWORDS}


def _weight(token: str, root: str, in_company: bool, is_name: bool) -> float:
    if root in _GENERIC:
        return GENERIC_WEIGHT
    if _MONTH.match(token):
        return DATE_WEIGHT
    if any(c.isdigit() for c in token):
        return NUMBER_WEIGHT
    if in_company:
        return COMPANY_WEIGHT
    return NAME_WEIGHT if is_name else 1.0


def focus_of(text: str) -> tuple[str, ...]:
    """Stems of the noun phrase after the question word ("which *officer* …", "what percentage of *women* …")."""
    match = _SHARE_OF.search(text) or _FOCUS.search(text)
    words: list[str] = []
    found = tokens(match[1]) if match else []
    for token, following in zip(found, [*found, ""][1:], strict=True):
        if words and (token.lower() in _FOCUS_END or following.lower() in _DETERMINERS):
            break
        if token.lower() not in STOPWORDS:
            words.append(stem(token))
    return tuple(words[:MOST_FOCUS])
