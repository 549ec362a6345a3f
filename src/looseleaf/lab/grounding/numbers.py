"""Checking a number of a finding: is it on the page, in the row, year and sentence that the finding gives it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import fsum, isclose, log

from looseleaf.lab.grounding.claims import Claims
from looseleaf.lab.grounding.mentions import SCALE_FACTORS, Mention, any_same, same_number
from looseleaf.lab.grounding.places import Place, labels_in
from looseleaf.lab.grounding.record import ClaimKind, ClaimVerdict, Verdict
from looseleaf.lab.grounding.units import UNITS, Unit
from looseleaf.models.extractive.words import stem

__all__ = ["check_number", "found_places"]

CELL_MARGIN = 0.08
"""By how much the words that point at another cell must outweigh those that point at the found one. A word that stands
in every row weighs 0, one that stands in a single row of many weighs near 1, a column's head in between."""
FAR_MARGIN = 0.5
"""The same between sentences, or between a sentence and a cell: they share words by chance more often than rows do."""
LEAST_COVERED = 0.75
"""Share of the finding's words on the page that a rival beyond the same kind of table must hold."""
EXCLUSIVE = frozenset(
    {
        *(
            "percent",
            "length",
            "area",
            "mass",
            "time",
            "power",
            "energy",
            "volume",
            "pressure",
            "temperature",
        ),
        *(
            "torque",
            "data",
            "frequency",
            "voltage",
            "current",
            "capacity",
            "speed",
            "light",
            "sound",
            "currency",
        ),
    }
)
"""Families of which a quantity has one: a pressure is no time. Scale words go with any."""


def found_places(claims: Claims, number: Mention, places: Iterable[Place]) -> list[Place]:
    """Where a page holds a number."""
    hedged = claims.hedged(number)
    return [p for p in places if same_number(number, p.mention, hedged=hedged) or _same_in_full(number, p)]


def _same_in_full(number: Mention, place: Place) -> bool:
    """Whether a number with a scale is one whose scale stands in the column head: 4.7 million in thousands is 4,700."""
    scale = next((SCALE_FACTORS[unit.name] for unit in place.units if unit.family == "scale"), 1.0)
    return number.scale != 1.0 and isclose(number.value * number.scale, place.mention.value * scale)


def check_number(
    claims: Claims,
    number: Mention,
    places: Sequence[Place],
    page: Sequence[Mention],
    common: frozenset[str] = frozenset(),
) -> ClaimVerdict | None:
    """The verdict on one number of a finding; `None` for one that only repeats the question and is not on the page.

    Args:
        claims: the finding.
        number: one of its numbers.
        places: the numbers of the page with their words.
        page: all numbers of the page, those of row labels and captions included.
        common: names on most pages of the document, which point at nothing, such as that of its company.
    """
    context = claims.context(number) - common
    found = found_places(claims, number, places)
    if not found and any_same(number, page, hedged=claims.hedged(number)):
        return ClaimVerdict(ClaimKind.NUMBER, number.text, Verdict.GROUNDED)
    if not found:
        return None if claims.is_asked(number) else _absent(claims, number, places, context)
    rival = None if number.year and claims.values else _rival(claims, number, found, places, context)
    if rival is not None and not claims.is_asked(number):
        return ClaimVerdict(
            ClaimKind.NUMBER, number.text, Verdict.CONTRADICTED, f"there stands {rival.mention.text}"
        )
    other_year = _other_year(claims, number, found)
    if other_year:
        return ClaimVerdict(ClaimKind.NUMBER, number.text, Verdict.CONTRADICTED, f"of {other_year}")
    wrong = _wrong_unit(claims, number, found, places)
    if wrong is not None:
        stated, unit = wrong
        return ClaimVerdict(
            ClaimKind.UNIT, f"{number.text} {stated.name}", Verdict.CONTRADICTED, f"in {unit.name}"
        )
    return ClaimVerdict(ClaimKind.NUMBER, number.text, Verdict.GROUNDED)


# -- absent numbers -----------------------------------------------------------------------------------------------


def _absent(
    claims: Claims, number: Mention, places: Sequence[Place], context: frozenset[str]
) -> ClaimVerdict:
    if _is_derived(claims, number):
        return ClaimVerdict(
            ClaimKind.NUMBER, number.text, Verdict.GROUNDED, "worked out from the other numbers"
        )
    rival = _pointed_at(places, context)
    if rival is None or not _alike(number, rival.mention):
        return ClaimVerdict(ClaimKind.NUMBER, number.text, Verdict.NOT_FOUND)
    found = f"there stands {rival.mention.text}"
    return ClaimVerdict(ClaimKind.NUMBER, number.text, Verdict.CONTRADICTED, found)


def _alike(number: Mention, other: Mention) -> bool:
    """Whether two numbers may be values of one thing: as many decimals, both or neither in per cent."""
    percent = [bool(mention.unit("percent")) for mention in (number, other)]
    return number.decimals == other.decimals and percent[0] is percent[1]


def _is_derived(claims: Claims, number: Mention) -> bool:
    """Whether a number is the sum, difference, ratio or percentage change of two others of the finding."""
    others = [other.value for other in claims.values if other is not number]
    for a, b in combinations(others, 2):
        worked = [a + b, abs(a - b), (a + b) / 2]
        if a and b:
            worked += [a / b, b / a, 100 * a / b, 100 * b / a, 100 * abs(a - b) / a, 100 * abs(a - b) / b]
        if any(isclose(number.value, round(value, number.decimals), rel_tol=1e-6) for value in worked):
            return True
    return len(others) > 2 and isclose(number.value, sum(others), rel_tol=1e-6)


def _pointed_at(places: Sequence[Place], context: frozenset[str]) -> Place | None:
    """The one cell that a finding's words single out, where the number that it gives is not on the page."""
    cells = [place for place in places if place.kind == "cell" and place.reliable and not place.mention.year]
    weights = _weights(cells)
    scored = sorted(((_covered(context, place, weights), i) for i, place in enumerate(cells)), reverse=True)
    if not scored or scored[0][0] < LEAST_SINGLED or (len(scored) > 1 and scored[1][0] >= scored[0][0]):
        return None
    return cells[scored[0][1]]


LEAST_SINGLED = 0.8
"""Weight of the words that must point at a single cell: about one word that only its row has."""


# -- the wrong place ----------------------------------------------------------------------------------------------


def _rival(
    claims: Claims,
    number: Mention,
    found: Sequence[Place],
    places: Sequence[Place],
    context: frozenset[str],
) -> Place | None:
    """A place with another number that the finding's words point at rather than at any place of its own number."""
    others = [place for place in places if _may_rival(claims, number, place)]
    cells = [place for place in places if place.kind == "cell"]
    near, far = _around_weights(cells) | _weights(cells), _weights(places)
    beaten = [_stronger(place, others, context, near, far) for place in found]
    if all(rival is not None for rival in beaten):
        return beaten[0]
    return (
        _unit_rival(claims, number, found, others)
        or _parallel_rival(claims, found, others)
        or _counted_rival(claims, number, found, others)
    )


Weights = dict[str, float]


def _stronger(
    own: Place, others: Iterable[Place], context: frozenset[str], near: Weights, far: Weights
) -> Place | None:
    """A place of another number that the words point at rather than at this one."""
    for rival in others:
        alike = rival.kind == own.kind == "cell" and own.reliable
        weights, margin = (near, CELL_MARGIN) if alike else (far, FAR_MARGIN)
        if _beats(rival, own, context, weights, margin) and (alike or _holds_most(rival, context, far)):
            return rival
    return None


def _may_rival(claims: Claims, number: Mention, place: Place) -> bool:
    """Whether a place holds another number that could stand for the claimed one."""
    if not place.reliable or place.kind == "line" or place.mention.year is not number.year:
        return False
    return not any(same_number(other, place.mention) for other in claims.numbers)


def _weights(places: Sequence[Place]) -> Weights:
    """How well each word tells places apart: 0 if it is near all of them, 1 if it is near one of many.

    The numbers of one sentence have the same words and count once.
    """
    spots = {
        (place.kind, place.group, i if place.kind == "cell" else 0): place.near
        for i, place in enumerate(places)
    }
    counts = Counter(word for near in spots.values() for word in near)
    return {word: _telling(count, len(spots)) for word, count in counts.items()}


def _around_weights(places: Sequence[Place]) -> Weights:
    """The same for the words of captions, by table."""
    tables = {place.group: place.around for place in places}
    counts = Counter(word for around in tables.values() for word in around)
    return {word: _telling(count, len(tables)) for word, count in counts.items()}


def _telling(count: int, total: int) -> float:
    return log(total / count) / log(total) if total > 1 else 1.0


def _covered(context: frozenset[str], place: Place, weights: Weights) -> float:
    return fsum(weights.get(word, 0.0) for word in context & place.near)


def _beats(rival: Place, own: Place, context: frozenset[str], weights: Weights, margin: float) -> bool:
    """Whether the words point at the rival rather than at the place of the claimed number."""
    if rival.kind == own.kind == "cell":
        for_rival, for_own = _between_cells(rival, own, context)
    elif (rival.kind, rival.group) == (own.kind, own.group):
        return False
    else:
        for_rival = context & rival.near - own.near - own.around
        for_own = context & own.near - rival.near - rival.around
    if not for_rival:
        return False
    gain, loss = (fsum(weights.get(word, 0.0) for word in words) for words in (for_rival, for_own))
    return gain - loss >= margin


NOTHING: frozenset[str] = frozenset()


def _between_cells(
    rival: Place, own: Place, context: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The words that only the rival's row and column have, and those that only the own ones have.

    What stands around a table is true of all its cells. A cell of another table is a rival only if it has all the words
    of row and column that the own one has; where both have the same, the captions tell them apart.
    """
    if rival.group == own.group:
        return context & rival.near - own.near, context & own.near - rival.near
    if not context & own.near <= rival.near:
        return NOTHING, NOTHING
    own_words = own.near | own.around
    return context & rival.near - own_words or context & rival.around - own_words, NOTHING


def _holds_most(rival: Place, context: frozenset[str], weights: Weights) -> bool:
    known = {word: weights[word] for word in context if word in weights}
    held = fsum(weight for word, weight in known.items() if word in rival.near)
    return held >= LEAST_COVERED * fsum(known.values())


def _parallel_rival(claims: Claims, found: Sequence[Place], others: Sequence[Place]) -> Place | None:
    """Within one sentence: the part about what the finding names, where the number stands in the part about another."""
    named = frozenset(labels_in(claims.text)) | claims.words
    for place in found:
        if place.kind == "cell" or not place.labels or place.labels & named:
            return None
    for rival in others:
        shares = rival.labels & named
        if shares and any(rival.group == place.group and rival.kind == place.kind for place in found):
            return rival
    return None


def _unit_rival(
    claims: Claims, number: Mention, found: Sequence[Place], others: Sequence[Place]
) -> Place | None:
    """Within one row: the cell in the unit that the finding names, where the finding gives a cell in another unit."""
    stated = [unit for unit in claims.units(number) if unit.family in EXCLUSIVE]
    if not stated or any(place.kind != "cell" or not place.reliable for place in found):
        return None
    if any(unit.family in {other.family for other in place.units} for unit in stated for place in found):
        return None
    rows = {(place.group, place.line) for place in found if any(u.family in EXCLUSIVE for u in place.units)}
    return next(
        (r for r in others if (r.group, r.line) in rows and any(unit in r.units for unit in stated)), None
    )


LEAST_AFTER = 2
"""Words behind a number that must agree with the finding before it is taken for what the finding counts."""


def _counted_rival(
    claims: Claims, number: Mention, found: Sequence[Place], others: Sequence[Place]
) -> Place | None:
    """Within one sentence: the number of what the finding counts, where the finding gives the number of something else.

    "ran at 72 bar and 5,566 turns a minute": a finding about turns a minute must not give 72.
    """
    if not all(place.kind == "sentence" for place in found):
        return None
    sentences = {(place.kind, place.group) for place in found}
    rivals = [rival for rival in others if (rival.kind, rival.group) in sentences]
    context = claims.context(number)
    of_another = all(place.after and not place.after & context for place in found)
    for rival in rivals:
        agreeing = rival.after & context
        named = len(agreeing) >= LEAST_AFTER or bool(agreeing & UNIT_STEMS)
        if (of_another and named and _units_fit(number, rival)) or _is_share_of(claims, number, found, rival):
            return rival
    return None


SHARES = frozenset(map(stem, ("percent", "percentage", "share", "rate", "proportion")))


def _is_share_of(claims: Claims, number: Mention, found: Sequence[Place], rival: Place) -> bool:
    """Whether the finding wants a percentage and gives a count, or wants a count and gives a percentage."""
    wanted = any(unit.family == "percent" for unit in claims.units(number)) or bool(claims.words & SHARES)
    given = {bool(place.mention.unit("percent")) for place in found}
    if given == {wanted} or bool(rival.mention.unit("percent")) is not wanted or len(claims.values) > 1:
        return False
    return wanted or bool(rival.after & claims.words)


UNIT_STEMS = frozenset(stem(spelling) for spelling in UNITS)


def _units_fit(number: Mention, rival: Place) -> bool:
    """Whether a number may be what a claim means: a percentage is no count."""
    return all(
        rival.mention.unit(unit.family) == unit.name for unit in number.units if unit.family == "percent"
    )


# -- the wrong year -----------------------------------------------------------------------------------------------


def _other_year(claims: Claims, number: Mention, found: Sequence[Place]) -> str:
    """The year of the tables that hold a number, where their captions give it and the finding gives only others."""
    stated = {int(mention.value) for mention in claims.numbers if mention.year}
    if number.year or not stated or any(not place.years or stated & place.years for place in found):
        return ""
    return " to ".join(map(str, sorted({min(found[0].years), max(found[0].years)})))


# -- the wrong unit -----------------------------------------------------------------------------------------------


def _wrong_unit(
    claims: Claims, number: Mention, found: Sequence[Place], places: Sequence[Place]
) -> tuple[Unit, Unit] | None:
    """The unit that the finding gives and the one that the page has, where no place of the number has the former."""
    stated = claims.units(number)
    families = {unit.family for unit in number.units}
    alike = [place for place in found if families & {unit.family for unit in place.mention.units}]
    conflicts = [_conflict(stated, number, place, places) for place in alike or found]
    if any(conflict is None for conflict in conflicts):
        return None
    return conflicts[0]


def _conflict(
    stated: Sequence[Unit], number: Mention, place: Place, places: Sequence[Place]
) -> tuple[Unit, Unit] | None:
    for unit in stated:
        if unit.family == "scale" and _same_in_full(number, place):
            continue
        other = _other_at(unit, number, place) or _other_on_page(unit, place, places)
        if other is not None:
            return unit, other
    return None


def _other_at(unit: Unit, number: Mention, place: Place) -> Unit | None:
    """The unit that a place has instead of the stated one: another of its family, or of a family that excludes it."""
    alike = [other for other in place.units if other.family == unit.family]
    if alike:
        return None if any(other.name == unit.name for other in alike) else alike[0]
    if unit not in number.units:
        return None
    if unit.family == "scale":
        rivals = [other for other in place.mention.units if other.family in EXCLUSIVE - {"currency"}]
        return rivals[0] if rivals else _other_scale(unit, place)
    if unit.family in EXCLUSIVE - {"currency"}:
        return next(
            (other for other in place.mention.units if other.family in EXCLUSIVE - {"currency"}), None
        )
    return None


def _other_scale(unit: Unit, place: Place) -> Unit | None:
    """The scale that stands around a number that has none itself, where it is another one ("in millions")."""
    words = place.around | place.near
    names = (name for name in ("thousand", "million", "billion", "trillion") if name != unit.name)
    return next((Unit("scale", name) for name in names if name in words and unit.name not in words), None)


LONG_TIMES = frozenset({"d", "wk", "mo", "yr"})
"""Units of time that findings work out from dates."""


def _other_on_page(unit: Unit, place: Place, places: Sequence[Place]) -> Unit | None:
    """For a number without unit: the unit of the family that the page uses, where it never uses the stated one."""
    if place.units or unit.family == "scale" or unit.name in LONG_TIMES:
        return None
    used = [other for p in places for other in p.page_units if other.family == unit.family]
    return used[0] if used and all(other.name != unit.name for other in used) else None
