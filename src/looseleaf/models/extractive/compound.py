"""Answers to questions that hold several: each is asked alone, and the answers are listed or computed with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from looseleaf.models.extractive.candidate import Candidate, Passage
from looseleaf.models.extractive.conditions import condition_of
from looseleaf.models.extractive.kinds import Kind, Operation
from looseleaf.models.extractive.mentions import LIMIT
from looseleaf.models.extractive.number import find_numbers, plain
from looseleaf.models.extractive.operands import Operands, listed_phrases, operands_of
from looseleaf.models.extractive.query import Query

__all__ = [
    "COMPOSED",
    "Ask",
    "asks_pair",
    "composed_candidates",
    "enumerated_candidates",
    "verdict_candidates",
]

Ask = Callable[[str], Candidate | None]
"""Asks one question alone; `None` where there is no answer at all."""
COMPOSED: Final = 0.97
"""Factor for a number computed from several look-ups."""
DECIMALS: Final = 2
_AUXILIARY: Final = re.compile(r"^(?:is|are|was|were|did|does|do|has|have|had)\s+", re.IGNORECASE)
_ANAPHOR: Final = re.compile(r"\b(?:it|they|he|she)\b", re.IGNORECASE)
"""What stands in a second question for the answer to the first."""
_TWO_PARTS: Final = re.compile(
    r"^(?P<first>[^?]{12,}\?)\s+(?P<second>(?:what|which|who|when|where|how)\b[^?]{8,}\?)\s*$", re.IGNORECASE
)
_JOINTLY: Final = re.compile(r"\bbetween\b|\bboth\b|\btotal of\b|\bcombined\b|\btogether\b", re.IGNORECASE)
_AND_PART: Final = re.compile(
    r"^(?P<first>(?:which|what|who|where|when|in which|in what)\b[^?]{8,}?),? and "
    r"(?P<second>(?:what|which|who|when|where|how many|how much)\b(?: \w+){1,}[^?]*)\?$",
    re.IGNORECASE,
)
"""Two questions that "and" joins ("which site is the oldest, and how many beds does it have")."""
_THING: Final = r"[\w’'./%-]+(?: [A-Z][\w’'-]*)*"
_IN_TURN: Final = re.compile(rf"(?P<series>{_THING}(?:, {_THING})*,? and {_THING})")
MOST_TURNS: Final = 10
"""Most things that are asked about one by one."""
_TURNS: Final = re.compile(r",? and |, ")
_RESPECTIVE: Final = re.compile(r",? respectively\b", re.IGNORECASE)
_NOUNS: Final = re.compile(
    r"^(?P<ask>what (?:is|are|was|were)) the (?P<left>[a-z]+(?: [a-z]+){0,2}) and (?:the )?"
    r"(?P<right>(?!of\b)[a-z]+(?: (?!of\b|in\b|for\b)[a-z]+){0,2})(?P<rest>(?: (?:of|in|for|on)\b.*)?\?)$",
    re.IGNORECASE,
)
_RESPECTIVELY: Final = re.compile(
    r"how many (?P<items>.+?) (?P<rest>(?:are|is|were|do|does|did|has|have)\b.*?),? respectively",
    re.IGNORECASE,
)
_SAME: Final = re.compile(
    r"\b(?P<prep>in|of|for|at|on|from|among|during) (?P<left>[\w’'-]+(?: [\w’'-]+){0,4}?),? and (?P=prep) "
    r"(?P<right>[\w’'-]+(?: (?!(?:is|are|was|were|have|has|had|do|does|did|in|of|for|at|on|who|that|say|said)\b)"
    r"[\w’'-]+){0,3})"
    r"|\b(?P<prep2>in|for|of) (?P<year>(?:19|20)\d\d) and (?P<year2>(?:19|20)\d\d)\b"
)
"""Two things behind the same word ("in 1880 and in 1890", "of men and of women"), or two years behind one."""
_PAIR: Final = re.compile(
    r"(?P<first>\b(?:[A-Za-z]+ )?\d[\w.-]*) and (?P<second>(?:[A-Za-z]+ )?\d[\w.-]*)"
    r"|(?P<left>[\"“'‘][^\"”'’]+[\"”'’]) and (?P<right>[\"“'‘][^\"”'’]+[\"”'’])"
    r"|(?P<one>\b[A-Z][\w-]*(?: [A-Z][\w-]*)*) and (?P<other>[A-Z][\w-]*(?: [A-Z][\w-]*)*)"
)


def asks_pair(query: Query) -> bool:
    """Whether a question that reads as one asks the same of two things ("… in 1880 and in 1890")."""
    plain_lookup = query.operation is Operation.LOOKUP and query.kind not in {Kind.YES_NO, Kind.CHOICE}
    several = _SAME.search(query.text) is not None or bool(_in_turn(query.text))
    return plain_lookup and several and not _JOINTLY.search(query.text)


def enumerated_candidates(query: Query, ask: Ask) -> Iterator[Candidate]:
    """For "… of A and B" and "how many A, B and C … respectively": the answers one by one, as a list."""
    best: list[Candidate] = []
    for text in _single_questions(query.text):
        found = ask(_resolved(text, best))
        if found is None:
            return
        best.append(found)
    if len(best) < 2 or len({(one.evidence, one.text) for one in best}) < len(best):
        return
    yield _together(best, str([one.text for one in best]), min(one.score for one in best), "enumerated")


def verdict_candidates(query: Query, ask: Ask) -> Iterator[Candidate]:
    """For "was the … above 30": yes or no, by the number that is looked up."""
    match = LIMIT.search(query.text)
    condition = condition_of(query.text)
    if query.kind is not Kind.YES_NO or match is None or condition is None:
        return
    subject = _AUXILIARY.sub("", query.text[: match.start()])
    found = ask(f"What was {subject.strip()}?")
    number = _number(found)
    if found is not None and number is not None:
        text = "Yes" if condition.holds(number, condition.limit) else "No"
        yield Candidate(text, found.page, found.evidence, COMPOSED * found.score, "verdict", computed=True)


def _resolved(text: str, before: list[Candidate]) -> str:
    """A question with the answer to the one before it in the place of "it"."""
    return _ANAPHOR.sub(lambda _: before[0].text, text) if before else text


def _single_questions(text: str) -> list[str]:
    """The questions about one thing each that a question about several holds; empty where it holds none."""
    match = _RESPECTIVELY.search(text)
    if match is not None:
        items = [item for item in re.split(r",\s*(?:and\s+)?|\s+and\s+", match["items"]) if item.strip()]
        if len(items) > 1:
            return [f"How many {item.strip()} {match['rest']}?" for item in items]
    match = _TWO_PARTS.match(text)
    if match is not None:
        return [match["first"], match["second"]]
    match = _AND_PART.match(text)
    if match is not None:
        return [f"{match['first']}?", f"{match['second']}?"]
    match = _NOUNS.match(text)
    if match is not None:
        return [f"{match['ask']} the {match[side]}{match['rest']}" for side in ("left", "right")]
    turns = _in_turn(text)
    if turns:
        return turns
    phrases = listed_phrases(text)
    if phrases:
        return [f"What is {phrase}?" for phrase in phrases]
    match = _SAME.search(text)
    if match is not None:
        before, after = text[: match.start()], text[match.end() :]
        if match["year"]:
            return [f"{before}{match['prep2']} {match[side]}{after}" for side in ("year", "year2")]
        return [f"{before}{match['prep']} {match[side]}{after}" for side in ("left", "right")]
    match = _PAIR.search(text)
    sides = [side for side in match.groups() if side is not None] if match else []
    return [text[: match.start()] + side + text[match.end() :] for side in sides] if match else []


def _in_turn(text: str) -> list[str]:
    """The question with each of several things in turn, where it says "respectively" or names three or more."""
    respective = _RESPECTIVE.search(text) is not None
    bare = _RESPECTIVE.sub("", text)
    for match in _IN_TURN.finditer(bare):
        items = _TURNS.split(match["series"])
        marked = all(any(c.isdigit() or c.isupper() for c in item) for item in items)
        if len(items) <= MOST_TURNS and (respective or (len(items) > 2 and marked)):
            return [bare[: match.start()] + item + bare[match.end() :] for item in items]
    return []


def composed_candidates(query: Query, ask: Ask) -> Iterator[Candidate]:
    """What a computation gives whose numbers are looked up one by one."""
    for operands in operands_of(query.text):
        found = [ask(f"What is {phrase}?") for phrase in operands.phrases]
        numbers = [_number(one) for one in found]
        value = _value(operands, [number for number in numbers if number is not None])
        known = [one for one in found if one is not None]
        if None not in numbers and value is not None and len({one.evidence for one in known}) == len(known):
            text = _written(query, operands.operation, value)
            yield _together(known, text, COMPOSED * min(one.score for one in known), "composed")


def _number(found: Candidate | None) -> float | None:
    """The one number of an answer."""
    numbers = find_numbers(found.text) if found is not None else []
    return numbers[0].value if len(numbers) == 1 else None


def _value(operands: Operands, numbers: list[float]) -> float | None:
    if len(numbers) != len(operands.phrases) or len(numbers) < 2:
        return None
    if operands.operation is Operation.SUM:
        return sum(numbers)
    if operands.operation is Operation.AVERAGE:
        return sum(numbers) / len(numbers)
    if len(numbers) != 2:
        return None
    if operands.operation is Operation.RATIO:
        return numbers[0] / numbers[1] if numbers[1] else None
    difference = abs(numbers[0] - numbers[1])
    if operands.operation is Operation.CHANGE:
        return difference / abs(numbers[0]) * 100.0 if numbers[0] else None
    return difference


def _written(query: Query, operation: Operation, value: float) -> str:
    decimals = query.form.decimals
    text = plain(value, decimals) if decimals is not None else plain(round(value, DECIMALS))
    return f"{text}%" if operation is Operation.CHANGE else text


def _together(found: list[Candidate], text: str, score: float, kind: str) -> Candidate:
    """One candidate from the answers to several questions, each of which is a finding of its own."""
    evidence = "; ".join(one.evidence for one in found)
    parts = tuple(Passage(one.page, one.evidence) for one in found)
    return Candidate(text, found[0].page, evidence, score, kind, computed=True, parts=parts)
