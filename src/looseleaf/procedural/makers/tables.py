"""Tables: families of look-alike copies, and questions about their cells, rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from looseleaf.procedural.author import Author
from looseleaf.procedural.blocks import Ref, Rich, TableBlock, rich
from looseleaf.procedural.draft import TABLE, TEXT
from looseleaf.procedural.phrases import ColumnSpec, FamilySpec
from looseleaf.procedural.programs import Op, Program, evaluate
from looseleaf.procedural.slots import Slot
from looseleaf.procedural.splits import years

__all__ = ["EXTREMES", "PAIR_OPS", "Copy", "TableFamily"]

NEAREST_COPY = 0.03
"""Figures of one row in different copies differ by more than this share (the official scorer forgives 1 %)."""


@dataclass(frozen=True)
class Copy:
    """One printed table of a family.

    Attributes:
        keys: slots in the caption that tell this copy from the others.
        where: the same in words, e.g. `in 2019`.
        labels: slots of the row names.
        heads: slots of the column titles.
        cells: slots by row and column.
    """

    keys: tuple[str, ...]
    where: str
    labels: tuple[str, ...]
    heads: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]

    def column(self, index: int) -> tuple[str, ...]:
        """The slots of one column."""
        return tuple(row[index] for row in self.cells)


class TableFamily:
    """A table with the same rows and columns for several years, districts, data sets or devices."""

    def __init__(self, author: Author, spec: FamilySpec, rows: int, columns: int) -> None:
        self.author = author
        self.spec = spec
        rng = author.rng
        texts = rng.sample(spec.texts, min(len(spec.texts), max(0, columns - 2)))[:2]
        measures = rng.sample(spec.measures, min(len(spec.measures) - 1, columns - len(texts)))
        self.columns: list[ColumnSpec] = [*measures, *texts]
        self.missing = [column for column in spec.measures if column not in measures]
        self.rows = [author.mint.name(spec.row_pool) for _ in range(rows)]
        self.copies: list[Copy] = []
        self._free_years = rng.sample(years(author.split), len(years(author.split)))
        self._districts = [author.mint.name("place") for _ in range(4)]
        self._wide = spec.by == "year" and author.chance(0.2, 0.8)

    @property
    def exhausted(self) -> bool:
        """Whether no further copy is possible; one year or name is held back for unanswerable questions."""
        return self.spec.by == "year" and len(self.copies) >= (28 if self._wide else 7)

    def write(self) -> TableBlock:
        """A further copy of the table."""
        author, mint = self.author, self.author.mint
        keys, where, caption = self._identity(len(self.copies))
        labels = tuple(mint.keep(kind="name", value=row, pool=self.spec.row_pool) for row in self.rows)
        heads = tuple(mint.keep(kind="name", value=column.header) for column in self.columns)
        cells = tuple(
            tuple(self._cell(r, c, column) for c, column in enumerate(self.columns))
            for r in range(len(labels))
        )
        self.copies.append(Copy(keys, where, labels, heads, cells))
        rows = tuple(
            (author.ref(label), *(author.ref(cell) for cell in row))
            for label, row in zip(labels, cells, strict=True)
        )
        head = ((self.spec.row.capitalize(),), *(author.ref(slot) for slot in heads))
        return TableBlock(author.number("table"), caption, head, rows)

    def _identity(self, index: int) -> tuple[tuple[str, ...], str, Rich]:
        """Key slots, the words for them, and the caption of a copy."""
        mint, title = self.author.mint, self.spec.title
        if self.spec.by == "year":
            slots = [mint.keep(kind="year", value=str(self._free_years[index % 7]))]
            caption: Rich = (f"{title}, ", Ref(slots[0]))
            if self._wide:
                slots.insert(0, mint.keep(kind="name", value=self._districts[index // 7], pool="place"))
                caption = (f"{title}, ", Ref(slots[0]), " district, ", Ref(slots[1]))
            keys = tuple(slots)
        else:
            keys = (mint.keep_name(self.spec.by),)
            caption = (f"{title}{JOINTS[self.spec.by]}", Ref(keys[0]))
        return keys, self.where(tuple(mint.values[key].shown for key in keys)), caption

    def where(self, shown: tuple[str, ...]) -> str:
        """The words for a copy with these keys."""
        if self.spec.by != "year":
            return f"{JOINTS[self.spec.by].strip()} {shown[0]}"
        return f"in {shown[0]}" if len(shown) == 1 else f"in the {shown[0]} district in {shown[1]}"

    def _cell(self, row: int, index: int, column: ColumnSpec) -> str:
        mint = self.author.mint
        match column.kind:
            case "name" if column.pool:
                return mint.keep_name(column.pool)
            case "date" | "code":
                return mint.keep_text(column.kind)
            case "category":
                return mint.keep_category(column.values)
            case _:
                return self._number(row, index, column)

    def _number(self, row: int, index: int, column: ColumnSpec) -> str:
        """A figure near those of the other copies, but never within the scorer's tolerance of one."""
        mint, low, high = self.author.mint, column.low, column.high
        others = [mint.values[copy.cells[row][index]].units for copy in self.copies]
        if others:
            low, high = max(low, int(others[0] * 0.7)), min(high, int(others[0] * 1.4))
        for _ in range(30):
            value = mint.number(low, high)
            if all(abs(value - other) > NEAREST_COPY * other for other in others):
                break
        return mint.keep(
            kind=column.kind, value=value, decimals=column.decimals, low=column.low, high=column.high
        )

    # questions

    def ask(self) -> None:
        """Draft questions about a few cells and columns of a few copies."""
        rng = self.author.rng
        for copy in rng.sample(self.copies, min(4, len(self.copies))):
            self._ask_cells(copy)
            self._ask_columns(copy)
            self._ask_missing(copy)
        if len(self.copies) > 1:
            for _ in range(2):
                self._ask_across(*rng.sample(self.copies, 2))
        if len(self.copies) > 2:
            self._ask_series(rng.sample(self.copies, 3))

    def _words(self, copy: Copy, column: int, **more: object) -> dict[str, object]:
        spec = self.spec
        noun = self.columns[column].noun
        return {"noun": noun, "where": copy.where, "row_word": spec.row, "rows": spec.rows, **more}

    def _of_kind(self, *kinds: str) -> list[int]:
        return [i for i, column in enumerate(self.columns) if column.kind in kinds]

    def _keys(self, copy: Copy, row: int, column: int) -> tuple[str, ...]:
        return (*copy.keys, copy.labels[row], copy.heads[column])

    def _ask_cells(self, copy: Copy) -> None:
        author, rng = self.author, self.author.rng
        for column in range(len(self.columns)):
            row = rng.randrange(len(self.rows))
            cell = copy.cells[row][column]
            words = self._words(copy, column, row=self.rows[row])
            kind = self.columns[column].kind
            if kind == "category":
                continue
            name = "table.lookup" if kind in ("number", "percent") else "table.word"
            author.ask(name, words, author.find(self._keys(copy, row, column), cell), (cell,), (TABLE,))
            if kind == "code":
                self._ask_reverse(copy, column)
            if kind == "number":
                self._ask_pair(copy, column)

    def _ask_reverse(self, copy: Copy, column: int) -> None:
        author = self.author
        row = author.rng.randrange(len(self.rows))
        cell, label = copy.cells[row][column], copy.labels[row]
        program = author.find((cell,), label)
        words = self._words(copy, column, value=author.shown(cell))
        author.ask("table.reverse", words, program, (cell,), (TABLE,), common=True)

    def _ask_pair(self, copy: Copy, column: int) -> None:
        """Arithmetic on two rows of one copy."""
        author = self.author
        first, second = author.rng.sample(range(len(self.rows)), 2)
        cells = (copy.cells[first][column], copy.cells[second][column])
        decimals = self.columns[column].decimals
        words = self._words(
            copy, column, row=self.rows[first], other=self.rows[second], places=PLACES[decimals + 1]
        )
        for op in PAIR_OPS:
            program = Program(op=op, operands=cells, places=decimals + 1 if op == "mean" else 0)
            author.ask(f"table.{op}", words, program, cells, (TABLE,))

    def _ask_columns(self, copy: Copy) -> None:
        """Questions about a whole column: extremes, counts, lists."""
        for column in self._of_kind("number", "percent"):
            self._ask_extremes(copy, column)
            self._ask_threshold(copy, column)
        for column in self._of_kind("category"):
            self._ask_category(copy, column)

    def _ask_whole(self, copy: Copy, column: int, name: str, program: Program, **more: object) -> None:
        """One question about a column; the same question about any other copy has another answer."""
        siblings = tuple(
            program.on(other.column(column), other.labels) for other in self.copies if other is not copy
        )
        words = self._words(copy, column, **more)
        cells = program.operands
        self.author.ask(name, words, program, cells, (TABLE,), siblings=siblings, common=True)

    def _ask_extremes(self, copy: Copy, column: int) -> None:
        cells = copy.column(column)
        for op in EXTREMES:
            program = Program(op=op, operands=cells, labels=copy.labels)
            self._ask_whole(copy, column, f"table.{op}", program)
        k = self.author.rng.choice((2, 3))
        program = Program(op="top", operands=cells, labels=copy.labels, k=k)
        self._ask_whole(copy, column, "table.top", program, k={2: "two", 3: "three"}[k])

    def _ask_threshold(self, copy: Copy, column: int) -> None:
        author, cells = self.author, copy.column(column)
        slots = [author.values[cell] for cell in cells]
        ranked = sorted(slot.units for slot in slots)
        size = author.rng.randrange(2, min(6, len(ranked) - 2))
        cut = _round_between(ranked[-size - 1], ranked[-size])
        if cut is None:
            return
        shown = _threshold_text(slots[0], cut)
        high = Program(op="count", operands=cells, labels=copy.labels, relation="above", threshold=cut)
        self._ask_whole(copy, column, "table.count_above", high, threshold=shown)
        low = Program(op="count", operands=cells, labels=copy.labels, relation="below", threshold=cut)
        self._ask_whole(copy, column, "table.count_below", low, threshold=shown)
        listed = Program(op="where", operands=cells, labels=copy.labels, relation="above", threshold=cut)
        if size <= 5:
            self._ask_whole(copy, column, "table.list_above", listed, threshold=shown)
        row = author.rng.randrange(len(cells))
        yes = Program(op="exceeds", operands=(cells[row],), relation="above", threshold=cut)
        words = self._words(copy, column, row=self.rows[row], threshold=shown)
        author.ask("table.yesno", words, yes, (cells[row],), (TABLE,), common=True)

    def _ask_category(self, copy: Copy, column: int) -> None:
        cells = copy.column(column)
        value = self.author.rng.choice(self.columns[column].values)
        count = Program(op="count", operands=cells, labels=copy.labels, threshold=value)
        listed = Program(op="where", operands=cells, labels=copy.labels, threshold=value)
        items = evaluate(listed, self.author.values).items
        if len(items) > 1:
            self._ask_whole(copy, column, "table.category_count", count, value=value)
        if 2 <= len(items) <= 5:
            self._ask_whole(copy, column, "table.category_list", listed, value=value)

    def _ask_across(self, first: Copy, second: Copy) -> None:
        """The same row in two copies."""
        author = self.author
        for column in self._of_kind("number"):
            row = author.rng.randrange(len(self.rows))
            cells = (first.cells[row][column], second.cells[row][column])
            words = self._words(first, column, row=self.rows[row], where2=second.where)
            author.ask("table.across", words, Program(op="difference", operands=cells), cells, (TABLE,))
            change = Program(op="change", operands=(cells[1], cells[0]))
            author.ask("table.change", words, change, cells, (TABLE,))
        column = author.rng.choice(self._of_kind("number", "percent", "name", "date", "code"))
        row = author.rng.randrange(len(self.rows))
        cells = (first.cells[row][column], second.cells[row][column])
        words = self._words(first, column, row=self.rows[row], where2=second.where)
        author.ask("table.pair", words, Program(op="list", operands=cells), cells, (TABLE,))

    def _ask_series(self, copies: Sequence[Copy]) -> None:
        """The same row in three copies."""
        author = self.author
        wheres = {"where2": copies[1].where, "where3": copies[2].where}
        for column in self._of_kind("number"):
            row = author.rng.randrange(len(self.rows))
            cells = tuple(copy.cells[row][column] for copy in copies)
            words = self._words(copies[0], column, row=self.rows[row], **wheres)
            author.ask("table.sum_across", words, Program(op="total", operands=cells), cells, (TABLE,))
            author.ask("table.series", words, Program(op="list", operands=cells), cells, (TABLE,))

    def _ask_missing(self, copy: Copy) -> None:
        """Unanswerable: a row, a copy or a column that is not there, though its look-alikes are."""
        author, rng = self.author, self.author.rng
        row, column = rng.randrange(len(self.rows)), rng.randrange(len(self.columns))
        keys, cell = self._keys(copy, row, column), copy.cells[row][column]
        wanted = [author.shown(key) for key in keys]
        words = self._words(copy, column, row=self.rows[row])
        which = rng.choice(("row", "copy", "column"))
        if which == "row":
            words["row"] = wanted[-2] = author.absent(copy.labels[row])
        elif which == "copy":
            wanted[len(copy.keys) - 1] = self._absent_key(copy)
            words["where"] = self.where(tuple(wanted[: len(copy.keys)]))
        else:
            absent = rng.choice(self.missing)
            words["noun"], wanted[-1] = absent.noun, absent.header
        number = which == "column" or self.columns[column].kind in ("number", "percent")
        name = "table.lookup" if number else "table.word"
        author.ask(name, words, author.find(keys, cell, tuple(wanted)), (), ())

    def _absent_key(self, copy: Copy) -> str:
        if self.spec.by == "year":
            return str(self.author.rng.choice(self._free_years[7:]))
        return self.author.absent(copy.keys[0])

    def ask_hop(self, copy: Copy) -> tuple[Rich, ...]:
        """Sentences that name a row by the person who went there; the question needs both pages."""
        author, rng = self.author, self.author.rng
        sentences = []
        column = rng.randrange(len(self.columns))
        for row in rng.sample(range(len(self.rows)), 2):
            person, place = author.mint.keep_name("person"), author.mint.keep_copy(copy.labels[row])
            slots = {"person": person, "row": place}
            words = {"row_word": self.spec.row}
            sentences.append(rich(author.word("hop.statement").text, slots, words))
        cell = copy.cells[row][column]
        if self.columns[column].kind != "category":
            asked = self._words(copy, column, person=author.shown(person))
            program = author.find((person, *self._keys(copy, row, column)), cell)
            author.ask("cross.hop", asked, program, (place, cell), (TEXT, TABLE))
        return tuple(sentences)


PLACES = ("", "one decimal place", "two decimal places", "three decimal places", "four decimal places")
PAIR_OPS: tuple[Op, ...] = ("difference", "total", "mean")
EXTREMES: tuple[Op, ...] = ("largest", "smallest")
JOINTS = {"dataset": " on the ", "place": " at ", "device": " for the "}


def _round_between(low: int, high: int) -> int | None:
    """The roundest number strictly between two numbers."""
    for power in (100_000, 10_000, 1_000, 500, 100, 50, 10, 5, 2):
        cut = (low // power + 1) * power
        if low < cut < high:
            return cut
    return None


def _threshold_text(slot: Slot, units: int) -> str:
    text = Slot(slot_id="", kind="number", value=units, decimals=slot.decimals).shown
    return text.rstrip("0").rstrip(".") if slot.decimals else text
