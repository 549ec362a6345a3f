"""The numbers that a question wants set against each other, as phrases of their own.

"By how much does the mass of the crank differ from that of the lever" holds two look-ups. Each is written out as a
phrase that can be asked for alone; a side that leans on the other ("that of", "its", "in 2003 and in 2005") gets what
it lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from looseleaf.models.extractive.kinds import Operation

__all__ = ["Operands", "listed_phrases", "operands_of"]

_PREPOSITION: Final = r"(?:for|at|in|on|of|from|during)"
_FROM: Final = re.compile(
    r"\bby (?P<measure>how much|what percent(?:age)?) (?:does|do|did|was|is|has|have) (?P<first>.+?)"
    r" (?:differ(?:ed)?|deviated?) from (?P<second>.+?)(?:,? relative to .+)?$",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(
    r"\bby how much (?:does|do|did) (?P<shared>.+?) (?:differ|change|vary)(?: between| from)? (?P<listed>.+)$",
    re.IGNORECASE,
)
_NAMED: Final[tuple[tuple[Operation, re.Pattern[str]], ...]] = (
    (Operation.DIFFERENCE, re.compile(r"\bdifference between (?P<listed>.+)$", re.IGNORECASE)),
    (
        Operation.SUM,
        re.compile(
            r"^add (?:up )?(?:the (?:\w+ )?(?:figures|numbers|values): )?(?P<listed>.+?)[.,;]? what is .*$",
            re.IGNORECASE,
        ),
    ),
    (Operation.SUM, re.compile(r"\b(?:sum|total) of (?P<listed>.+)$", re.IGNORECASE)),
    (Operation.AVERAGE, re.compile(r"\b(?:average|mean) (?:of )?(?P<listed>.+)$", re.IGNORECASE)),
)
_RATIO: Final = re.compile(
    r"\bratio (?:of|between) (?:the )?(?P<first>.+?) (?:to|and) (?:the )?(?P<second>.+)$", re.IGNORECASE
)
_LIST: Final = re.compile(
    r"^(?:[^,]+, )?(?:list|give|state|what (?:are|were)) (?P<listed>.+?)(?:,? in (?:this|that|the given) order)?$",
    re.IGNORECASE,
)
_ROUNDING: Final = re.compile(
    r",? (?:to|rounded to) (?:\w+ )?(?:decimal|digit).*$|,? according to .*$", re.IGNORECASE
)
_SAME_PREPOSITION: Final = re.compile(
    rf"^(?P<body>.+?),? and (?P<prep>{_PREPOSITION}) (?P<last>[^,]+)$", re.IGNORECASE
)
_ITEMS: Final = re.compile(
    rf"^(?P<head>.+\b{_PREPOSITION}) (?P<left>[^,]+?) and (?P<right>.+)$", re.IGNORECASE
)
_TAIL: Final = re.compile(rf" {_PREPOSITION} ", re.IGNORECASE)


class Operands(msgspec.Struct, frozen=True):
    """The operation and one phrase for each number that it needs."""

    operation: Operation
    phrases: tuple[str, ...]


def operands_of(text: str) -> Iterator[Operands]:
    """Ways to read a question as a computation with numbers that are looked up one by one."""
    asked = text.rstrip(" ?.")
    match = _FROM.search(asked)
    if match is not None:
        change = match["measure"].lower() != "how much"
        second = _completed(match["first"], match["second"])
        first = match["first"] + _missing_tail(match["first"], match["second"])
        # The change is relative to the second: it comes first, as the older of two values does.
        phrases = (second, first) if change else (first, second)
        yield Operands(Operation.CHANGE if change else Operation.DIFFERENCE, phrases)
        return
    match = _BETWEEN.search(asked)
    if match is not None:
        listed = _ROUNDING.sub("", match["listed"])
        joint = " " if re.match(_PREPOSITION, listed) else " for "
        for sides in _split(f"{match['shared']}{joint}{listed}"):
            yield Operands(Operation.DIFFERENCE, sides)
        return
    match = _RATIO.search(asked)
    if match is not None:
        tail = _TAIL.search(match["second"])
        first = match["first"] + (match["second"][tail.start() :] if tail else "")
        yield Operands(Operation.RATIO, (first, _ROUNDING.sub("", match["second"])))
        return
    for operation, pattern in _NAMED:
        match = pattern.search(asked)
        if match is not None:
            for sides in _split(_ROUNDING.sub("", match["listed"])):
                yield Operands(operation, sides)
            return


def listed_phrases(text: str) -> tuple[str, ...]:
    """The phrases of "list P for A, for B and for C", each of which can be asked for alone."""
    match = _LIST.match(text.rstrip(" ?."))
    same = _SAME_PREPOSITION.match(match["listed"]) if match else None
    return _same_preposition(same) if same is not None else ()


def _completed(first: str, second: str) -> str:
    """The second side with what it takes from the first: whose it is, or what is measured."""
    lowered = second.lower()
    if lowered.startswith(("that ", "those ")):
        return f"{first.rpartition(' of ')[0]} {second.partition(' ')[2]}"
    if lowered.startswith("its "):
        owner = _TAIL.split(f"{first.rpartition(' of ')[2]} ")[0]
        return f"{second[4:]} of {owner}"
    return second


def _missing_tail(first: str, second: str) -> str:
    """What only the second side says of both ("… of the crank … that of the lever *for the C34*")."""
    if not second.lower().startswith(("that ", "those ")):
        return ""
    tails = list(_TAIL.finditer(second))[1:]
    tail = second[tails[0].start() :] if tails else ""
    return "" if not tail or tail[1:4] in first else tail


def _split(listed: str) -> Iterator[tuple[str, ...]]:
    """Ways to split "A and B" into phrases that stand alone."""
    same = _SAME_PREPOSITION.match(listed)
    if same is not None:
        yield _same_preposition(same)
        return
    for match in re.finditer(r",? and ", listed):
        left, right = listed[: match.start()], listed[match.end() :]
        if right.lower().startswith("the ") and _TAIL.search(right):
            yield left, right
            return
    items = _ITEMS.match(listed)
    if items is not None:
        tail = _TAIL.search(items["right"])
        item, rest = (
            (items["right"][: tail.start()], items["right"][tail.start() :]) if tail else (items["right"], "")
        )
        left_tail = "" if not rest or rest.strip() in items["head"] else rest
        yield f"{items['head']} {items['left']}{left_tail}", f"{items['head']} {item}{rest}"


def _same_preposition(match: re.Match[str]) -> tuple[str, ...]:
    """The phrases of "P for A, for B and for C": the head with each item."""
    prep, last = match["prep"], match["last"]
    first, *others = re.split(rf", {prep} ", match["body"], flags=re.IGNORECASE)
    places = [place.start() for place in re.finditer(rf" {prep} ", first, re.IGNORECASE)]
    lengths = {len(first[place:].split()) - 1: place for place in places}
    place = lengths.get(len(last.split()), max(places, default=len(first)))
    head, item = first[:place], first[place:].strip().partition(" ")[2]
    return tuple(f"{head} {prep} {one}" for one in (item, *others, last))
