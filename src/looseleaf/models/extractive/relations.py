"""Answers to "is A higher or lower than B": the word that holds, and by how much where that is asked too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.compound import COMPOSED, Ask
from looseleaf.models.extractive.form import COMPARATIVE
from looseleaf.models.extractive.number import find_numbers, plain
from looseleaf.models.extractive.query import Query

__all__ = ["relation_candidates"]

_RELATION: Final = re.compile(
    rf"^(?:(?P<when>[^,?]+), )?(?:is|are|was|were) (?P<left>.+?) {COMPARATIVE} or {COMPARATIVE} than (?P<right>[^?]+)\?"
    r"(?:\s*(?P<then>.+))?$",
    re.IGNORECASE,
)
_BY_HOW_MUCH: Final = re.compile(r"\bdifference\b|\bby how (?:much|many)\b|\bgap\b", re.IGNORECASE)
_ABOVE: Final = frozenset(["higher", "more", "larger", "greater", "bigger", "longer", "older"])
_THAT: Final = re.compile(r"^(?:that|those) (?=of|in|for|at|on)")
_MEASURED: Final = re.compile(r"^(?P<what>.+?) (?=(?:of|in|for|at|on) )")
DECIMALS: Final = 4


def relation_candidates(query: Query, ask: Ask) -> Iterator[Candidate]:
    """The comparative that holds between two numbers that are looked up, with their difference if it is asked for."""
    match = _RELATION.match(query.text)
    if match is None:
        return
    left, right = match["left"], match["right"].strip()
    measured = _MEASURED.match(left)
    if _THAT.match(right) and measured is not None:
        right = _THAT.sub(f"{measured['what']} ", right)
    tail = f" {match['when']}" if match["when"] else ""
    found = [ask(f"What is {side.strip()}{tail}?") for side in (left, right)]
    values = [_number(one) for one in found]
    first, second = found
    if first is None or second is None or first.evidence == second.evidence:
        return
    if values[0] is None or values[1] is None or values[0] == values[1]:
        return
    above = values[0] > values[1]
    word = next((one.lower() for one in match.group(3, 4) if (one.lower() in _ABOVE) == above), "")
    text = word
    if match["then"] and _BY_HOW_MUCH.search(match["then"]):
        text = str([word, plain(round(abs(values[0] - values[1]), DECIMALS), query.form.decimals)])
    if word:
        parts = tuple(Passage(one.page, one.evidence) for one in (first, second))
        score = COMPOSED * min(first.score, second.score)
        evidence = f"{first.evidence}; {second.evidence}"
        yield Candidate(text, first.page, evidence, score, "relation", computed=True, parts=parts)


def _number(found: Candidate | None) -> float | None:
    """The one number of an answer."""
    numbers = find_numbers(found.text) if found is not None else []
    return numbers[0].value if len(numbers) == 1 else None
