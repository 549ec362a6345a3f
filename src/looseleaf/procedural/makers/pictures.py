"""Figures: flow diagrams, lettered parts, pictures of shapes, site plans, dials; and questions about them."""

from __future__ import annotations

from collections.abc import Callable

from looseleaf.procedural.author import Author
from looseleaf.procedural.blocks import FlowDiagram, Gauge, PartDrawing, Ref, ShapePicture, SitePlan
from looseleaf.procedural.draft import FIGURE
from looseleaf.procedural.programs import Program

__all__ = ["Pictures"]

SHAPES = ("circles", "squares", "triangles", "crosses")
FEWEST_SHAPES, MOST_SHAPES = 3, 11
DIALS = ((100, 2), (200, 5), (1000, 20), (400, 10))
"""Full scale of a dial and the step between its marks."""
Picture = FlowDiagram | PartDrawing | ShapePicture | SitePlan | Gauge


class Pictures:
    """Writes figures of the sorts that suit a document."""

    def __init__(self, author: Author) -> None:
        self.author = author
        sorts: list[Callable[[], Picture]] = [self._flow, self._plan, self._shapes, self._parts, self._gauge]
        self.sorts = author.rng.sample(sorts, 3)

    def write(self) -> Picture:
        """A further figure and its questions."""
        return self.author.rng.choice(self.sorts)()

    def _raster(self) -> bool:
        return self.author.chance(0.2, 0.6)

    def _find(self, name: str, words: dict[str, object], key: str, value: str) -> None:
        """A question about one figure, and now and then the same about a figure that is not there."""
        author = self.author
        author.ask(name, words, author.find((key,), value), (value,), (FIGURE,))
        if author.rng.random() < 0.25:
            absent = author.absent(key)
            author.ask(name, words | {"subject": absent}, author.find((key,), value, (absent,)), (), ())

    def _flow(self) -> FlowDiagram:
        author, mint, rng = self.author, self.author.mint, self.author.rng
        subject = mint.keep_name("place")
        steps = tuple(mint.keep_name("process") for _ in range(rng.randrange(5, 9)))
        i = rng.randrange(1, len(steps) - 1)
        words: dict[str, object] = {"subject": author.shown(subject), "step": author.shown(steps[i])}
        self._find("figure.after", words, subject, steps[i + 1])
        author.ask(
            "figure.before", words, author.find((subject, steps[i]), steps[i - 1]), (steps[i - 1],), (FIGURE,)
        )
        words["step"] = author.shown(steps[i - 1])
        pair = steps[i : i + 2]
        author.ask("figure.following", words, Program(op="list", operands=pair), pair, (FIGURE,))
        caption = ("Flow of the ", Ref(subject), " line")
        return FlowDiagram(author.number("figure"), caption, steps, self._raster())

    def _parts(self) -> PartDrawing:
        author, mint, rng = self.author, self.author.mint, self.author.rng
        subject = mint.keep_name("device")
        parts = tuple(mint.keep_name("part") for _ in range(rng.randrange(4, 7)))
        for i in rng.sample(range(len(parts)), 2):
            words: dict[str, object] = {"subject": author.shown(subject), "letter": chr(ord("A") + i)}
            self._find("figure.part", words, subject, parts[i])
        caption = ("Drawing of the ", Ref(subject))
        return PartDrawing(author.number("figure"), caption, parts, self._raster(), rng.randrange(2**31))

    def _shapes(self) -> ShapePicture:
        author, mint, rng = self.author, self.author.mint, self.author.rng
        subject = mint.keep_name("place")
        kinds = rng.sample(SHAPES, 3)
        sizes = rng.sample(range(FEWEST_SHAPES, MOST_SHAPES), 3)
        counts = tuple(
            (kind, mint.keep(kind="count", value=size, low=1, high=MOST_SHAPES))
            for kind, size in zip(kinds, sizes, strict=True)
        )
        kind, slot = rng.choice(counts)
        words: dict[str, object] = {"subject": author.shown(subject), "shape": kind}
        author.ask("figure.shapes", words, author.find((subject,), slot), (slot,), (FIGURE,), common=True)
        caption = ("Layout picture of ", Ref(subject))
        return ShapePicture(author.number("figure"), caption, counts, self._raster(), rng.randrange(2**31))

    def _plan(self) -> SitePlan:
        author, mint, rng = self.author, self.author.mint, self.author.rng
        subject = mint.keep_name("place")
        columns, rows = rng.choice(((4, 3), (5, 3), (4, 4)))
        names = [f"{chr(ord('A') + c)}{r + 1}" for r in range(rows) for c in range(columns)]
        chosen = sorted(rng.sample(names, len(names) - rng.randrange(2, 6)))
        squares = tuple((name, mint.keep_name("facility")) for name in chosen)
        square, slot = rng.choice(squares)
        words: dict[str, object] = {"subject": author.shown(subject), "square": square}
        self._find("figure.square", words, subject, slot)
        row = rng.randrange(1, rows + 1)
        in_row = tuple(slot for name, slot in squares if name.endswith(str(row)))
        if len(in_row) >= 2:
            words["row"] = row
            author.ask("figure.row", words, Program(op="list", operands=in_row), in_row, (FIGURE,))
        caption = ("Site plan of ", Ref(subject))
        return SitePlan(author.number("figure"), caption, squares, columns, rows, self._raster())

    def _gauge(self) -> Gauge:
        author, mint, rng = self.author, self.author.mint, self.author.rng
        subject = mint.keep_name("device")
        top, step = rng.choice(DIALS)
        value = mint.keep_number(2 * step, top - 2 * step, step=step)
        words: dict[str, object] = {"subject": author.shown(subject)}
        author.ask("figure.gauge", words, author.find((subject,), value), (value,), (FIGURE,), common=True)
        caption = ("Dial of the ", Ref(subject))
        return Gauge(author.number("figure"), caption, value, top, self._raster())
