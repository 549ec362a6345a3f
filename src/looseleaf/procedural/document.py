"""Writes one document: plan, pages, questions, and its twins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from looseleaf.procedural.author import Author
from looseleaf.procedural.blocks import Break, Heading, Prose
from looseleaf.procedural.choose import Chosen, choose
from looseleaf.procedural.compose import Composer
from looseleaf.procedural.dice import dice
from looseleaf.procedural.kinds import Writer
from looseleaf.procedural.measure import width_of
from looseleaf.procedural.page import BLACK, Sheet, Text
from looseleaf.procedural.paint import Painter
from looseleaf.procedural.phrases import themes
from looseleaf.procedural.slots import Values
from looseleaf.procedural.splits import Split
from looseleaf.procedural.style import FormKind, draw_style

__all__ = ["Document", "Located", "write_document"]

ROMAN = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
LARGEST_SKEW = 1.1
"""Degrees by which a scanned page may lie crooked."""
CONTENTS_LINES = 34


class Located(msgspec.Struct, frozen=True):
    """Where a slot is to be seen: physical page from 1, box in points, and whether a text layer holds it."""

    page: int
    box: tuple[float, float, float, float]
    text_layer: bool


@dataclass(frozen=True)
class Document:
    """One document, ready to be written.

    Attributes:
        author: plan and slots.
        sheets: all pages, front matter first.
        front: number of front pages.
        questions: the chosen questions.
        painter: keeps the images of pages that do not change between twins.
    """

    author: Author
    sheets: list[Sheet]
    front: int
    questions: list[Chosen]
    painter: Painter

    def pdf(self, sheets: Sequence[Sheet] | None = None) -> bytes:
        """The PDF, or that of a twin with the given pages."""
        labels = [(0, "ROMAN_LOWER", 1)] if self.front else []
        title = f"{self.author.organisation}: {self.author.title}"
        return self.painter.write(
            self.sheets if sheets is None else sheets, title, [*labels, (self.front, "ARABIC", 1)]
        )


def write_document(kind: FormKind, split: Split, difficulty: float, seed: str, count: int) -> Document:
    """Plan, lay out and question one document.

    Args:
        kind: sort of document.
        split: whose names, numbers and wordings to use.
        difficulty: 0 to 1.
        seed: everything is drawn from this text.
        count: number of questions.
    """
    rng = dice(seed)
    theme = rng.choice([theme for theme in themes() if kind in theme.kinds])
    author = Author(kind, split, difficulty, theme, draw_style(kind, rng), rng)
    writer = Writer(author)
    writer.write()
    body = author.composer.finish()
    sheets, front = assemble(author, body)
    writer.layouts.ask_pages(sheets[front:])
    questions = choose(author, sheets, count)
    return Document(author, sheets, front, questions, Painter())


def lay_out(author: Author, values: Values) -> list[Sheet]:
    """The pages of the document on other values."""
    composer = author.new_composer(values)
    for block in author.blocks:
        composer.add(block)
    return assemble(author, composer.finish())[0]


def assemble(author: Author, body: list[Sheet]) -> tuple[list[Sheet], int]:
    """Front matter before the body; page numbers printed; scanned pages laid crooked."""
    for i, sheet in enumerate(body, start=1):
        sheet.label = str(i)
    front = _front_matter(author, body)
    for i, sheet in enumerate(front, start=1):
        sheet.label = ROMAN[i]
    sheets = [*front, *body]
    for i, sheet in enumerate(sheets):
        if i or not front:
            _print_label(author, sheet)
        if sheet.scanned:
            sheet.skew = round(dice(f"{author.title}/{i}").uniform(-LARGEST_SKEW, LARGEST_SKEW), 2)
    return sheets, len(front)


def _print_label(author: Author, sheet: Sheet) -> None:
    style = author.style
    text = style.label_form.format(sheet.label)
    x = (sheet.width - width_of(text, style.body, 8.5)) / 2
    sheet.shapes.append(Text(x, 20 if style.slide else 34, text, style.body, 8.5, BLACK))


def _front_matter(author: Author, body: list[Sheet]) -> list[Sheet]:
    """Cover, contents and foreword; slides have none, papers only a title above the first column."""
    if author.kind in ("slides", "paper"):
        return []
    composer = Composer(author.style, author.values, f"{author.organisation}: {author.title}")
    composer.add(Break())
    composer.y -= 150
    composer.add(Heading(0, (author.organisation,)))
    composer.add(Heading(1, (author.title,)))
    _contents(author, composer, body)
    for title, paragraphs in author.forewords:
        composer.add(Break(1, False, (title,)))
        composer.add(Heading(1, (title,)))
        for paragraph in paragraphs:
            composer.add(Prose((paragraph,)))
    sheets = composer.finish()
    for sheet in sheets:
        sheet.chapter = -1
    return sheets


def _contents(author: Author, composer: Composer, body: list[Sheet]) -> None:
    """Chapters with their printed page numbers."""
    style = author.style
    starts = [next((s.label for s in body if s.chapter >= i), "") for i in range(len(author.chapters))]
    lines = list(zip(author.chapters, starts, strict=True))
    for first in range(0, len(lines), CONTENTS_LINES):
        composer.add(Break(1, False, ("Contents",)))
        composer.add(Heading(1, ("Contents",)))
        for title, label in lines[first : first + CONTENTS_LINES]:
            composer.y -= style.leading * 1.15
            right = style.page[0] - style.margin[1]
            dots = " ." * int(
                (right - composer.x - width_of(title, style.body, style.size) - 40) / (style.size * 0.55)
            )
            composer.line_of(f"{title}{dots}", composer.x)
            composer.line_of(label, right - width_of(label, style.body, style.size))
