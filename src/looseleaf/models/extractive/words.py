"""Words: tokens, stems, and the small closed word lists that the extractor relies on.

The lists are ordinary English function words and number words; none comes from a benchmark.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import Stemmer

__all__ = [
    "QUESTION_WORDS",
    "STOPWORDS",
    "number_word",
    "ordinal_word",
    "roman",
    "stem",
    "stem_set",
    "stems",
    "tokens",
    "word_list",
]

_TOKEN: Final = re.compile(r"\d+(?:[.,]\d+)+(?![^\W_])|[^\W_]+(?:['’][^\W\d_]+)?|[%$€£]")


def word_list(text: str) -> list[str]:
    """The words of a list that is written as one text, for readability."""
    return text.split()


STOPWORDS: Final = frozenset(
    word_list(
        """a an the of in on at to for from by with and or as is are was were be been being do does did done has
        have had having this that these those it its they them their there here he she his her him we our you your
        i my me us which what who whom whose when where why how much many more most some any all each per than then
        so such not no nor but if into onto about over under between among during according based following given
        would could should can may might will shall also only just both either s t"""
    )
)
"""Function words: they say nothing about what a question asks for."""

QUESTION_WORDS: Final = frozenset(
    word_list(
        """what which who whom whose when where why how name list tell find identify state enumerate compare compared
        provide calculate determine write give return"""
    )
)
"""Words that ask or order."""

_UNITS: Final = word_list(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty"""
)
_TENS: Final = {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_ORDINALS: Final = word_list("first second third fourth fifth sixth seventh eighth ninth tenth")
_NUMBER_WORDS: Final = {word: value for value, word in enumerate(_UNITS)} | _TENS
_ORDINAL_WORDS: Final = {word: value for value, word in enumerate(_ORDINALS, start=1)}
_ROMANS: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")

_FOOTNOTED: Final = re.compile(r"([a-z]{5,})\d{1,2}")
"""A word with the number of a footnote right behind it."""
_IRREGULAR: Final = {
    form: base
    for base, forms in (
        ("speak", "spoke spoken"),
        ("hold", "held"),
        ("meet", "met"),
        ("build", "built"),
        ("write", "wrote written"),
        ("find", "found"),
        ("give", "gave given"),
        ("take", "took taken"),
        ("make", "made"),
        ("pay", "paid"),
        ("sell", "sold"),
        ("buy", "bought"),
        ("win", "won"),
        ("begin", "began begun"),
        ("grow", "grew grown"),
        ("choose", "chose chosen"),
        ("spend", "spent"),
        ("send", "sent"),
        ("keep", "kept"),
        ("tell", "told"),
        ("say", "said"),
        ("get", "got gotten"),
        ("come", "came"),
        ("go", "went gone"),
        ("fall", "fell fallen"),
        ("rise", "rose risen"),
        ("teach", "taught"),
        ("think", "thought"),
        ("bring", "brought"),
        ("become", "became"),
        ("draw", "drew drawn"),
        ("wear", "wore worn"),
        ("break", "broke broken"),
        ("lose", "lost"),
        ("show", "shown"),
        ("know", "knew known"),
        ("drive", "drove driven"),
        ("eat", "ate eaten"),
        ("run", "ran"),
        ("sit", "sat"),
    )
    for form in forms.split(" ")
}
"""Irregular past forms, which a stemmer leaves apart from their verb."""
_STEMMER: Final = Stemmer.Stemmer("english")


def tokens(text: str) -> list[str]:
    """Words, numbers (with their separators) and currency or percent signs, in order."""
    return _TOKEN.findall(text)


@lru_cache(maxsize=65536)
def stem(token: str) -> str:
    """Stem of one token: lower case, no possessive, no thousands separators, Snowball English."""
    word = token.lower().replace("’", "'")
    if any(c.isdigit() for c in word):
        noted = _FOOTNOTED.fullmatch(word)
        if noted is None:
            return word.replace(",", "")
        word = noted[1]
    word = word.removesuffix("'s").replace("'", "")
    return str(_STEMMER.stemWord(_IRREGULAR.get(word, word)))


def stems(text: str) -> list[str]:
    """Stems of the content words of a text, in order, with repetitions."""
    return [stem(token) for token in tokens(text) if token.lower() not in STOPWORDS]


def stem_set(text: str) -> frozenset[str]:
    """The distinct stems of a text's content words."""
    return frozenset(stems(text))


def number_word(word: str) -> int | None:
    """Value of an English number word up to ninety-nine (`three`, `twenty-five`), or `None`."""
    lowered = word.lower()
    if lowered in _NUMBER_WORDS:
        return _NUMBER_WORDS[lowered]
    tens, _, unit = lowered.partition("-")
    if unit in _UNITS[1:10] and tens in {"twenty", *_TENS}:
        return _NUMBER_WORDS[tens] + _NUMBER_WORDS[unit]
    return None


def ordinal_word(word: str) -> int | None:
    """Value of an ordinal (`third`, `3rd`), or `None`."""
    lowered = word.lower()
    if lowered in _ORDINAL_WORDS:
        return _ORDINAL_WORDS[lowered]
    match = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", lowered)
    return int(match[1]) if match else None


def roman(word: str) -> int | None:
    """Value of a Roman numeral up to ten, or `None`."""
    lowered = word.lower()
    return _ROMANS.index(lowered) + 1 if lowered in _ROMANS else None
