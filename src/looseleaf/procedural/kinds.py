"""The five kinds of documents: how chapters are put together from what the makers write."""

from __future__ import annotations

from collections.abc import Callable

from looseleaf.procedural.author import Author
from looseleaf.procedural.blocks import Block, Break, Heading, Masthead, Prose
from looseleaf.procedural.makers.layouts import Layouts
from looseleaf.procedural.makers.pictures import Pictures
from looseleaf.procedural.makers.plots import ChartFamily
from looseleaf.procedural.makers.sheets import Sheets
from looseleaf.procedural.makers.tables import TableFamily
from looseleaf.procedural.makers.texts import Facts

__all__ = ["FEWEST_PAGES", "MOST_PAGES", "Writer", "draw_length"]

FEWEST_PAGES, MOST_PAGES = 5, 200
ROOM = 22
"""Pages kept free for front matter and for a last chapter that runs on."""
LENGTHS = {"report": (14, 80), "paper": (8, 30), "slides": (12, 50), "manual": (12, 70), "form": (6, 40)}
"""Body pages of the shortest and longest document at difficulty 0.5."""
Part = Callable[[], tuple[Block, ...]]


def draw_length(author: Author) -> int:
    """Body pages to write: log-uniform, longer with the difficulty, between 5 and 200 with front matter."""
    low, high = LENGTHS[author.kind]
    low = max(FEWEST_PAGES, round(low * (0.4 + 1.2 * author.difficulty)))
    high = min(
        MOST_PAGES - ROOM, round(high * (0.3 + 1.4 * author.difficulty) * author.rng.choice((1, 1, 1, 1.6)))
    )
    ratio = max(high, low + 1) / low
    return round(low * float(ratio ** author.rng.random()))


class Writer:
    """Writes the body of one document."""

    def __init__(self, author: Author) -> None:
        rng, theme = author.rng, author.theme
        self.author = author
        self.length = draw_length(author)
        self.facts = Facts(author) if author.kind != "form" or rng.random() < 0.7 else None
        self.tables = [self._family(i) for i in range(min(2, len(theme.family)))]
        self.charts = [ChartFamily(author, spec) for spec in theme.chart]
        self.pictures = Pictures(author)
        self.layouts = Layouts(author)
        self.sheets = Sheets(author)
        self.scans = author.chance(0.15, 0.5) if author.kind != "slides" else False
        self.full = False

    def _family(self, index: int) -> TableFamily:
        """The first family has a few rows; a second one may be long enough to break over pages."""
        author, rng = self.author, self.author.rng
        spec = author.theme.family[index]
        if author.kind == "slides":
            rows = rng.randrange(6, 9)
        elif index == 1 or (len(author.theme.family) == 1 and rng.random() < 0.25):
            rows = rng.randrange(24, 24 + round(50 * author.difficulty) + 4)
        else:
            rows = rng.randrange(7, 15)
        return TableFamily(
            author, spec, rows, 3 if author.kind in ("paper", "slides") else rng.choice((3, 4, 5))
        )

    def write(self) -> None:
        """Write chapters until the document is long enough, then draft the questions that span it."""
        chapter = {"slides": self._slides, "form": self._forms}.get(self.author.kind, self._chapter)
        while len(self.author.composer.sheets) < self.length:
            chapter()
        for family in self.tables:
            if family.copies:
                family.ask()
        for charts in self.charts:
            if charts.copies:
                charts.ask()
                for family in self.tables:
                    charts.ask_against(family)
        if self.facts:
            self.facts.ask_pairs()

    # chapters

    def _chapter(self) -> None:
        """A chapter of a report, paper or manual."""
        author, rng = self.author, self.author.rng
        columns = 2 if author.kind == "paper" or rng.random() < 0.2 else 1
        self._open(columns, scanned=self.scans and author.chance(0.1, 0.5))
        for _ in range(rng.randrange(3, 9)):
            if len(author.composer.sheets) >= self.length + 3:
                break
            self._idle(rng.randrange(0, 3))
            author.add(*self._part(columns))

    def _open(self, columns: int, *, scanned: bool) -> None:
        author = self.author
        if author.kind == "paper" and not author.chapters:
            self._title_page()
            scanned = False
        title = self._chapter_title()
        author.chapters.append(title)
        first = author.kind == "paper" and len(author.chapters) == 1
        if first or (
            author.kind == "paper" and not (scanned or author.composer.scanned) and author.rng.random() < 0.8
        ):
            author.add(Heading(1, (title,)))
            return
        author.add(Break(columns, scanned, (title,)), Heading(1, (title,)))

    def _title_page(self) -> None:
        """The first page of a paper."""
        author = self.author
        authors = ", ".join(author.mint.name("person") for _ in range(author.rng.randrange(2, 5)))
        author.add(Break(2, False, (author.title,)))
        author.add(Masthead(author.title, f"{authors} ({author.organisation})", author.filler.paragraph(5)))

    def _chapter_title(self) -> str:
        """A heading that no chapter has yet; numbered like in most long documents."""
        author = self.author
        number = len(author.chapters) + 1
        title = author.filler.heading()
        return title if author.kind == "slides" else f"{number} {title}"

    def _idle(self, paragraphs: int) -> None:
        for _ in range(paragraphs):
            text = self.author.filler.paragraph(self.author.rng.randrange(3, 7))
            self.author.add(Prose((text,), small=False))

    def _part(self, columns: int) -> tuple[Block, ...]:
        """One element of a chapter."""
        parts: list[tuple[int, Part]] = [
            (5, self._fact),
            (4, self._table if columns == 1 or self.author.kind == "paper" else self._fact),
            (4, self._chart),
            (3, lambda: (self.pictures.write(),)),
            (1, lambda: (self.layouts.bullets(),)),
            (2 if self.author.kind == "manual" else 1, lambda: (self.layouts.steps(),)),
            (1, lambda: (self.layouts.box(),)),
            (1, lambda: (self.layouts.footnoted(),)),
            (1, self._hop),
        ]
        weights = [weight for weight, _ in parts]
        return self.author.rng.choices([part for _, part in parts], weights)[0]()

    def _fact(self) -> tuple[Block, ...]:
        return (self.facts.write(),) if self.facts else (Prose((self.author.filler.paragraph(4),)),)

    def _table(self) -> tuple[Block, ...]:
        free = [family for family in self.tables if not family.exhausted]
        return (self.author.rng.choice(free).write(),) if free else self._fact()

    def _chart(self) -> tuple[Block, ...]:
        free = [family for family in self.charts if not family.exhausted]
        return (self.author.rng.choice(free).write(),) if free else self._fact()

    def _hop(self) -> tuple[Block, ...]:
        author = self.author
        shown = [(family, copy) for family in self.tables for copy in family.copies]
        if not shown:
            return self._fact()
        family, copy = author.rng.choice(shown)
        return tuple(Prose(author.wrap(sentence), keep=True) for sentence in family.ask_hop(copy))

    def _slides(self) -> None:
        """One slide."""
        author, rng = self.author, self.author.rng
        title = self._chapter_title()
        author.chapters.append(title)
        author.add(Break(1, False, (title,)), Heading(1, (title,)))
        parts: list[Part] = [
            self._table,
            self._chart,
            self._chart,
            lambda: (self.pictures.write(),),
            lambda: (self.layouts.bullets(),),
            lambda: (*self._fact(), *self._fact()),
            lambda: (*self._fact(), self.layouts.box()),
        ]
        author.add(*rng.choice(parts)())

    def _forms(self) -> None:
        """One application sheet, or now and then a page of the register."""
        author, rng = self.author, self.author.rng
        title = f"Sheet {len(author.chapters) + 1}"
        author.chapters.append(title)
        author.add(Break(1, self.scans and rng.random() < 0.6, (title,)), Heading(1, (title,)))
        if rng.random() < 0.7:
            _, fields, boxes = self.sheets.write()
            author.add(fields, boxes, Prose((author.filler.paragraph(4),)))
            if rng.random() < 0.4:
                author.add(self.layouts.footnoted())
        else:
            self._idle(1)
            author.add(*rng.choice((self._table, self._chart, self._fact))())
