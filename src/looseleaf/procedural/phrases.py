"""The words of generated documents: themes, facts, question wordings and filler, read from the package's data."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, Literal

import msgspec

from looseleaf.procedural.names import Pool
from looseleaf.procedural.slots import Kind
from looseleaf.procedural.splits import Split

__all__ = ["ChartSpec", "ColumnSpec", "FactSpec", "FactWords", "FamilySpec", "Filler", "Theme", "Wording", "facts",
           "themes", "wording"]  # fmt: skip

ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")
"""An article that needs an n."""


class ColumnSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table: numbers in a range, names of a pool, dates, codes or categories."""

    header: str
    noun: str
    kind: Kind = "number"
    pool: Pool | None = None
    decimals: int = 0
    low: int = 0
    high: int = 0
    values: tuple[str, ...] = ()


class FamilySpec(msgspec.Struct, frozen=True, kw_only=True):
    """A table that a document shows several times, for different years, districts, data sets or devices."""

    title: str
    row_pool: Pool
    row: str
    rows: str
    by: Literal["year", "dataset", "place", "device"] = "year"
    measures: tuple[ColumnSpec, ...]
    texts: tuple[ColumnSpec, ...]


class ChartSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a chart counts."""

    title: str
    noun: str
    unit: str
    low: int
    high: int


class Theme(msgspec.Struct, frozen=True, kw_only=True):
    """What a document is about."""

    name: str
    kinds: tuple[str, ...]
    doc_type: str
    organisations: tuple[str, ...]
    titles: tuple[str, ...]
    nouns: tuple[str, ...]
    family: tuple[FamilySpec, ...]
    chart: tuple[ChartSpec, ...]


class SlotSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A slot of a fact: a pool of names, a date, a code or a range of numbers."""

    pool: Pool | None = None
    kind: Kind = "number"
    low: int = 0
    high: int = 0
    decimals: int = 0


class FactWords(msgspec.Struct, frozen=True, kw_only=True):
    """How one split tells a fact, asks for its slots, and names its numbers in a longer question."""

    statements: tuple[str, ...]
    questions: dict[str, tuple[str, ...]]
    nouns: dict[str, str] = {}


class FactSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A fact told in running text; see `data/facts.toml`."""

    kinds: tuple[str, ...]
    key: str
    slots: dict[str, SlotSpec]
    train: FactWords
    rl: FactWords
    test: FactWords
    list_: tuple[str, ...] = msgspec.field(default=(), name="list")

    def words(self, split: Split) -> FactWords:
        """The wording of one split."""
        return {"train": self.train, "rl": self.rl, "test": self.test}[split]


class Wording(msgspec.Struct, frozen=True):
    """A template with its name, which is unique over all splits."""

    name: str
    text: str


@cache
def _data(name: str) -> Any:
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def themes() -> tuple[Theme, ...]:
    """Every theme."""
    return msgspec.convert(_data("themes")["theme"], tuple[Theme, ...])


@cache
def facts() -> dict[str, FactSpec]:
    """Every fact by name."""
    return msgspec.convert(_data("facts"), dict[str, FactSpec])


@cache
def _wordings() -> dict[str, dict[str, dict[str, list[str]]]]:
    return msgspec.convert(_data("questions"), dict[str, dict[str, dict[str, list[str]]]])


def wording(name: str, split: Split, rng: Random) -> Wording:
    """One of the wordings that a split has for a question, e.g. `table.lookup`."""
    section, _, entry = name.partition(".")
    options = _wordings()[section][entry][split]
    index = rng.randrange(len(options))
    return Wording(f"{name}.{split}.{index}", options[index])


class Filler:
    """Sentences without facts."""

    def __init__(self, theme: Theme, kind: str, rng: Random) -> None:
        data = _data("filler")
        self._frames: list[str] = data.get(kind, data["report"])["frames"]
        self._adjectives: list[str] = data["adjectives"]
        self._times: list[str] = data["times"]
        self._nouns = theme.nouns
        self._rng = rng

    def sentence(self) -> str:
        """One sentence."""
        n, n2 = self._rng.sample(self._nouns, 2)
        text = self._rng.choice(self._frames).format(
            n=n, n2=n2, a=self._rng.choice(self._adjectives), t=self._rng.choice(self._times)
        )
        return ARTICLE.sub(r"\1n ", text)

    def paragraph(self, sentences: int) -> str:
        """Several sentences."""
        return " ".join(self.sentence() for _ in range(sentences))

    def heading(self) -> str:
        """A heading of two nouns."""
        n, n2 = self._rng.sample(self._nouns, 2)
        return f"{n[0].upper()}{n[1:]} and {n2}"
