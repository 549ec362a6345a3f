"""Planted errors on generated documents: how many the embedded grounding check catches, and how many it invents.

The findings are made from the generator's truth and the page's text, not by the code under test.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from looseleaf.document import Document
from looseleaf.lab.grounding import PageIndex, Verdict, check_finding
from looseleaf.memory import Finding
from looseleaf.procedural import make

pytestmark = pytest.mark.slow

UNITS = {
    **{
        "million": "billion",
        "billion": "million",
        "thousand": "million",
        "hours": "minutes",
        "minutes": "hours",
    },
    **{
        "euros": "dollars",
        "EUR": "USD",
        "bar": "psi",
        "millibar": "bar",
        "grams": "kilograms",
        "days": "weeks",
    },
    **{
        "kilograms": "grams",
        "seconds": "hours",
        "tonnes": "kilograms",
        "(h)": "(min)",
        "square metres": "acres",
    },
}
NUMBER = re.compile(r"(?<![\w.-])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\w-])")
FLAGGED = (Verdict.CONTRADICTED, Verdict.NOT_FOUND)


class Fact(NamedTuple):
    """A printed value with what it is the value of."""

    index: PageIndex
    question: str
    wanted: tuple[str, ...]
    value: str
    page: int
    is_number: bool

    def findings(self) -> tuple[str, ...]:
        about = ", ".join(self.wanted)
        return (
            f"{self.question.rstrip('?.')}: {self.value}",
            f"{about}: {self.value}",
            f"The page gives {self.value} for {about}.",
        )


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> list[Fact]:
    folder = tmp_path_factory.mktemp("planted") / "data"
    make(folder, documents=60, seed=23, split="test", questions=14)
    return list(facts_of(folder))


def facts_of(folder: Path) -> Iterator[Fact]:
    """Facts of prose and tables that stand on one page in its text layer."""
    truth = msgspec.json.decode((folder / "truth.json").read_bytes())
    rows = msgspec.json.decode((folder / "samples.json").read_bytes())
    indexes: dict[str, PageIndex] = {}
    for question in truth["questions"]:
        found = printed_value(question)
        if found is None:
            continue
        value, page, is_number = found
        name = question["doc_id"]
        if name not in indexes:
            indexes[name] = PageIndex(Document.open(folder / "documents" / name).texts())
        wanted = tuple(question["program"]["wanted"])
        if value in indexes[name].text(page):
            yield Fact(indexes[name], rows[question["index"]]["question"], wanted, value, page, is_number)


def printed_value(question: dict[str, Any]) -> tuple[str, int, bool] | None:
    kind = question["template"].partition(".")[0]
    if (
        question["program"]["op"] != "find"
        or kind not in ("fact", "table")
        or len(question["evidence_pages"]) != 1
    ):
        return None
    slots, wanted = question["slots"], question["program"].get("wanted", [])
    for candidate in question["program"]["candidates"]:
        keys = [slots[key]["shown"] for key in candidate["keys"] if key in slots]
        value = slots.get(candidate["value"])
        if wanted and keys == wanted and value and all(place["text_layer"] for place in value["places"]):
            is_number = value["slot"]["kind"] in ("number", "percent")
            return value["shown"], question["evidence_pages"][0], is_number
    return None


def planted(fact: Fact, text: str, rng: random.Random) -> Iterator[tuple[str, Finding]]:
    yield "clean", Finding(text, fact.page)
    others = [
        p for p in range(1, fact.index.page_count + 1) if p != fact.page and len(fact.index.text(p)) > 200
    ]
    if others:
        yield "wrong page", Finding(text, rng.choice(others))
    if fact.is_number:
        here = fact.index.text(fact.page)
        pool = [n for p in others for n in NUMBER.findall(fact.index.text(p)) if n not in here and len(n) > 2]
        if pool:
            yield "off page", Finding(text.replace(fact.value, rng.choice(pool)), fact.page)
    if rivals := same_column(fact):
        yield "wrong row", Finding(text.replace(fact.value, rng.choice(rivals)), fact.page)
    for unit, other in UNITS.items():
        if re.search(rf"(?<!\w){re.escape(unit)}(?!\w)", text):
            yield "unit", Finding(re.sub(rf"(?<!\w){re.escape(unit)}(?!\w)", other, text, count=1), fact.page)
            break


def same_column(fact: Fact) -> list[str]:
    """Other values of the column that holds the value, read off the tabs of the page's text."""
    lines = [line.split("\t") for line in fact.index.text(fact.page).splitlines() if "\t" in line]
    for line in lines:
        if fact.value in line:
            column = line.index(fact.value)
            alike = [other for other in lines if len(other) == len(line) and other is not line]
            rows = [other for other in alike if any(map(NUMBER.search, other))]  # the header has none
            return [
                other[column]
                for other in rows
                if other[column] != fact.value and bool(NUMBER.search(other[column])) == fact.is_number
            ]
    return []


@pytest.mark.parametrize("with_question", [True, False], ids=["question known", "question unknown"])
def test_planted_errors(facts: list[Fact], with_question: bool) -> None:
    rng = random.Random(5)
    flagged: dict[str, list[bool]] = defaultdict(list)
    for fact in facts:
        for text in fact.findings():
            for name, finding in planted(fact, text, rng):
                found = check_finding(finding, fact.index, fact.question if with_question else "")
                flagged[name].append(found.verdict in FLAGGED)
    share = {name: sum(hits) / len(hits) for name, hits in flagged.items()}
    counts = {name: len(hits) for name, hits in flagged.items()}
    assert counts["clean"] > 200, counts
    invented = sum(flagged["clean"])
    for name in ("off page", "wrong page"):
        caught = sum(flagged[name])
        assert share[name] >= 0.90, (share, counts)
        assert caught / (caught + invented) >= 0.95, (share, counts)
    assert share["wrong row"] >= 0.70, (share, counts)
    assert share["unit"] >= 0.70, (share, counts)
