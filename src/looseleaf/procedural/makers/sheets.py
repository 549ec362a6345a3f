"""Filled-in forms: one sheet looks like the next, and only its entries tell them apart."""

from __future__ import annotations

from looseleaf.procedural.author import Author
from looseleaf.procedural.blocks import Checks, SheetFields
from looseleaf.procedural.draft import LAYOUT
from looseleaf.procedural.programs import Program

__all__ = ["Sheets"]

TICKED, EMPTY = "ticked", "empty"
FEWEST_TICKS = 2


class Sheets:
    """Writes application sheets."""

    def __init__(self, author: Author) -> None:
        rng = author.rng
        self.author = author
        self.options = [option[0].upper() + option[1:] for option in rng.sample(author.theme.nouns, 6)]
        self.title = rng.choice(("Papers enclosed", "Checks done", "Notices sent"))
        self.seen: list[tuple[str, ...]] = []

    def write(self) -> tuple[str, SheetFields, Checks]:
        """A further sheet: its subject, its fields and its boxes."""
        author, mint = self.author, self.author.mint
        subject = mint.keep_name("person")
        fields = {
            "File number": mint.keep_text("code"),
            "Site": mint.keep_name("place"),
            "Builder": mint.keep_name("company"),
            "Date of receipt": mint.keep_text("date"),
            "Fee in euros": mint.keep_number(101000, 998000, decimals=2),
            "Floor area in square metres": mint.keep_number(10100, 98000),
        }
        for field, slot in fields.items():
            words: dict[str, object] = {"field": field, "subject": author.shown(subject)}
            author.ask("layout.field", words, author.find((subject,), slot), (slot,), (LAYOUT,))
        self._ask_missing(subject, fields)
        rows = (("Applicant", author.ref(subject)), *((k, author.ref(v)) for k, v in fields.items()))
        return subject, SheetFields(rows), self._boxes(subject)

    def _ask_missing(self, subject: str, fields: dict[str, str]) -> None:
        author = self.author
        field = author.rng.choice(list(fields))
        absent = author.absent(subject)
        words: dict[str, object] = {"field": field, "subject": absent}
        author.ask("layout.field", words, author.find((subject,), fields[field], (absent,)), (), ())

    def _boxes(self, subject: str) -> Checks:
        author, mint, rng = self.author, self.author.mint, self.author.rng
        ticks = frozenset(
            rng.sample(range(len(self.options)), rng.randrange(FEWEST_TICKS, len(self.options)))
        )
        labels = tuple(mint.keep(kind="name", value=option) for option in self.options)
        slots = tuple(
            mint.keep(kind="category", value=TICKED if i in ticks else EMPTY, choices=(TICKED, EMPTY))
            for i in range(len(labels))
        )
        words: dict[str, object] = {"title": self.title, "subject": author.shown(subject)}
        where = Program(op="where", operands=slots, labels=labels, threshold=TICKED)
        siblings = tuple(
            Program(op="where", operands=other, labels=labels, threshold=TICKED) for other in self.seen[-6:]
        )
        author.ask("layout.ticked", words, where, slots, (LAYOUT,), siblings=siblings, common=True)
        count = Program(op="count", operands=slots, threshold=TICKED)
        others = tuple(Program(op="count", operands=other, threshold=TICKED) for other in self.seen[-2:])
        author.ask("layout.tick_count", words, count, slots, (LAYOUT,), siblings=others, common=True)
        self.seen.append(slots)
        return Checks(self.title, tuple(author.ref(label) for label in labels), slots)
