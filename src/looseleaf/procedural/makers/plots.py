"""Charts: families of look-alike charts for several places and years, and questions about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from looseleaf.procedural.author import Author
from looseleaf.procedural.blocks import Chart, ChartLook, Ref, Rich
from looseleaf.procedural.draft import CHART, TABLE
from looseleaf.procedural.makers.tables import EXTREMES, PAIR_OPS, TableFamily
from looseleaf.procedural.phrases import ChartSpec
from looseleaf.procedural.programs import Program
from looseleaf.procedural.slots import MONTHS
from looseleaf.procedural.splits import years

__all__ = ["ChartCopy", "ChartFamily"]

AXIS_STEPS = 20
"""Grid lines of an axis whose values are not printed; every value lies on one of them."""
AXIS_SCALES = (1, 2, 4, 10)
By = Literal["month", "branch"]


@dataclass(frozen=True)
class ChartCopy:
    """One printed chart of a family; see `tables.Copy` for `keys` and `where`."""

    keys: tuple[str, ...]
    where: str
    labels: tuple[str, ...]
    values: tuple[str, ...]


class ChartFamily:
    """Charts of one quantity by month or by branch, for several places and years."""

    def __init__(self, author: Author, spec: ChartSpec) -> None:
        rng = author.rng
        self.author = author
        self.spec = spec
        self.by: By = rng.choice(("month", "branch"))
        first = rng.randrange(0, 5)
        size = rng.randrange(6, 9)
        months = MONTHS[first : first + size]
        self.names = list(months) if self.by == "month" else [author.mint.name("place") for _ in range(size)]
        self.places = [author.mint.name("place") for _ in range(4)]
        self.years = rng.sample(years(author.split), 9)
        self.copies: list[ChartCopy] = []
        self.scale = rng.choice(AXIS_SCALES)

    @property
    def exhausted(self) -> bool:
        """Whether no further copy is possible."""
        return len(self.copies) >= 28

    def write(self) -> Chart:
        """A further chart."""
        author, mint = self.author, self.author.mint
        index = len(self.copies)
        year, place = str(self.years[index % 7]), self.places[(index // 7) % 4]
        keys = (mint.keep(kind="name", value=place, pool="place"), mint.keep(kind="year", value=year))
        printed = not author.chance(0.15, 0.6)
        looks: tuple[ChartLook, ...] = ("bar", "hbar", "line", "pie") if printed else ("bar", "hbar", "line")
        labels = tuple(self._label(name) for name in self.names)
        values = self._values(len(labels), printed)
        self.copies.append(ChartCopy(keys, self.where(place, year), labels, values))
        caption: Rich = (f"{self.spec.title} at ", Ref(keys[0]), f" by {self.by}, ", Ref(keys[1]))
        return Chart(
            number=author.number("figure"),
            caption=caption,
            look=author.rng.choice(looks),
            labels=tuple(Ref(label) for label in labels),
            values=values,
            top=self._printed_top() if printed else 50 * AXIS_STEPS * self.scale,
            grid=self._printed_top() // 5 if printed else 50 * self.scale,
            printed=printed,
            raster=author.chance(0.1, 0.5),
            unit=self.spec.unit,
        )

    def _printed_top(self) -> int:
        """End of an axis with printed values, with room for a twin's larger value."""
        return (self.spec.high // 100 + 2) * 100

    def where(self, place: str, year: str) -> str:
        """The words for a chart."""
        return f"at {place} in {year}"

    def _label(self, name: str) -> str:
        if self.by == "month":
            return self.author.mint.keep(kind="category", value=name, choices=MONTHS)
        return self.author.mint.keep(kind="name", value=name, pool="place")

    def _values(self, count: int, printed: bool) -> tuple[str, ...]:
        mint = self.author.mint
        if printed:
            return tuple(mint.keep_number(self.spec.low, self.spec.high) for _ in range(count))
        step = 50 * self.scale
        heights = self.author.rng.sample(range(2, AXIS_STEPS - 1), count)
        low, high = 2 * step, (AXIS_STEPS - 2) * step
        return tuple(
            mint.keep(kind="number", value=height * step, low=low, high=high, step=step) for height in heights
        )

    # questions

    def ask(self) -> None:
        """Draft questions about a few charts."""
        rng = self.author.rng
        for copy in rng.sample(self.copies, min(4, len(self.copies))):
            self._ask_points(copy)
            self._ask_whole_chart(copy)
            self._ask_missing(copy)
        if len(self.copies) > 1:
            self._ask_across(*rng.sample(self.copies, 2))

    def _words(self, copy: ChartCopy, **more: object) -> dict[str, object]:
        bys = {"month": "months", "branch": "branches"}[self.by]
        return {"noun": self.spec.noun, "where": copy.where, "by": self.by, "bys": bys, **more}

    def _ask_points(self, copy: ChartCopy) -> None:
        author = self.author
        for i in author.rng.sample(range(len(self.names)), 2):
            words = self._words(copy, label=self.names[i])
            program = author.find((*copy.keys, copy.labels[i]), copy.values[i])
            author.ask("chart.lookup", words, program, (copy.values[i],), (CHART,))
        first, second = author.rng.sample(range(len(self.names)), 2)
        cells = (copy.values[first], copy.values[second])
        words = self._words(copy, label=self.names[first], other=self.names[second])
        for op in PAIR_OPS:
            program = Program(op=op, operands=cells, places=1 if op == "mean" else 0)
            author.ask(f"chart.{op}", words, program, cells, (CHART,))

    def _ask_whole(self, copy: ChartCopy, name: str, program: Program, **more: object) -> None:
        siblings = tuple(program.on(other.values, other.labels) for other in self.copies if other is not copy)
        words = self._words(copy, **more)
        self.author.ask(name, words, program, copy.values, (CHART,), siblings=siblings, common=True)

    def _ask_whole_chart(self, copy: ChartCopy) -> None:
        author = self.author
        for op in EXTREMES:
            program = Program(op=op, operands=copy.values, labels=copy.labels)
            self._ask_whole(copy, f"chart.{op}", program)
        top = Program(op="top", operands=copy.values, labels=copy.labels, k=2)
        self._ask_whole(copy, "chart.top", top, k="two")
        ranked = sorted(author.values[value].units for value in copy.values)
        size = author.rng.randrange(2, len(ranked) - 2)
        cut = (ranked[-size - 1] + ranked[-size]) // 20 * 10
        if ranked[-size - 1] < cut < ranked[-size]:
            shown = f"{cut:,}"
            count = Program(op="count", operands=copy.values, relation="above", threshold=cut)
            self._ask_whole(copy, "chart.count_above", count, threshold=shown)
            where = Program(
                op="where", operands=copy.values, labels=copy.labels, relation="above", threshold=cut
            )
            self._ask_whole(copy, "chart.list_above", where, threshold=shown)

    def _ask_across(self, first: ChartCopy, second: ChartCopy) -> None:
        i = self.author.rng.randrange(len(self.names))
        cells = (first.values[i], second.values[i])
        words = self._words(first, label=self.names[i], where2=second.where)
        self.author.ask("chart.across", words, Program(op="difference", operands=cells), cells, (CHART,))
        self.author.ask("chart.pair", words, Program(op="list", operands=cells), cells, (CHART,))

    def ask_against(self, family: TableFamily) -> None:
        """A figure of a chart against a figure of a table."""
        author, rng = self.author, self.author.rng
        columns = [i for i, c in enumerate(family.columns) if c.kind == "number" and not c.decimals]
        if not (columns and self.copies and family.copies):
            return
        chart, table, column = rng.choice(self.copies), rng.choice(family.copies), rng.choice(columns)
        i, row = rng.randrange(len(self.names)), rng.randrange(len(family.rows))
        cells = (chart.values[i], table.cells[row][column])
        words = self._words(
            chart,
            label=self.names[i],
            noun2=family.columns[column].noun,
            row=family.rows[row],
            where2=table.where,
        )
        program = Program(op="difference", operands=cells)
        author.ask("cross.chart_table", words, program, cells, (CHART, TABLE))

    def _ask_missing(self, copy: ChartCopy) -> None:
        """Unanswerable: a place or a year without a chart."""
        author = self.author
        i = author.rng.randrange(len(self.names))
        wanted = [author.shown(key) for key in (*copy.keys, copy.labels[i])]
        if author.rng.random() < 0.5:
            wanted[0] = author.absent(copy.keys[0])
        else:
            wanted[1] = str(author.rng.choice(self.years[7:]))
        words = self._words(copy, label=self.names[i]) | {"where": self.where(wanted[0], wanted[1])}
        program = author.find((*copy.keys, copy.labels[i]), copy.values[i], tuple(wanted))
        author.ask("chart.lookup", words, program, (), ())
