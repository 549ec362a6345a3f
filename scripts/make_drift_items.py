"""Write the items of the scorer-drift ledger: 300 questions with gold answers and responses to be scored.

Run `python scripts/make_drift_items.py`. The same items come out every time (fixed seed, no clock). Every name, number
and sentence is invented here. Half of the responses commit to the gold answer and half do not, in the ways in which
models answer: tersely, at length, with a false start, in other notations, by refusing, with a part of a list. Items
that were shipped once never change: a reference that somebody has pinned would not be comparable any more.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[1] / "src" / "looseleaf" / "scoring" / "drift" / "items.jsonl"
SEED = 2_608
EACH = 15
"""Items of each of the twenty kinds of questions."""

PLACES = (
    *(
        "Aldbrook",
        "Brenmoor",
        "Cassady",
        "Dunvale",
        "Elmsby",
        "Farrowick",
        "Glenhurst",
        "Hartwell",
        "Iverley",
    ),
    *(
        "Jorstad",
        "Kelmont",
        "Lindow",
        "Marchfield",
        "Norwick",
        "Oakhollow",
        "Penrith Bay",
        "Quenby",
        "Rossmere",
    ),
    *("Sandiford", "Thornley", "Ulverton", "Vance Point", "Westhaven", "Yarrowdale", "Zelmar", "Corvina"),
)
PEOPLE = (
    *(
        "Ida Marlow",
        "Tomas Verhane",
        "Lucia Ferrand",
        "Owen Tresk",
        "Mira Santoval",
        "Henrik Aune",
        "Nadia Corbel",
    ),
    *("Felix Oduya", "Greta Lindqvist", "Paolo Ristori", "Anya Volkova", "Samuel Pryce", "Leonie Achter"),
    *(
        "Rashid Kamal",
        "Beatriz Nolasco",
        "Jonas Hale",
        "Priya Raman",
        "Colm Duffy",
        "Edith Wren",
        "Viktor Szabo",
    ),
)
FIRMS = (
    *(
        "Harbour Mills",
        "Tidenet",
        "Northmere Rail",
        "Copperline",
        "Bluefen Dairies",
        "Astor Glass",
        "Pellworm Shipping",
    ),
    *("Granite Insurance", "Larkfield Foods", "Orrin Textiles", "Sable Energy", "Windgate Tools"),
)
COLOURS = (
    "red",
    "blue",
    "green",
    "orange",
    "purple",
    "grey",
    "yellow",
    "black",
    "white",
    "brown",
    "teal",
    "pink",
)
FRUIT = (
    "apples",
    "pears",
    "plums",
    "cherries",
    "quinces",
    "apricots",
    "figs",
    "grapes",
    "melons",
    "currants",
)
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
TRADES = ("carpenters", "nurses", "drivers", "clerks", "welders", "cooks", "gardeners", "teachers", "porters")
METALS = (
    "zinc",
    "nickel",
    "copper",
    "cobalt",
    "titanium",
    "tungsten",
    "silver",
    "tin",
    "chromium",
    "manganese",
)
REFUSALS = (
    "Not answerable",
    "The question is not answerable from this document.",
    "The document does not contain this information.",
    "I looked through every page, but nothing in the document says so. It cannot be answered.",
    "Pages {page} and {next} deal with the topic, yet the figure asked for is not given anywhere, so I cannot answer.",
    "There is no information on this in the pages provided; not answerable.",
)


@dataclass(frozen=True)
class Case:
    """A question with its gold answer, the gold answer in words, other values, and what the others belong to."""

    question: str
    gold: Any
    answer_format: str
    said: Sequence[str]
    wrong: Sequence[str]
    other: str = "another row"


Style = Callable[[Case, random.Random], str]


def _page(chance: random.Random) -> int:
    return chance.randint(2, 90)


def _terse(case: Case, chance: random.Random) -> str:
    return case.said[0]


def _spoken(case: Case, chance: random.Random) -> str:
    return f"The answer is {chance.choice(case.said)}."


def _cited(case: Case, chance: random.Random) -> str:
    return f"According to page {_page(chance)}, it is {chance.choice(case.said)}."


def _bold(case: Case, chance: random.Random) -> str:
    return (
        f"**Answer:** {chance.choice(case.said)}\n\nThis is stated on page {_page(chance)} of the document."
    )


def _reasoned(case: Case, chance: random.Random) -> str:
    return (
        f"The document discusses this on pages {_page(chance)} and {_page(chance)}. The table gives "
        f"{case.wrong[0]} for {case.other}; for what is asked it gives "
        f"{chance.choice(case.said)}. So the answer is {case.said[0]}."
    )


def _false_start(case: Case, chance: random.Random) -> str:
    return (
        f"At first I took it to be {case.wrong[0]}, but that is the value of {case.other}. Reading the caption of page "
        f"{_page(chance)} again, the value asked for is {case.said[0]}."
    )


def _last_line(case: Case, chance: random.Random) -> str:
    return (
        f"Step 1: find the section; it begins on page {_page(chance)}.\nStep 2: find the entry in it.\nStep 3: read it "
        f"off.\n\nFinal answer: {chance.choice(case.said)}"
    )


def _wrong_terse(case: Case, chance: random.Random) -> str:
    return case.wrong[0]


def _wrong_spoken(case: Case, chance: random.Random) -> str:
    return f"The answer is {chance.choice(case.wrong)}."


def _wrong_cited(case: Case, chance: random.Random) -> str:
    return f"Page {_page(chance)} states it plainly: {chance.choice(case.wrong)}."


def _wrong_turn(case: Case, chance: random.Random) -> str:
    return (
        f"The summary on page {_page(chance)} mentions {case.said[0]}, which seems to be an older edition's value. The "
        f"current one is {case.wrong[0]}, so the answer is {case.wrong[0]}."
    )


def _between(case: Case, chance: random.Random) -> str:
    return f"It is either {case.said[0]} or {case.wrong[0]}; the document can be read both ways, and I cannot decide."


def _refused(case: Case, chance: random.Random) -> str:
    return chance.choice(REFUSALS[1:]).format(page=_page(chance), next=_page(chance))


def _wrong_long(case: Case, chance: random.Random) -> str:
    return (
        f"Looking at page {_page(chance)}, the relevant figure lists several entries. Comparing them with the text on "
        f"page {_page(chance)}, the entry in question is {case.wrong[-1]}. Final answer: {case.wrong[-1]}"
    )


RIGHT: tuple[Style, ...] = (_terse, _spoken, _cited, _bold, _reasoned, _false_start, _last_line)
WRONG: tuple[Style, ...] = (
    _wrong_terse,
    _wrong_spoken,
    _wrong_cited,
    _wrong_turn,
    _between,
    _refused,
    _wrong_long,
)


def _number_case(question: str, value: int, unit: str, chance: random.Random, other: str) -> Case:
    off = value + chance.choice((-3, -2, -1, 1, 2, 3)) * (1 if value < 200 else 10)
    said = (f"{value}", f"{value:,}", f"{value} {unit}", f"{value:,} {unit}")
    return Case(question, value, "Int", said, (f"{off}", f"{off} {unit}", f"{2 * value + 1} {unit}"), other)


def _stations(chance: random.Random) -> Case:
    place, other = chance.sample(PLACES, 2)
    year = chance.randint(1990, 2023)
    question = f"How many stations did the network of {place} have at the end of {year}?"
    return _number_case(question, chance.randint(12, 190), "stations", chance, other)


def _staff(chance: random.Random) -> Case:
    firm, other = chance.sample(FIRMS, 2)
    trade = chance.choice(TRADES)
    question = f"How many {trade} did {firm} employ in {chance.randint(2001, 2024)}?"
    return _number_case(question, chance.randint(1_050, 48_000), trade, chance, other)


def _sections(chance: random.Random) -> Case:
    firm = chance.choice(FIRMS)
    question = f"How many figures does chapter {chance.randint(2, 14)} of the {firm} manual contain?"
    return _number_case(question, chance.randint(3, 19), "figures", chance, "the chapter before")


def _founded(chance: random.Random) -> Case:
    firm, place = chance.choice(FIRMS), chance.choice(PLACES)
    value = chance.randint(1871, 1998)
    wrong = (str(value + chance.choice((-10, -1, 1, 10))), f"in {value - 7}", f"the year {value + 22}")
    return Case(
        f"In which year did {firm} open its works in {place}?",
        value,
        "Int",
        (f"{value}", f"in {value}", f"the year {value}"),
        wrong,
        "the second works",
    )


def _difference(chance: random.Random) -> Case:
    place, other = chance.sample(PLACES, 2)
    more = chance.randint(300, 900)
    gap = chance.randint(11, 250)
    case = _number_case(
        f"How many more visitors did the museum of {place} have than that of {other}, which had {more - gap}?",
        gap,
        "visitors",
        chance,
        "Sunday",
    )
    return Case(
        case.question, gap, "Int", (*case.said, f"{more} − {more - gap} = {gap}"), case.wrong, "Sunday"
    )


def _share(chance: random.Random) -> Case:
    place = chance.choice(PLACES)
    value = chance.randint(21, 979) / 10
    said = (f"{value}%", f"{value} %", f"{value} percent", f"about {value}%")
    off = round(value + chance.choice((-6.3, -4.1, 4.1, 6.3)), 1)
    return Case(
        f"What percentage of households in {place} had broadband in {chance.randint(2004, 2022)}?",
        f"{value}%",
        "Float",
        said,
        (f"{off}%", f"{off} percent", f"{round(value / 2 + 1, 1)}%"),
        "the county",
    )


def _length(chance: random.Random) -> Case:
    place = chance.choice(PLACES)
    value = chance.randint(105, 995) / 10
    said = (f"{value}", f"{value} km", f"{value} kilometres")
    off = round(value + chance.choice((-7.7, -5.2, 5.2, 7.7)), 1)
    return Case(
        f"How long is the river walk of {place} in kilometres, by the map legend?",
        value,
        "Float",
        said,
        (f"{off}", f"{off} km", f"{round(2 * value + 3, 1)} km"),
        "the canal walk",
    )


def _income(chance: random.Random) -> Case:
    firm = chance.choice(FIRMS)
    value = chance.randint(12, 89) / 10
    said = (f"{value}", f"{value} million", f"${value} million", f"{value} million dollars")
    off = round(value + chance.choice((-0.9, 0.8, 1.4)), 1)
    return Case(
        f"What was the net income of {firm} in {chance.randint(2006, 2024)}, in millions of dollars?",
        value,
        "Float",
        said,
        (f"{off}", f"{off} million", f"${round(value + 3.3, 1)} million"),
        "the year before",
    )


def _text_case(question: str, words: Sequence[str], chance: random.Random, other: str) -> Case:
    gold, *wrong = chance.sample(words, 4)
    return Case(question, gold, "Str", (gold, f'"{gold}"', f"{gold} (as printed)"), wrong, other)


def _signer(chance: random.Random) -> Case:
    firm = chance.choice(FIRMS)
    year = chance.randint(1998, 2024)
    return _text_case(
        f"Who signed the {year} annual report of {firm} as chair?", PEOPLE, chance, "the auditor"
    )


def _seat(chance: random.Random) -> Case:
    firm = chance.choice(FIRMS)
    year = chance.randint(1975, 2024)
    return _text_case(f"In which town did {firm} have its seat in {year}?", PLACES, chance, "a branch office")


def _line_colour(chance: random.Random) -> Case:
    place, metal = chance.choice(PLACES), chance.choice(METALS)
    question = f"Which colour does the line for {metal} have in the chart of {place}'s smelter?"
    return _text_case(question, COLOURS, chance, "the dashed line")


def _month(chance: random.Random) -> Case:
    place = chance.choice(PLACES)
    question = f"In which month of {chance.randint(1961, 2023)} did {place} record its highest rainfall?"
    return _text_case(question, MONTHS, chance, "the lowest rainfall")


def _alloy(chance: random.Random) -> Case:
    part = f"{chance.choice('ABCDEFGHKLMNPRSTVWX')}{chance.randint(100, 989)}"
    question = f"Which metal does the parts list name for part {part}?"
    return _text_case(question, METALS, chance, "the part below it")


def _headline(chance: random.Random) -> Case:
    fruit, place = chance.sample(FRUIT, 4), chance.choice(PLACES)
    titles = [f"Growing {name} in the hills of {place}" for name in fruit]
    question = (
        f"What is the title of section {chance.randint(2, 9)}.{chance.randint(1, 9)} in the {place} handbook?"
    )
    return Case(
        question,
        titles[0],
        "Str",
        (titles[0], f'"{titles[0]}"', titles[0].title()),
        titles[1:],
        "the next section",
    )


def _listed(items: Sequence[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _list_case(question: str, words: Sequence[str], chance: random.Random, other: str) -> Case:
    found = chance.sample(words, chance.randint(2, 4) + 2)
    gold, spare = found[:-2], found[-2:]
    said = (", ".join(gold), _listed(gold), _listed(list(reversed(gold))), str(gold))
    wrong = (_listed([*gold[:-1], spare[0]]), ", ".join([*gold, *spare]), ", ".join([*gold[1:], *spare]))
    return Case(question, gold, "List", said, wrong, other)


def _buyers(chance: random.Random) -> Case:
    year = chance.randint(1999, 2024)
    question = f"Which towns bought trams from {chance.choice(FIRMS)} in {year}?"
    return _list_case(question, PLACES, chance, "the year after")


def _rising(chance: random.Random) -> Case:
    place, year = chance.choice(PLACES), chance.randint(2001, 2024)
    question = f"Which fruits sold more in {place} in {year} than the year before?"
    return _list_case(question, FRUIT, chance, "the neighbouring market")


def _authors(chance: random.Random) -> Case:
    question = f"Who wrote the {chance.randint(1985, 2024)} report on the harbour of {chance.choice(PLACES)}?"
    return _list_case(question, PEOPLE, chance, "the annex")


def _nothing_case(question: str, values: Sequence[str]) -> Case:
    return Case(question, "Not answerable", "None", (REFUSALS[0],), values)


def _no_price(chance: random.Random) -> Case:
    value = chance.randint(12, 980)
    question = f"What did a ticket from {' to '.join(chance.sample(PLACES, 2))} cost in {chance.randint(1950, 2020)}?"
    return _nothing_case(question, (f"{value}", f"${value}", "zero, as no price is printed"))


def _no_person(chance: random.Random) -> Case:
    firm, year = chance.choice(FIRMS), chance.randint(1960, 2010)
    question = f"Who designed the {chance.choice(COLOURS)} logo that {firm} had before {year}?"
    return _nothing_case(question, chance.sample(PEOPLE, 3))


def _no_count(chance: random.Random) -> Case:
    value = chance.randint(2, 60)
    question = f"How many {chance.choice(TRADES)} of {chance.choice(PLACES)} left for {chance.choice(FIRMS)}?"
    return _nothing_case(question, (f"{value}", f"{value} people", f"at least {value + 4}"))


def _refusal(case: Case, chance: random.Random) -> str:
    return chance.choice(REFUSALS).format(page=_page(chance), next=_page(chance))


def _guessed(case: Case, chance: random.Random) -> str:
    return f"The document does not say it outright, but from page {_page(chance)} it must be {case.wrong[0]}."


RIGHT_REFUSALS: tuple[Style, ...] = (_refusal,)
WRONG_GUESSES: tuple[Style, ...] = (_wrong_terse, _wrong_spoken, _wrong_cited, _wrong_long, _guessed)

KINDS: tuple[Callable[[random.Random], Case], ...] = (
    *(_stations, _staff, _sections, _founded, _difference),
    *(_share, _length, _income),
    *(_signer, _seat, _line_colour, _month, _alloy, _headline),
    *(_buyers, _rising, _authors),
    *(_no_price, _no_person, _no_count),
)


def items() -> list[dict[str, Any]]:
    """Every item, in order."""
    chance = random.Random(SEED)  # noqa: S311  (not for secrets)
    made: list[dict[str, Any]] = []
    for kind in KINDS:
        for number in range(EACH):
            right = len(made) % 2 == 0
            case = _new_case(kind, chance, {item["question"] for item in made})
            styles = _styles_of(case, right)
            style = styles[number // 2 % len(styles)]
            made.append(
                {
                    "item_id": f"{len(made):03}",
                    "kind": f"{_name(kind)}/{_name(style)}",
                    "question": case.question,
                    "response": style(case, chance),
                    "gold": case.gold,
                    "answer_format": case.answer_format,
                    "right": right,
                }
            )
    return made


def _new_case(kind: Callable[[random.Random], Case], chance: random.Random, taken: set[str]) -> Case:
    """A case whose question did not come up yet."""
    while (case := kind(chance)).question in taken:
        pass
    return case


def _name(function: Callable[..., Any]) -> str:
    return function.__name__.removeprefix("_")


def _styles_of(case: Case, right: bool) -> tuple[Style, ...]:
    if case.answer_format == "None":
        return RIGHT_REFUSALS if right else WRONG_GUESSES
    return RIGHT if right else WRONG


def text() -> str:
    """The file as it is shipped."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items())


def main() -> None:
    """Write the file."""
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(text(), encoding="utf-8")
    print(f"{len(items())} items in {OUT}")


if __name__ == "__main__":
    main()
