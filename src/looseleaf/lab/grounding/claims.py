"""`Claims`: what a finding claims, taken apart: numbers with their words, codes, names, and the other words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from looseleaf.lab.grounding.dates import without_days
from looseleaf.lab.grounding.mentions import Mention, codes_in, mentions_in
from looseleaf.lab.grounding.places import parts_of
from looseleaf.lab.grounding.units import UNITS, Unit, units_in
from looseleaf.lab.specificity import GENERIC_WORDS, without_references
from looseleaf.models.extractive.words import STOPWORDS, stem, stem_set, stems, tokens

__all__ = ["Claims"]

_ENUMERATOR = re.compile(r"(?:(?<=^)|(?<=[\n;] ))\(?\d{1,2}[.)]\s")
_HEDGE = re.compile(
    r"\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|over|more than|less than|under|some|circa|up to"
    r"|at least)\s+(?:[$€£]|US\$|EUR |USD )?$|[~≈]\s?$",
    re.IGNORECASE,
)
_NAME_RUN = re.compile(r"(?<!\w)[A-Z][\w’'-]*(?:(?:[ ]|[ ](?:of|de|von|van|der|the|and|&)[ ])[A-Z][\w’'-]*)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?•]\s+|[“\"(]\s?)$")
MONTHS_AND_DAYS = frozenset(
    (
        *("january", "february", "march", "april", "may", "june"),
        *("july", "august", "september", "october", "november", "december"),
        *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    )
)
UNIT_WORDS = frozenset(UNITS)
LONGEST_VALUE = 8
"""Words of what counts as a value behind a colon."""
VERDICTS = frozenset({"yes", "no", "true", "false", "none", "not answerable"})
"""Answers that no page spells out."""
LOOKED_BACK = 24
"""Characters before a number in which a hedge ("about") may stand."""


class Claims:
    """A finding, taken apart.

    Args:
        text: the finding.
        question: the question that it was written for: what it repeats of it is context, not claim. May be empty.
    """

    def __init__(self, text: str, question: str = "") -> None:
        self.text = text
        self.question = question
        self._plain = without_days(_ENUMERATOR.sub(lambda m: " " * len(m.group()), without_references(text)))

    @cached_property
    def asked(self) -> frozenset[str]:
        """Stems of the question."""
        return stem_set(self.question)

    @cached_property
    def numbers(self) -> tuple[Mention, ...]:
        """Numbers, references to pages and tables left out."""
        return mentions_in(self._plain)

    @cached_property
    def values(self) -> tuple[Mention, ...]:
        """The numbers that are no years."""
        return tuple(number for number in self.numbers if not number.year)

    def is_asked(self, number: Mention) -> bool:
        """Whether the question gives a number, so that the finding only repeats it."""
        return any(number.value == other.value for other in mentions_in(self.question))

    def hedged(self, number: Mention) -> bool:
        """Whether a number is given as approximate."""
        return bool(_HEDGE.search(self._plain[max(0, number.start - LOOKED_BACK) : number.start]))

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Codes such as `UVN-8321`."""
        return tuple(dict.fromkeys(codes_in(self.text)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Runs of capitalised words; a single one at the start of a sentence is left to `starters`."""
        return tuple(dict.fromkeys(name for name, starts in self._name_runs if not starts))

    @cached_property
    def starters(self) -> tuple[str, ...]:
        """Single capitalised words at the start of a sentence: names or not."""
        return tuple(dict.fromkeys(name for name, starts in self._name_runs if starts))

    @cached_property
    def _name_runs(self) -> list[tuple[str, bool]]:
        return list(self._runs())

    def _runs(self) -> Iterator[tuple[str, bool]]:
        codes = set(self.codes)
        for match in _NAME_RUN.finditer(self.text):
            starts = bool(_SENTENCE_START.search(self.text[: match.start()]))
            words = match.group().split()
            if starts and words[0].lower() in STOPWORDS:
                words, starts = words[1:], False
            while words and not words[0][0].isupper():
                words = words[1:]
            words = [
                word
                for word in words
                if word.lower() not in MONTHS_AND_DAYS and word not in codes | UNIT_WORDS
            ]
            while words and not words[-1][0].isupper():
                words = words[:-1]
            if words:
                yield " ".join(words).rstrip("’'"), starts and len(words) == 1

    @cached_property
    def words(self) -> frozenset[str]:
        """Stems of all content words and years, generic ones and other numbers left out."""
        values = {stem(token) for number in self.values for token in tokens(number.text)}
        return stem_set(self._plain) - values - GENERIC_WORDS

    @cached_property
    def new_words(self) -> tuple[str, ...]:
        """Content stems that the question does not have, in order, numbers left out."""
        found = (
            word
            for word in stems(self._plain)
            if word in self.words and word not in self.asked and not _digits(word)
        )
        return tuple(dict.fromkeys(found))

    @cached_property
    def value(self) -> str:
        """What stands behind the last colon of "what it is about: value", where it is short; else empty."""
        about, colon, value = self.text.rpartition(": ")
        words = value.split()
        short = 0 < len(words) <= LONGEST_VALUE and bool(stem_set(about))
        return value.strip(" .") if colon and short and value.strip(" .").lower() not in VERDICTS else ""

    def context(self, number: Mention) -> frozenset[str]:
        """Stems that say what a number is: those of its own part of the finding where the parts are parallel."""
        for start, end, part in parts_of(self._plain, self.numbers):
            if start <= number.start < end:
                return self.words & stem_set(part)
        return self.words

    def units(self, number: Mention) -> tuple[Unit, ...]:
        """Units at a number; of a finding's only number also those that the finding names elsewhere."""
        found = list(number.units)
        if len(self.values) == 1:
            for unit in units_in(self._plain):
                if all(unit.family != known.family for known in found):
                    found.append(unit)
        return tuple(found)


def _digits(word: str) -> bool:
    return any(character.isdigit() for character in word)
