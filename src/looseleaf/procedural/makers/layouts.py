"""Bullets, steps, shaded boxes, footnotes, margin codes and stamps; and questions about them."""

from __future__ import annotations

from collections.abc import Sequence

from looseleaf.procedural.author import STAMPS, Author
from looseleaf.procedural.blocks import Bullets, NoteBox, Prose, Rich, rich
from looseleaf.procedural.draft import LAYOUT
from looseleaf.procedural.page import Sheet
from looseleaf.procedural.programs import Program

__all__ = ["Layouts"]

FEWEST_STEPS, MOST_STEPS = 4, 9
MOST_STAMPED = 40
"""Longest document whose stamps are to be counted from end to end."""


class Layouts:
    """Writes the elements of a page that are neither text nor table nor figure."""

    def __init__(self, author: Author) -> None:
        self.author = author
        self.boxes: list[str] = []

    def bullets(self) -> Bullets:
        """A titled list of points."""
        author, mint = self.author, self.author.mint
        title = self._title("Goals of")
        items = tuple(mint.keep_name("goal") for _ in range(author.rng.randrange(3, 6)))
        words: dict[str, object] = {"title": title}
        author.ask("layout.bullets", words, Program(op="list", operands=items), items, (LAYOUT,))
        i = author.rng.randrange(len(items))
        program = author.find((), items[i])
        author.ask("layout.bullet", words | {"number": i + 1}, program, (items[i],), (LAYOUT,))
        return Bullets(title, tuple(author.ref(item) for item in items))

    def steps(self) -> Bullets:
        """A numbered procedure; how many steps it shows is a slot."""
        author, mint, rng = self.author, self.author.mint, self.author.rng
        title = self._title("Service of")
        size = rng.randrange(FEWEST_STEPS, MOST_STEPS)
        count = mint.keep(kind="count", value=size, low=1, high=MOST_STEPS)
        tools = tuple(mint.keep_name("tool") for _ in range(MOST_STEPS))
        items = tuple(self._step(tool, i % 3 == 2) for i, tool in enumerate(tools))
        words: dict[str, object] = {"title": title}
        author.ask(
            "layout.steps", words, Program(op="find", candidates=author.find((), count).candidates),
            (count, ), (LAYOUT,), common=True,
        )  # fmt: skip
        asked = rng.choice([i for i in range(size) if i % 3 != 2])
        program = author.find((), tools[asked])
        author.ask("layout.step_tool", words | {"number": asked + 1}, program, (tools[asked],), (LAYOUT,))
        return Bullets(title, items, numbered=True, count=count)

    def _step(self, tool: str, plain: bool) -> Rich:
        author = self.author
        if plain:
            return (author.word("step.plain").text,)
        words = {"part": author.mint.name("part")}
        return rich(author.word("step.statement").text, {"tool": tool}, words)

    def _title(self, prefix: str) -> str:
        """A heading that no other part of the document has."""
        return f"{prefix} {self.author.mint.name('project')}"

    def box(self) -> NoteBox:
        """A shaded box; its heading is asked for by page number once that is known."""
        author = self.author
        heading = author.mint.keep_name("goal")
        self.boxes.append(heading)
        return NoteBox(author.ref(heading), (author.filler.paragraph(2),))

    def footnoted(self) -> Prose:
        """A paragraph with a footnote."""
        author, mint = self.author, self.author.mint
        number = author.number("footnote")
        slots = {
            "lab": mint.keep_name("laboratory"),
            "share": mint.keep_number(1010, 9890, decimals=2, kind="percent"),
        }
        words: dict[str, object] = {"number": number}
        program = author.find((), slots["lab"])
        author.ask("layout.footnote", words, program, (slots["lab"],), (LAYOUT,))
        program = author.find((), slots["share"])
        author.ask("layout.footnote_share", words, program, (slots["share"],), (LAYOUT,))
        note = rich(author.word("footnote.statement").text, slots)
        return Prose((f"{author.filler.paragraph(2)} [{number}]",), keep=True, note=(number, note))

    # questions that need the finished pages

    def ask_pages(self, sheets: Sequence[Sheet]) -> None:
        """Questions that name a printed page number or a chapter."""
        self._ask_boxes(sheets)
        self._ask_margins(sheets)
        self._ask_stamps(sheets)

    def _ask_boxes(self, sheets: Sequence[Sheet]) -> None:
        author, boxes = self.author, set(self.boxes)
        for sheet in sheets:
            here = {mark.slot_id for mark in sheet.marks} & boxes
            if len(here) == 1:
                slot = here.pop()
                words: dict[str, object] = {"label": sheet.label}
                author.ask("layout.box", words, author.find((), slot), (slot,), (LAYOUT,))

    def _ask_margins(self, sheets: Sequence[Sheet]) -> None:
        author = self.author
        pages = min(len(sheets), len(author.margin_codes))
        for i in author.rng.sample(range(pages), min(3, pages)):
            slot = author.margin_codes[i]
            words: dict[str, object] = {"label": sheets[i].label}
            author.ask("layout.margin", words, author.find((), slot), (slot,), (LAYOUT,))

    def _ask_stamps(self, sheets: Sequence[Sheet]) -> None:
        author = self.author
        if not author.stamps:
            return
        chapters = range(len(author.chapters))
        for chapter in author.rng.sample(chapters, min(8, len(chapters))):
            pages = [i for i, sheet in enumerate(sheets) if sheet.chapter == chapter]
            self._ask_stamp("layout.stamps", pages, {"chapter": author.chapters[chapter]})
        if len(sheets) <= MOST_STAMPED:
            self._ask_stamp("layout.stamps_all", list(range(len(sheets))), {})

    def _ask_stamp(self, name: str, pages: Sequence[int], words: dict[str, object]) -> None:
        """How many of the pages carry a stamp; the evidence is on those that do."""
        author = self.author
        stamp = author.rng.choice(STAMPS)
        slots = tuple(author.stamps[i] for i in pages)
        evidence = tuple(slot for slot in slots if author.values[slot].value == stamp)
        if len(evidence) >= 2:
            program = Program(op="count", operands=slots, threshold=stamp)
            author.ask(name, {**words, "stamp": stamp}, program, evidence, (LAYOUT,), common=True)
