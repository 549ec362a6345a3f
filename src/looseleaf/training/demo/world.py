"""Documents of the demonstration: pages as real images, each with a number that has to be read from the pixels.

A page shows two digits, each with random place, size and ink, under noise, and nothing else; there is no text layer. A
question names the page: "How many boats are on page 3?".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from looseleaf.runstore import Ledger, write_atomically

__all__ = ["LEAST", "MOST", "THINGS", "DemoQuestion", "draw_page", "read_world", "write_world"]

THINGS = ("boats", "lamps", "trees", "coins")
PAGES = 4
"""Pages of a document."""
CELL = 32
"""Pixels of the square that a digit is drawn in; a page is two of them side by side."""
LEAST, MOST = 10, 99
"""Range of the numbers."""
FONT_SIZES = (24, 27)
JITTER = 3
"""Most pixels that a digit is moved in each direction."""
DARKEST, LIGHTEST = 0, 110
"""Range of each colour of the ink, of 255."""
NOISE = 8.0
"""Standard deviation of the noise on each pixel, of 255."""


class DemoQuestion(msgspec.Struct, frozen=True):
    """One question, in the form of one's own questions.

    Attributes:
        doc_id: folder of the document.
        question: as asked.
        answer: the number that the page shows.
        evidence_pages: the page, 1-based.
        thing: what is counted.
    """

    doc_id: str
    question: str
    answer: int
    evidence_pages: tuple[int]
    thing: str

    @property
    def page(self) -> int:
        """The page that is asked about."""
        return self.evidence_pages[0]

    def specific_note(self) -> str:
        """A finding that answers the question."""
        return f"page {self.page} has {self.answer} {self.thing}"

    def generic_note(self) -> str:
        """A finding that says what the page is about and nothing that it says."""
        return f"page {self.page} counts {self.thing}"


def write_world(folder: Path, name: str, documents: int, seed: int) -> list[DemoQuestion]:
    """Write documents and their question file `NAME.jsonl`, one question a page.

    Args:
        folder: holds `documents/` and the question files.
        name: of the question set; documents of different sets are different.
        documents: how many.
        seed: of everything that is random.
    """
    generator = np.random.default_rng(seed)
    questions: list[DemoQuestion] = []
    for number in range(documents):
        doc_id = f"{name}_{number:03d}"
        (folder / "documents" / doc_id).mkdir(parents=True, exist_ok=True)
        questions += _write_document(folder / "documents" / doc_id, doc_id, generator)
    lines = b"".join(msgspec.json.encode(question) + b"\n" for question in questions)
    write_atomically(folder / f"{name}.jsonl", lines)
    return questions


def read_world(folder: Path, name: str) -> list[DemoQuestion]:
    """The questions of a set that was written before."""
    return list(Ledger(folder / f"{name}.jsonl", DemoQuestion).read())


def _write_document(folder: Path, doc_id: str, generator: np.random.Generator) -> Iterator[DemoQuestion]:
    for page in range(1, PAGES + 1):
        number = int(generator.integers(LEAST, MOST + 1))
        thing = str(generator.choice(THINGS))
        draw_page(number, generator).save(folder / f"page_{page}.png")
        yield DemoQuestion(doc_id, f"How many {thing} are on page {page}?", number, (page,), thing)


def draw_page(number: int, generator: np.random.Generator) -> Any:
    """One page as a PIL image."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (2 * CELL, CELL), "white")
    brush = ImageDraw.Draw(image)
    for column, digit in enumerate(str(number)):
        ink = tuple(generator.integers(DARKEST, LIGHTEST + 1, size=3).tolist())
        font = ImageFont.load_default(size=int(generator.integers(FONT_SIZES[0], FONT_SIZES[1] + 1)))
        across, down = generator.integers(-JITTER, JITTER + 1, size=2).tolist()
        centre = (CELL * column + CELL // 2 + across, CELL // 2 + down)
        brush.text(centre, digit, fill=ink, font=font, anchor="mm")
    pixels = np.asarray(image, dtype=np.float64) + generator.normal(0, NOISE, (CELL, 2 * CELL, 1))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
