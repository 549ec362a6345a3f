"""Facts in running text, and questions about them."""

from __future__ import annotations

from looseleaf.procedural.author import Author
from looseleaf.procedural.blocks import Prose, rich
from looseleaf.procedural.draft import TEXT
from looseleaf.procedural.phrases import FactSpec, SlotSpec, Wording, facts
from looseleaf.procedural.programs import Candidate, Program

__all__ = ["Facts"]


class Facts:
    """The facts of one document: a few sorts, each told several times with other names and numbers."""

    def __init__(self, author: Author) -> None:
        self.author = author
        known = [name for name, spec in facts().items() if author.kind in spec.kinds]
        self.names = author.rng.sample(known, min(len(known), author.rng.choice((3, 4))))
        self.told: dict[str, list[dict[str, str]]] = {name: [] for name in self.names}

    def write(self) -> Prose:
        """A paragraph with one further fact, and the questions about it."""
        author = self.author
        name = author.rng.choice(self.names)
        spec = facts()[name]
        slots = {key: self._slot(slot) for key, slot in spec.slots.items()}
        self.told[name].append(slots)
        statement = author.rng.choice(spec.words(author.split).statements)
        self._ask(name, spec, slots)
        return Prose(author.wrap(rich(statement, slots)), keep=True)

    def _slot(self, spec: SlotSpec) -> str:
        mint = self.author.mint
        if spec.pool:
            return mint.keep_name(spec.pool)
        if spec.kind in ("date", "code"):
            return mint.keep_text(spec.kind)
        return mint.keep_number(spec.low, spec.high, decimals=spec.decimals, kind=spec.kind)

    def _ask(self, name: str, spec: FactSpec, slots: dict[str, str]) -> None:
        author = self.author
        key = slots[spec.key]
        for asked, wordings in spec.words(author.split).questions.items():
            index = author.rng.randrange(len(wordings))
            template = Wording(f"fact.{name}.{asked}.{author.split}.{index}", wordings[index])
            if asked == "list":
                items = tuple(slots[item] for item in spec.list_)
                text = template.text.format(**{spec.key: author.shown(key)})
                author.draft(template, text, Program(op="list", operands=items), items, (TEXT,))
            else:
                self._ask_slot(template, spec.key, key, slots[asked])

    def _ask_slot(self, template: Wording, key_name: str, key: str, value: str) -> None:
        author = self.author
        text = template.text.format(**{key_name: author.shown(key)})
        author.draft(template, text, author.find((key,), value), (value,), (TEXT,))
        if author.rng.random() < 0.5:
            absent = author.absent(key)
            text = template.text.format(**{key_name: absent})
            program = Program(op="find", candidates=(Candidate((key,), value),), wanted=(absent,))
            author.draft(template, text, program, (), ())

    def ask_pairs(self) -> None:
        """Sums and gaps of one figure of two facts of the same sort, mostly on two pages."""
        author = self.author
        for name, told in self.told.items():
            spec = facts()[name]
            for slot, noun in spec.words(author.split).nouns.items():
                for _ in range(min(3, len(told) // 2)):
                    first, second = author.rng.sample(told, 2)
                    words: dict[str, object] = {
                        "first": noun.format(**{spec.key: author.shown(first[spec.key])}),
                        "second": noun.format(**{spec.key: author.shown(second[spec.key])}),
                    }
                    cells = (first[slot], second[slot])
                    author.ask("cross.text", words, Program(op="total", operands=cells), cells, (TEXT,))
                    gap = Program(op="difference", operands=cells)
                    author.ask("cross.text_gap", words, gap, cells, (TEXT,))
