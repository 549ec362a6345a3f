"""`Form`: how an answer is to be written, and the part of a question that says so."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from looseleaf.models.extractive.mentions import quotes_of
from looseleaf.models.extractive.words import number_word

__all__ = ["COMPARATIVE", "Form", "form_of", "options_of", "split_instructions"]


class Form(msgspec.Struct, frozen=True):
    """How the answer is to be written.

    Attributes:
        decimals: digits after the point that the question asks for.
        scale: divisor for "in millions" and the like (1 where the question names none).
        listed: whether a list is asked for, by its wording or by several questions in one.
        order: `"ascending"`, `"descending"` or `"alphabetical"`, or empty.
        date: date pattern in the question's own letters (`YYYY-MM`), or empty.
        integer: whether a whole number is asked for.
    """

    decimals: int | None = None
    scale: float = 1.0
    listed: bool = False
    order: str = ""
    date: str = ""
    integer: bool = False


_INSTRUCTION: Final = re.compile(
    r"(?:please\b|write\b|wri\w+ (?:down )?the answer|an[sw]{1,2}[eo]?r\b|round\b|give\b|return\b|directly\b"
    r"|enumerate (?:each|all)\b|format\b|your answer\b|the answer\b|list (?:the|all the|them) (?:\w+ )?(?:in|with|like)"
    r"\b|use\b|for example\b|e\.g\.|save\b|represent\b|express\b|note that\b|list them\b|the result\b)",
    re.IGNORECASE,
)
"""How a sentence starts that says how to write the answer."""
_SENTENCE: Final = re.compile(r"(?<=[?.!])\s*(?=[A-Z\[(])|(?<=\?)\s*|\n+")
_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE: Final = re.compile(
    r"\bin (?:us |usd |eur |gbp |u\.s\. )?(?:dollars? |\$ ?)?(thousand|million|billion|trillion)s?\b",
    re.IGNORECASE,
)
_NO_PLURAL: Final = (
    r"(?:this|was|is|does|has|happens|causes|makes|comes|follows|determines|drives|helps|series|news|lens|gas|species"
    r"|means|headquarters|always|perhaps|\w+ics)\b"
)
"""Words in -s that are no plurals."""
_NO_NOUN: Final = (
    r"(?:is|are|was|were|does|did|do|has|have|had|the|of|in|if|happens|should|would|will|can|could)\b"
)
_BEHIND_PLURAL: Final = (
    r"(?: (?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|may|with|without|of|in|on|at|for"
    r"|from|to|by|that|which|mentioned|shown|listed|included|used|appear|belong|contain|include|show|need|use|make"
    r"|form)\b|\?|$|,)"
)
"""What follows a plural; behind a noun, a word in -s before anything else may be its verb ("which method uses …")."""
_PLURAL: Final = re.compile(
    r"\b(?:what|which|who) are\b"
    rf"|\b(?:what|which) (?!{_NO_PLURAL})(?:\w{{2,}}(?<![sui])s|people|children|men|women|criteria)\b(?!['’])"
    rf"|\b(?:what|which) (?:(?!{_NO_NOUN})[\w-]+ ){{1,3}}(?!{_NO_PLURAL})\w{{2,}}(?<![sui])s\b(?={_BEHIND_PLURAL})"
    r"|,? and (?:what|which|who|how many|how much) (?:\w+ )+(?:does|do|did|is|are|was|were) "
    r"(?:it|they|he|she|that|this)\b"
    r"|^list\b|^enumerate\b|\btell me all\b|\bsub-?sections? .*\binclude\b|\bconsists? of\b|\bmade up of\b",
    re.IGNORECASE,
)
"""Wordings that ask for several things."""
_EITHER: Final = re.compile(
    r"(?:,|:|\bis it|\bmore|\bbetween)\s+(?:the\s+)?([^,:?]{1,40}?),?\s+or\s+(?:the\s+)?([^,?]{1,40})\?"
)

COMPARATIVE: Final = (
    r"(higher|lower|more|less|larger|smaller|greater|fewer|bigger|longer|shorter|older|younger)"
)
_COMPARATIVES: Final = re.compile(rf"\b{COMPARATIVE} or {COMPARATIVE}\b", re.IGNORECASE)
"""What a comparison can turn out to be ("higher or lower than")."""
_NAMES: Final = re.compile(r"\b([A-Z][\w-]*(?: [a-z]+)?) or ([A-Z][\w-]*(?: [a-z]+)?)\?$")
"""Two names at the end of a question ("… in Karst village or Tarn village?")."""


def split_instructions(question: str) -> tuple[str, str]:
    """The question proper, and what follows it on how to write the answer."""
    asked: list[str] = []
    told: list[str] = []
    for sentence in filter(None, map(str.strip, _SENTENCE.split(question.strip()))):
        (told if asked and _INSTRUCTION.match(sentence) else asked).append(sentence)
    return " ".join(asked), " ".join(told)


def form_of(question: str, text: str, told: str, wanted: int) -> Form:
    """The form that a question asks for.

    Args:
        question: the whole question.
        text: the question proper.
        told: its instructions.
        wanted: number of items asked for, or 0.
    """
    whole = question.lower()
    scale = _SCALE.search(whole)
    order = re.search(r"\b(ascending|descending|alphabetical)", whole)
    date = re.search(r"\b[YMD]{2,4}(?:[-/.][YMD]{2,4})+\b", question)
    listed = bool(re.search(r"\blists?\b|\benumerate|\[", told.lower() or whole)) or whole.startswith("list")
    return Form(
        decimals=_decimals(whole),
        scale=_SCALES[scale[1]] if scale else 1.0,
        listed=listed or wanted > 1 or text.count("?") > 1 or bool(_PLURAL.search(text)),
        order=order[1] if order else "",
        date=date[0] if date else "",
        integer=bool(re.search(r"\bint(?:eger)?\b", whole)),
    )


def _decimals(whole: str) -> int | None:
    match = re.search(r"(\w+)[ -]decimals?\b", whole)
    if match is None:
        return None
    return int(match[1]) if match[1].isdigit() else number_word(match[1])


def options_of(text: str, told: str) -> tuple[str, ...]:
    """The alternatives that a question gives: quoted in its instructions, or joined by "or"."""
    if re.search(r"answer ['\"‘“]?y[es]{2}['\"’”]? or ['\"‘“]?no", f"{text} {told}", re.IGNORECASE):
        return ("yes", "no")
    directed = re.search(r"directly|either|answer ['\"‘“]", told, re.IGNORECASE)
    quoted = quotes_of(told) if directed else ()
    if len(quoted) > 1:
        return quoted
    compared = _COMPARATIVES.search(text)
    if compared is not None:
        return compared[1].lower(), compared[2].lower()
    match = _EITHER.search(text) or _NAMES.search(text)
    return (match[1].strip(), match[2].strip()) if match else ()
