"""`Author`: one document while it is being written."""

from __future__ import annotations

from random import Random
from typing import cast

from looseleaf.procedural.blocks import Block, Ref, Rich
from looseleaf.procedural.compose import Composer
from looseleaf.procedural.draft import Draft, Source
from looseleaf.procedural.names import Pool
from looseleaf.procedural.phrases import Filler, Theme, Wording, wording
from looseleaf.procedural.programs import Candidate, Program
from looseleaf.procedural.slots import Mint, Values
from looseleaf.procedural.splits import Split
from looseleaf.procedural.style import FormKind, Style

__all__ = ["STAMPS", "Author"]

NEAREST = 12
"""Names drawn at full difficulty to find one that is nearly the name of something in the document."""
STAMPS = ("DRAFT", "FINAL", "REVISED")
"""Words stamped at the top of pages."""
RESERVED_PAGES = 260
"""Margin codes and stamps are drawn for this many pages before the number of pages is known."""


class Author:
    """Collects blocks, slots and question drafts of one document.

    Attributes:
        kind, split, difficulty: what is being written.
        rng: source of every choice; seeded by split, seed and document.
        mint: the document's values.
        theme, style, filler: what it is about, how it looks, and its idle sentences.
        organisation, title, forewords: texts of the front matter.
        blocks: body blocks so far; `composer` has laid them out.
        drafts: questions that could be asked.
        margin_codes, stamps: slots printed in the margin or at the top of each page, if any.
    """

    def __init__(
        self, kind: FormKind, split: Split, difficulty: float, theme: Theme, style: Style, rng: Random
    ) -> None:
        self.kind = kind
        self.split = split
        self.difficulty = difficulty
        self.rng = rng
        self.mint = Mint(rng, split)
        self.theme = theme
        self.style = style
        self.filler = Filler(theme, kind, rng)
        self.blocks: list[Block] = []
        self.drafts: list[Draft] = []
        self.chapters: list[str] = []
        self.organisation = f"{self.mint.name('place')} {rng.choice(theme.organisations)}"
        self.title = rng.choice(theme.titles)
        self.forewords = self._forewords()
        self.margin_codes = self._margin_codes()
        self.stamps = self._stamps()
        self._numbers: dict[str, int] = {}
        self.near = 1 + round(NEAREST * difficulty)
        self.composer = self.new_composer(self.mint.values)

    @property
    def values(self) -> Values:
        """The document's slots."""
        return self.mint.values

    def _forewords(self) -> list[tuple[str, list[str]]]:
        """Titles and paragraphs of one or two front pages."""
        titles = ("Foreword", "About this document")[: self.rng.choice((1, 2))]
        return [(title, [self.filler.paragraph(5) for _ in range(4)]) for title in titles]

    def _margin_codes(self) -> tuple[str, ...]:
        wanted = self.kind in ("manual", "form") or (self.kind == "report" and self.rng.random() < 0.3)
        return tuple(self.mint.keep_text("code") for _ in range(RESERVED_PAGES)) if wanted else ()

    def _stamps(self) -> tuple[str, ...]:
        if self.kind in ("slides", "paper") or self.rng.random() < 0.4:
            return ()
        return tuple(self.mint.keep_category(STAMPS) for _ in range(RESERVED_PAGES))

    def new_composer(self, values: Values) -> Composer:
        """A composer for the body, on these values."""
        running = f"{self.organisation}: {self.title}"
        return Composer(self.style, values, running, margin_codes=self.margin_codes, stamps=self.stamps)

    def add(self, *blocks: Block) -> None:
        """Write and lay out blocks."""
        for block in blocks:
            self.blocks.append(block)
            self.composer.add(block)

    def number(self, what: str) -> int:
        """The next number of tables, figures or footnotes."""
        self._numbers[what] = self._numbers.get(what, 0) + 1
        return self._numbers[what]

    def chance(self, easy: float, hard: float) -> bool:
        """True with a probability that runs from `easy` to `hard` with the difficulty."""
        return self.rng.random() < easy + (hard - easy) * self.difficulty

    def word(self, name: str) -> Wording:
        """A wording of this split."""
        return wording(name, self.split, self.rng)

    def shown(self, slot: str) -> str:
        """A value as printed."""
        return self.values[slot].shown

    def ask(
        self,
        name: str,
        words: dict[str, object],
        program: Program,
        evidence: tuple[str, ...],
        sources: tuple[Source, ...],
        *,
        siblings: tuple[Program, ...] = (),
        common: bool = False,
    ) -> None:
        """Note a question that could be asked."""
        template = self.word(name)
        self.draft(template, template.text.format(**words), program, evidence, sources, siblings, common)

    def draft(
        self,
        template: Wording,
        text: str,
        program: Program,
        evidence: tuple[str, ...],
        sources: tuple[Source, ...],
        siblings: tuple[Program, ...] = (),
        common: bool = False,
    ) -> None:
        """Note a question whose text is ready."""
        text = text[0].upper() + text[1:]
        self.drafts.append(Draft(template.name, text, program, evidence, sources, siblings, common))

    def find(self, keys: tuple[str, ...], value: str, wanted: tuple[str, ...] | None = None) -> Program:
        """A look-up; without `wanted` the keys as they read now."""
        read = tuple(self.shown(key) for key in keys)
        return Program(
            op="find", candidates=(Candidate(keys, value),), wanted=read if wanted is None else wanted
        )

    def absent(self, slot: str) -> str:
        """A name that the document lacks, the more like the slot's own the higher the difficulty."""
        return self.mint.near(cast(Pool, self.values[slot].pool), self.shown(slot), self.near)

    def wrap(self, text: Rich) -> Rich:
        """A sentence with facts between idle sentences."""
        before = self.filler.sentence() + " " if self.rng.random() < 0.7 else ""
        after = " " + self.filler.sentence() if self.rng.random() < 0.7 else ""
        return (before, *text, after)

    @staticmethod
    def ref(slot: str) -> Rich:
        """A text that is one slot."""
        return (Ref(slot),)
