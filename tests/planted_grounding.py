"""True findings about generated documents, and the same with one planted error each.

Findings are written from the truth and the pages: from table cells, sentences, charts with printed values, and by
turning a question into a statement. Each true finding gets, where it can be had, one error of every kind:

* `off-page`: the value is one of the same form that the document does not hold;
* `wrong page`: the finding is true, but cites a page without the value, half of the time one with a look-alike table;
* `wrong row`: the value of another row, label or name of the same page;
* `wrong year`: the year of another table or chart;
* `wrong unit`: thousand for million, kilograms for grams, dollars for euros.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import procedural_checker as checker

__all__ = ["KINDS", "Planted", "planted_in"]

KINDS = ("off-page", "wrong page", "wrong row", "wrong year", "wrong unit")
LEAST_TEXT = 200
"""Characters of a page that can be cited by mistake."""
MOST_WORDS = 40
SPAN_WORDS = 3
"""Words kept on each side of what a shortened sentence is about."""
UNITS = {
    "EUR k": ("thousand euros", "million euros"),
    "EUR": ("euros", "dollars"),
    "EUR/t": ("euros a tonne", "euros a kilogram"),
    "g": ("g", "kg"),
    "t": ("tonnes", "kilotonnes"),
    "kt": ("kt", "t"),
    "m": ("m", "km"),
    "mm": ("mm", "cm"),
    "m2": ("m2", "km2"),
    "m3": ("m3", "litres"),
    "ML": ("ML", "m3"),
    "ul": ("ul", "ml"),
    "Nm": ("Nm", "kNm"),
    "h": ("hours", "minutes"),
    "s": ("seconds", "minutes"),
    "days": ("days", "hours"),
    "MWh": ("MWh", "GWh"),
    "rpm": ("rpm", "Hz"),
    "kg/ha": ("kg/ha", "t/ha"),
}
"""By the unit in a column's title: how a finding says it, and a wrong one."""
SENTENCE_UNITS = (
    (r"EUR (?=[\d.,]+ million)", "USD "),
    (r"(?<=\d) million\b", " thousand"),
    (r"\bEUR (?=\d)", "USD "),
    (r"(?<=\d) hours\b", " minutes"),
    (r"(?<=\d) minutes\b", " hours"),
    (r"(?<=\d) bar\b", " kPa"),
    (r"(?<=\d) turns a minute", " turns a second"),
    (r"\bmillion euros\b", "thousand euros"),
    (r"\bin euros\b", "in dollars"),
    (r"\bhow many euros\b", "how many dollars"),
)


@dataclass(frozen=True)
class Planted:
    """A finding.

    Attributes:
        text: what it says.
        page: physical page that it cites.
        error: kind of the planted error, or empty for a true finding.
        source: what it was written from: `table`, `chart`, `sentence` or `question`.
        question: the question that it was written for.
        doc_id: document.
        number: findings made from one true finding share it.
    """

    text: str
    page: int
    error: str
    source: str
    question: str
    doc_id: str
    number: int


@dataclass(frozen=True)
class _Fact:
    """A true statement in parts that can be exchanged."""

    template: str
    """With `{value}`, and `{name}`, `{year}`, `{unit}` where it has them."""
    parts: dict[str, str]
    page: int
    source: str
    other_names: tuple[str, ...] = ()
    other_years: tuple[str, ...] = ()
    wrong_unit: str = ""

    def text(self, **changed: str) -> str:
        return self.template.format(**{**self.parts, **changed})


def planted_in(folder: Path, seed: int) -> Iterator[Planted]:
    """All findings about the documents of a folder, in a fixed order."""
    made, r = checker.read_made(folder), random.Random(seed)
    number = 0
    for doc_id in made.documents:
        book = made.book(doc_id)
        for question in made.truth["questions"]:
            if question["doc_id"] != doc_id or checker.unanswerable(question):
                continue
            for fact in _facts(made, question, book, r):
                number += 1
                asked = checker.question_of(made, question)
                for text, page, error in _variants(fact, book, made, r):
                    yield Planted(text, page, error, fact.source, asked, doc_id, number)
        book.close()


def _variants(
    fact: _Fact, book: checker.Book, made: checker.Made, r: random.Random
) -> Iterator[tuple[str, int, str]]:
    true = fact.text()
    if len(true.split()) > MOST_WORDS:
        return
    yield true, fact.page, ""
    yield fact.text(value=_other_value(fact.parts["value"], book, made, r)), fact.page, "off-page"
    page = _other_page(fact, book, r)
    if page is not None:
        yield true, page, "wrong page"
    if fact.other_names:
        yield fact.text(name=r.choice(fact.other_names)), fact.page, "wrong row"
    if fact.other_years:
        yield fact.text(year=r.choice(fact.other_years)), fact.page, "wrong year"
    if fact.wrong_unit:
        yield fact.text(unit=fact.wrong_unit), fact.page, "wrong unit"
    elif fact.source in ("sentence", "question"):
        for pattern, wrong in SENTENCE_UNITS:
            if re.search(pattern, true):
                yield re.sub(pattern, wrong, true, count=1), fact.page, "wrong unit"
                break


# True findings


def _facts(
    made: checker.Made, question: dict[str, Any], book: checker.Book, r: random.Random
) -> Iterator[_Fact]:
    pairs = [(slot, place) for slot, place in checker.evidence_of(question) if place["text_layer"]]
    pairs = [pair for pair in pairs if pair[0]["slot"]["kind"] != "category" and len(pair[0]["shown"]) > 1]
    spots = [(slot, place, checker.cell_at(book, place)) for slot, place in pairs]
    tabled = [(slot, place, spot) for slot, place, spot in spots if spot is not None and spot.column > 0]
    for slot, place, spot in r.sample(tabled, min(2, len(tabled))):
        yield _of_cell(slot["shown"], place["page"], spot, book, r)
    kind = checker.family(question).split(".")[0]
    if kind == "chart" and question["program"].get("labels"):
        yield from _of_chart(question, checker.question_of(made, question), book, r)
    elif kind == "fact" and len(pairs) == 1:
        yield from _of_sentence(made, question, *pairs[0], book, r)
    elif kind == "layout" and question["program"]["op"] == "find" and len(pairs) == 1:
        slot, place = pairs[0]
        parts = {"asked": _stated(made, question), "value": slot["shown"]}
        yield _Fact("{asked}: {value}", parts, place["page"], "question")


def _stated(made: checker.Made, question: dict[str, Any]) -> str:
    return checker.question_of(made, question).rstrip("?.").replace("{", "").replace("}", "")


CELL_STYLES = (
    "{captioned}: {title} of {name} {value}{unit}.",
    "{name} has a {title} of {value}{unit} ({captioned}).",
    "{captioned}, {name}: {title} is {value}{unit}.",
    "According to the table '{captioned}', the {title} for {name} was {value}{unit}.",
)


def _of_cell(shown: str, page: int, spot: checker.Spot, book: checker.Book, r: random.Random) -> _Fact:
    rows = enumerate(spot.table.rows)
    others = [cells for index, (where, cells) in rows if index != spot.row and where == page]
    names = tuple(cells[0].text for cells in others if cells[spot.column].text != shown)
    match = re.fullmatch(r"(.*?)(?: \(([^)]*)\))?", spot.title)
    title, unit = (match[1], match[2]) if match is not None else (spot.title, None)
    title = title if title.isupper() else title[0].lower() + title[1:]
    said, wrong = UNITS.get(unit or "", ("", ""))
    captioned = spot.table.caption.partition(": ")[2]
    year = min(checker.parts_of_caption(spot.table.caption)[0], default="")
    template = r.choice(CELL_STYLES)
    if year:
        template = template.replace("{captioned}", captioned.replace(year, "{year}"))
    parts = {"captioned": captioned, "name": spot.name, "title": title, "value": shown, "year": year}
    parts["unit"] = f" {said}" if said else ""
    years = _other_years(year, [table.caption for table in book.tables])
    return _Fact(template, parts, page, "table", names, years, f" {wrong}" if wrong else "")


def _other_years(year: str, captions: list[str]) -> tuple[str, ...]:
    if not year:
        return ()
    found = {one for caption in captions for one in checker.parts_of_caption(caption)[0]}
    near = {str(int(year) + step) for step in (-2, -1, 1, 2)}
    return tuple(sorted((found | near) - {year}))


def _of_chart(question: dict[str, Any], asked: str, book: checker.Book, r: random.Random) -> Iterator[_Fact]:
    program, slots = question["program"], question["slots"]
    values = [slots[name] for name in program["operands"]]
    labels = [slots[name] for name in program["labels"]]
    page = values[0]["places"][0]["page"]
    printed = all(place["text_layer"] for one in (*values, *labels) for place in one["places"])
    captions = [text for where, text in book.captions if where == page and _meant(text, asked)]
    if not printed or len(captions) != 1:
        return
    captioned = captions[0].partition(": ")[2]
    year = re.findall(r"\b(?:19|20)\d\d\b", captioned)[-1]
    index = r.randrange(len(values))
    shown = values[index]["shown"]
    pairs = zip(labels, values, strict=True)
    names = tuple(label["shown"] for label, value in pairs if value["shown"] != shown)
    style = r.choice(("{captioned}: {name} {value}.", "{name} stands at {value} in the chart '{captioned}'."))
    template = style.replace("{captioned}", captioned.replace(year, "{year}"))
    parts = {"name": labels[index]["shown"], "value": shown, "year": year}
    yield _Fact(template, parts, page, "chart", names, _other_years(year, [c for _, c in book.captions]))


def _meant(caption: str, asked: str) -> bool:
    """Whether the question says the years and names of a caption."""
    years, names = checker.parts_of_caption(caption)
    return bool(years) and all(checker.says(asked, one) for one in years | names)


def _of_sentence(
    made: checker.Made,
    question: dict[str, Any],
    slot: dict[str, Any],
    place: dict[str, Any],
    book: checker.Book,
    r: random.Random,
) -> Iterator[_Fact]:
    wanted, shown, page = question["program"].get("wanted", [""])[0], slot["shown"], place["page"]
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", book.texts[page - 1])
    holding = [one for one in sentences if checker.says(one, shown) and wanted in one and len(one) < 250]
    if len(holding) != 1 or not wanted or "{" in holding[0]:
        return
    style = r.choice(("whole", "span", "span", "question"))
    if style == "question":
        text, source = f"{_stated(made, question)}: {shown}.", "question"
    else:
        text, source = (holding[0] if style == "whole" else _span(holding[0], wanted, shown)), "sentence"
    template = text.replace(shown, "{value}", 1).replace(wanted, "{name}", 1)
    if "{value}" not in template or "{name}" not in template:
        return
    names = _names_like(made, question, wanted, page, book)
    yield _Fact(template, {"name": wanted, "value": shown}, page, source, names)


def _span(sentence: str, one: str, other: str) -> str:
    """The part of a sentence that holds two texts, with a few words around."""
    starts, ends = zip(*((sentence.index(t), sentence.index(t) + len(t)) for t in (one, other)), strict=True)
    before, after = sentence[: min(starts)].split(), sentence[max(ends) :].split()
    return " ".join([*before[-SPAN_WORDS:], sentence[min(starts) : max(ends)], *after[:SPAN_WORDS]])


def _names_like(
    made: checker.Made, question: dict[str, Any], wanted: str, page: int, book: checker.Book
) -> tuple[str, ...]:
    """Other names of the same pool on the same page."""
    pools = {s["slot"].get("pool") for s in question["slots"].values() if s["shown"] == wanted}
    found = {
        slot["shown"]
        for other in made.truth["questions"]
        if other["doc_id"] == question["doc_id"]
        for slot in other["slots"].values()
        if slot["slot"].get("pool") in pools and slot["slot"].get("pool") is not None
    }
    return tuple(sorted(n for n in found - {wanted} if checker.says(book.texts[page - 1], n)))


# Errors


def _other_value(shown: str, book: checker.Book, made: checker.Made, r: random.Random) -> str:
    """A value of the same form that no page of the document holds."""
    for attempt in range(200):
        value = _like(shown, made, r) if attempt < 100 else _mixed(shown, made, r)
        if value != shown and not any(checker.says(text, value) for text in book.texts):
            return value
    raise AssertionError(f"nothing like {shown!r} is new to the document")


def _like(shown: str, made: checker.Made, r: random.Random) -> str:
    if re.fullmatch(r"[\d.,]+%?", shown):
        digits = [
            c if not c.isdigit() else str(r.randint(1 if i == 0 else 0, 9)) for i, c in enumerate(shown)
        ]
        keep = r.randint(0, 1)  # half of the numbers keep their first digit, as misread ones do
        return shown[:keep] + "".join(digits[keep:])
    if re.fullmatch(r"[A-Z]{3}-\d{4}", shown):
        return shown[:4] + str(r.randint(1000, 9999))
    alike = [
        slot["shown"]
        for question in made.truth["questions"]
        for slot in question["slots"].values()
        if slot["slot"]["kind"] in ("name", "date") and _shape(slot["shown"]) == _shape(shown)
    ]
    return r.choice(alike) if alike else shown + "by"


def _mixed(shown: str, made: checker.Made, r: random.Random) -> str:
    """A name with the last word of another one."""
    last = [q["slots"][one]["shown"].split()[-1] for q in made.truth["questions"] for one in q["slots"]]
    return " ".join([*shown.split()[:-1], r.choice(last)])


def _shape(text: str) -> str:
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d]+", lambda m: "A" if m[0][0].isupper() else "a", text))


def _other_page(fact: _Fact, book: checker.Book, r: random.Random) -> int | None:
    """A page that does not hold the value: one that has the name, or any."""
    value, name = fact.parts["value"], fact.parts.get("name", "")
    pages = [
        page
        for page, text in enumerate(book.texts, 1)
        if page != fact.page and len(text) >= LEAST_TEXT and not checker.says(text, value)
    ]
    alike = [page for page in pages if name and checker.says(book.texts[page - 1], name)]
    if not pages:
        return None
    return r.choice(alike) if alike and r.random() < 0.5 else r.choice(pages)
