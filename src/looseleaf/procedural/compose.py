"""`Composer`: lays blocks out on pages; the same blocks and values always give the same pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from looseleaf.procedural.blocks import (
    Block,
    Break,
    Bullets,
    Chart,
    Checks,
    FlowDiagram,
    Gauge,
    Heading,
    Masthead,
    NoteBox,
    PartDrawing,
    Prose,
    Ref,
    Rich,
    ShapePicture,
    SheetFields,
    SitePlan,
    TableBlock,
)
from looseleaf.procedural.charts import draw_chart
from looseleaf.procedural.figures import draw_figure
from looseleaf.procedural.measure import HOLD, Flat, break_lines, fitted, flatten, line_marks, width_of
from looseleaf.procedural.page import (
    BLACK,
    Box,
    Colour,
    Line,
    Mark,
    Polygon,
    Raster,
    Rect,
    Shape,
    Sheet,
    Text,
)
from looseleaf.procedural.slots import Slot
from looseleaf.procedural.style import Style

__all__ = ["Composer"]

GREY: Colour = (0.35, 0.35, 0.38)
GUTTER = 20.0
"""Space between two columns in points."""
LARGEST_STRETCH = 6.0
"""A justified line is left ragged where every blank would have to grow by more points than this."""
MINIMUM_TABLE_SIZE = 6.5
Figure = FlowDiagram | PartDrawing | ShapePicture | SitePlan | Gauge


class Composer:
    """Flows blocks into columns and pages.

    Args:
        style: the look of the document.
        values: slots by name; may grow while blocks are being added.
        running: the running head.
        margin_codes: for each page a slot that is printed in its margin, or none.
        stamps: for each page a slot that is stamped at its top, or none.
    """

    def __init__(
        self,
        style: Style,
        values: Mapping[str, Slot],
        running: str,
        *,
        margin_codes: Sequence[str] = (),
        stamps: Sequence[str] = (),
    ) -> None:
        self.style = style
        self.values = values
        self.running = running
        self.margin_codes = margin_codes
        self.stamps = stamps
        self.sheets: list[Sheet] = []
        self.chapter = -1
        self.columns = 1
        self.column = 0
        self.scanned = False
        self.y = 0.0
        self.ceiling = 0.0
        self.floor = 0.0
        self.notes: list[tuple[int, Flat, list[tuple[int, int]]]] = []
        self.head: Rich = ()
        self.place: dict[type[Any], Callable[[Any], None]] = {
            Masthead: self._masthead,
            Heading: self._heading,
            Prose: self._prose,
            Bullets: self._bullets,
            TableBlock: self._table,
            Chart: self._chart,
            NoteBox: self._note_box,
            SheetFields: self._fields,
            Checks: self._checks,
            Break: self._break,
            **dict.fromkeys(get_args(Figure), self._figure),
        }

    # pages and columns

    @property
    def sheet(self) -> Sheet:
        """The page being filled."""
        return self.sheets[-1]

    @property
    def width(self) -> float:
        """Width of a column."""
        left, right, _, _ = self.style.margin
        return (self.style.page[0] - left - right - GUTTER * (self.columns - 1)) / self.columns

    @property
    def x(self) -> float:
        """Left edge of the column being filled."""
        return self.style.margin[0] + self.column * (self.width + GUTTER)

    def add(self, block: Block) -> None:
        """Lay out one block."""
        self.place[type(block)](block)

    def finish(self) -> list[Sheet]:
        """Close the last page; returns all pages."""
        self._close_column()
        return self.sheets

    def _new_page(self) -> None:
        width, height = self.style.page
        self.sheets.append(Sheet(width, height, chapter=self.chapter, scanned=self.scanned))
        self.column = 0
        self.ceiling = height - self.style.margin[2]
        self._open_column()
        self._furniture(len(self.sheets) - 1)

    def _open_column(self) -> None:
        self.y = self.ceiling
        self.floor = self.style.margin[3]

    def _close_column(self) -> None:
        """Write the footnotes that were kept back at the foot of the column."""
        if not self.notes:
            return
        size = self.style.size * 0.8
        y = self.floor - 4.0
        self._draw(Line(self.x, y + 3, self.x + 0.35 * self.width, y + 3, GREY, 0.5))
        for _, flat, lines in self.notes:
            for line in lines:
                y -= size * 1.2
                self._line(flat, line, self.x, y, self.style.body, size)
        self.notes = []

    def _advance(self) -> None:
        self._close_column()
        if self.sheets and self.column + 1 < self.columns:
            self.column += 1
            self._open_column()
        else:
            self._new_page()

    def _need(self, height: float) -> None:
        if not self.sheets or self.y - height < self.floor:
            self._advance()

    @property
    def _fresh(self) -> bool:
        """Whether the column is still empty."""
        return self.y >= self.ceiling - 1

    def _furniture(self, index: int) -> None:
        """Running head, margin code and stamp; the page number comes when all pages are known."""
        width, height = self.style.page
        left, right, _, _ = self.style.margin
        grey = GREY
        head = flatten(self.head, self.values) if self.head else Flat("", ())
        if not self.style.slide:
            self._text(self.running, left, height - 40, self.style.italic, 8.5, grey)
            if head.text:
                size = 8.5
                start = width - right - width_of(head.text.replace(HOLD, " "), self.style.italic, size)
                self._text(head.text, start, height - 40, self.style.italic, size, grey)
            self._draw(Line(left, height - 46, width - right, height - 46, grey, 0.4))
        if index < len(self.margin_codes):
            self._slot_text(self.margin_codes[index], left, 22.0, self.style.body, 7.5, grey)
        if index < len(self.stamps):
            shown = self.values[self.stamps[index]].shown
            start = (width - width_of(shown, "Helvetica-Bold", 10)) / 2
            self._slot_text(self.stamps[index], start, height - 24, "Helvetica-Bold", 10, (0.7, 0.1, 0.1))

    # drawing

    def _draw(self, shape: Shape) -> None:
        self.sheet.shapes.append(shape)

    def _text(self, text: str, x: float, y: float, font: str, size: float, colour: Colour = BLACK) -> None:
        self._draw(Text(x, y, text.replace(HOLD, " "), font, size, colour))

    def line_of(self, text: str, x: float) -> None:
        """A line of body text at the height reached."""
        self._text(text, x, self.y, self.style.body, self.style.size)

    def _slot_text(
        self, slot: str, x: float, y: float, font: str, size: float, colour: Colour = BLACK
    ) -> None:
        flat = flatten((Ref(slot),), self.values)
        self._line(flat, (0, len(flat.text)), x, y, font, size, colour)

    def _line(
        self,
        flat: Flat,
        line: tuple[int, int],
        x: float,
        y: float,
        font: str,
        size: float,
        colour: Colour = BLACK,
        space: float = 0.0,
    ) -> None:
        text = flat.text[line[0] : line[1]].replace(HOLD, " ")
        self._draw(Text(x, y, text, font, size, colour, space))
        if flat.spans:
            self.sheet.marks.extend(line_marks(flat, line, x, y, font, size, space))

    def _paragraph(
        self, flat: Flat, font: str, size: float, leading: float, *, indent: float = 0.0, keep: bool = False
    ) -> None:
        """Lines of one paragraph, over columns and pages unless it is kept together."""
        width = self.width - indent
        lines = break_lines(flat.text, font, size, width)
        self._need(leading * (len(lines) if keep else min(2, len(lines))))
        for i, line in enumerate(lines):
            self._need(leading)
            self.y -= leading
            last = i + 1 == len(lines)
            space = 0.0 if last or not self.style.justify else self._stretch(flat, line, font, size, width)
            self._line(flat, line, self.x + indent, self.y + 0.28 * size, font, size, space=space)

    def _stretch(self, flat: Flat, line: tuple[int, int], font: str, size: float, width: float) -> float:
        text = flat.text[line[0] : line[1]].replace(HOLD, " ")
        blanks = text.count(" ")
        space = (width - width_of(text, font, size)) / blanks if blanks else 0.0
        return space if space < LARGEST_STRETCH else 0.0

    # blocks

    def _break(self, block: Break) -> None:
        self._close_column()
        self.columns, self.scanned, self.head = block.columns, block.scanned, block.head
        self._new_page()

    def _masthead(self, block: Masthead) -> None:
        """Drawn over the full width; the columns of this page start below it."""
        columns, self.columns = self.columns, 1
        style, size = self.style, self.style.size
        for text, font, big in (
            (block.title, style.head, 1.9 * size),
            (block.authors, style.italic, 1.1 * size),
            (f"Abstract. {block.abstract}", style.body, 0.95 * size),
        ):
            for line in break_lines(text, font, big, self.width):
                self.y -= 1.25 * big
                self._text(text[line[0] : line[1]], self.x, self.y, font, big)
            self.y -= 0.7 * size
        self.columns, self.ceiling = columns, self.y - size
        self._open_column()

    def _heading(self, block: Heading) -> None:
        flat = flatten(block.text, self.values)
        if block.level == 1:
            self.chapter += 1
            if self.sheets and self._fresh and self.column == 0:
                self.sheet.chapter = self.chapter
            if self.style.slide:
                return self._slide_title(flat)
        factor = {0: 2.1, 1: 1.55, 2: 1.22}[block.level]
        size = self.style.size * factor
        lines = break_lines(flat.text, self.style.head, size, self.width)
        self._need(size * 1.2 * len(lines) + 4 * self.style.leading)
        if not self._fresh:
            self.y -= 0.6 * size
        for line in lines:
            self.y -= size * 1.2
            self._line(flat, line, self.x, self.y + 0.25 * size, self.style.head, size, self.style.accent)
        self.y -= 0.45 * self.style.leading
        return None

    def _slide_title(self, flat: Flat) -> None:
        width, height = self.style.page
        self._draw(Rect(Box(0, height - 62, width, height), self.style.accent))
        size = fitted(flat.text, self.style.head, 24, width - 90)
        self._line(flat, (0, len(flat.text)), 44, height - 42, self.style.head, size, (1, 1, 1))

    def _prose(self, block: Prose) -> None:
        size = self.style.size * (0.86 if block.small else 1.0)
        leading = self.style.leading * (0.9 if block.small else 1.0)
        flat = flatten(block.text, self.values)
        if block.note:
            self._reserve_note(block, flat, leading)
        self._paragraph(flat, self.style.body, size, leading, keep=block.keep)
        self.y -= 0.55 * leading

    def _reserve_note(self, block: Prose, flat: Flat, leading: float) -> None:
        """Keep room at the foot of the column for the footnote of a paragraph that stays on one page."""
        assert block.note is not None
        number, text = block.note
        size = self.style.size * 0.8
        note = flatten((f"{number} ", *text), self.values)
        lines = break_lines(note.text, self.style.body, size, self.width)
        height = size * 1.2 * len(lines) + (0 if self.notes else 8.0)
        body = len(break_lines(flat.text, self.style.body, self.style.size, self.width)) * leading
        self._need(body + height)
        self.floor += height
        self.notes.append((number, note, lines))

    def _bullets(self, block: Bullets) -> None:
        items = block.items[: self.values[block.count].units] if block.count else block.items
        flats = [flatten(item, self.values) for item in items]
        size, leading = self.style.size, self.style.leading * 1.08
        indent = size * 1.9
        rows = [len(break_lines(flat.text, self.style.body, size, self.width - indent)) for flat in flats]
        head = 1.22 * size
        self._need(leading * sum(rows) + 2.5 * head)
        if not self._fresh:
            self.y -= 0.6 * head
        self.y -= 1.2 * head
        self._text(block.title, self.x, self.y + 0.25 * head, self.style.head, head, self.style.accent)
        self.y -= 0.4 * leading
        for i, flat in enumerate(flats, start=1):
            self._need(leading)
            sign = f"{i}." if block.numbered else "•"
            self._text(sign, self.x + 0.3 * size, self.y - leading + 0.28 * size, self.style.body, size)
            self._paragraph(flat, self.style.body, size, leading, indent=indent, keep=True)
        self.y -= 0.6 * leading

    def _caption(self, word: str, number: int, text: Rich, note: str = "") -> None:
        flat = flatten((f"{word} {number}{note}: ", *text), self.values)
        size = self.style.size * 0.92
        for line in break_lines(flat.text, self.style.italic, size, self.width):
            self.y -= size * 1.25
            self._line(flat, line, self.x, self.y + 0.3 * size, self.style.italic, size)
        self.y -= 4

    def _table(self, block: TableBlock) -> None:
        head = [flatten(cell, self.values) for cell in block.head]
        rows = [[flatten(cell, self.values) for cell in row] for row in block.rows]
        size, widths = self._column_widths(head, rows)
        row_height = size * (1.55 if len(rows) < 30 else 1.45)
        bold = self.style.bold
        head_lines = [break_lines(cell.text, bold, size, w - 6) for cell, w in zip(head, widths, strict=True)]
        head_height = size * 1.2 * max(map(len, head_lines)) + 4
        caption = 3 * self.style.size

        def start(note: str) -> None:
            self._caption("Table", block.number, block.caption, note)
            self._table_head(head, head_lines, widths, size, head_height)

        self._need(caption + head_height + row_height * min(len(rows), 4))
        start("")
        for i, row in enumerate(rows):
            if self.y - row_height < self.floor:
                self._advance()
                start(" (continued)")
            self._table_row(row, widths, size, row_height, striped=i % 2 == 1)
        self.y -= 0.9 * self.style.leading

    def _column_widths(self, head: list[Flat], rows: list[list[Flat]]) -> tuple[float, list[float]]:
        """Font size and column widths with which the table fits the column."""
        size = self.style.size * (0.9 if len(head) < 6 else 0.84)
        body, bold = self.style.body, self.style.bold
        while True:
            widths = []
            for i, title in enumerate(head):
                cells = max((width_of(row[i].text, body, size) for row in rows), default=0.0)
                words = max(width_of(word, bold, size) for word in title.text.split(" "))
                whole = min(width_of(title.text, bold, size), 6.5 * size)
                widths.append(max(cells, words, whole) + 10)
            if sum(widths) <= self.width or size <= MINIMUM_TABLE_SIZE:
                break
            size -= 0.3
        extra = max(0.0, min(self.width - sum(widths), 14.0 * len(widths))) / len(widths)
        return size, [width + extra for width in widths]

    def _table_head(
        self,
        head: list[Flat],
        lines: list[list[tuple[int, int]]],
        widths: list[float],
        size: float,
        height: float,
    ) -> None:
        top, look = self.y, self.style.look
        total = sum(widths)
        if look != "ruled":
            self._draw(Rect(Box(self.x, top - height, self.x + total, top), self.style.tint))
        self._draw(Line(self.x, top, self.x + total, top, BLACK, 0.8))
        x = self.x
        for i, (cell, cell_lines, width) in enumerate(zip(head, lines, widths, strict=True)):
            y = top - 1
            for line in cell_lines:
                y -= size * 1.2
                text = cell.text[line[0] : line[1]]
                start = x + 3 if i == 0 else x + width - 3 - width_of(text, self.style.bold, size)
                self._line(cell, line, start, y + 0.3 * size, self.style.bold, size)
            x += width
        self.y -= height
        self._draw(Line(self.x, self.y, self.x + total, self.y, BLACK, 0.6))

    def _table_row(
        self, row: list[Flat], widths: list[float], size: float, height: float, *, striped: bool
    ) -> None:
        total = sum(widths)
        if striped and self.style.look == "striped":
            self._draw(Rect(Box(self.x, self.y - height, self.x + total, self.y), (0.94, 0.94, 0.95)))
        x, y = self.x, self.y - height + 0.4 * size
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            start = x + 3 if i == 0 else x + width - 3 - width_of(cell.text, self.style.body, size)
            self._line(cell, (0, len(cell.text)), start, y, self.style.body, size)
            x += width
        if self.style.look == "boxed":
            self._draw(Rect(Box(self.x, self.y - height, self.x + total, self.y), None, GREY, 0.3))
        self.y -= height
        if self.style.look == "ruled":
            self._draw(Line(self.x, self.y, self.x + total, self.y, (0.7, 0.7, 0.7), 0.3))

    def _picture(
        self,
        height: float,
        number: int,
        caption: Rich,
        raster: bool,
        draw: Callable[[Box], tuple[list[Shape], list[Mark]]],
    ) -> None:
        """A figure or chart of the given height with its caption below."""
        self._need(height + 3.2 * self.style.size)
        box = Box(self.x, self.y - height, self.x + self.width, self.y)
        shapes, marks = draw(box)
        if raster:
            self._draw(Raster(box, tuple(shapes)))
            marks = [mark._replace(text=False) for mark in marks]
        else:
            self.sheet.shapes.extend(shapes)
        self.sheet.marks.extend(marks)
        self.y -= height + 2
        self._caption("Figure", number, caption)
        self.y -= 0.7 * self.style.leading

    def _chart(self, block: Chart) -> None:
        height = 215.0 if self.style.slide else (185.0 if self.columns == 1 else 150.0)
        if block.look == "hbar":
            height = max(height, 20.0 * len(block.values) + 50)
        self._picture(
            height,
            block.number,
            block.caption,
            block.raster,
            lambda box: draw_chart(block, self.values, box, self.style),
        )

    def _figure(self, block: Figure) -> None:
        height = 200.0 if self.style.slide else (190.0 if self.columns == 1 else 165.0)
        self._picture(
            height,
            block.number,
            block.caption,
            block.raster,
            lambda box: draw_figure(block, self.values, box, self.style),
        )

    def _note_box(self, block: NoteBox) -> None:
        heading, text = flatten(block.heading, self.values), flatten(block.text, self.values)
        size, leading = self.style.size, self.style.leading
        width = self.width - 20
        lines = break_lines(text.text, self.style.body, size, width)
        height = leading * (len(lines) + 1) + 14
        self._need(height + 4)
        box = Box(self.x, self.y - height, self.x + self.width, self.y)
        self._draw(Rect(box, self.style.tint, self.style.accent, 0.5))
        y = self.y - 7 - leading
        self._line(heading, (0, len(heading.text)), self.x + 10, y + 3, self.style.bold, size)
        for line in lines:
            y -= leading
            self._line(text, line, self.x + 10, y + 3, self.style.body, size)
        self.y -= height + 0.8 * leading

    def _fields(self, block: SheetFields) -> None:
        size, height = self.style.size, self.style.size * 2.0
        self._need(height * len(block.rows))
        label_width = 0.4 * self.width
        for label, entry in block.rows:
            self._need(height)
            bottom = self.y - height
            self._draw(Rect(Box(self.x, bottom, self.x + label_width, self.y), self.style.tint, GREY, 0.4))
            self._draw(Rect(Box(self.x + label_width, bottom, self.x + self.width, self.y), None, GREY, 0.4))
            self._text(label, self.x + 5, bottom + 0.65 * size, self.style.body, size)
            flat = flatten(entry, self.values)
            self._line(
                flat, (0, len(flat.text)), self.x + label_width + 6, bottom + 0.65 * size, "Courier", size
            )
            self.y = bottom
        self.y -= 0.8 * self.style.leading

    def _checks(self, block: Checks) -> None:
        size, height = self.style.size, self.style.leading * 1.1
        self._need(height * (len(block.options) + 1))
        self.y -= height
        self._text(block.title, self.x, self.y + 0.3 * size, self.style.bold, size)
        for option, slot in zip(block.options, block.slots, strict=True):
            self.y -= height
            self._tick(self.x + 8, self.y + 0.15 * size, size * 0.8, slot)
            flat = flatten(option, self.values)
            self._line(
                flat, (0, len(flat.text)), self.x + 14 + size, self.y + 0.3 * size, self.style.body, size
            )
        self.y -= 0.8 * self.style.leading

    def _tick(self, x: float, y: float, side: float, slot: str) -> None:
        box = Box(x, y, x + side, y + side)
        self._draw(Rect(box, None, BLACK, 0.8))
        self.sheet.marks.append(Mark(slot, box, text=False))
        if self.values[slot].value == "ticked":
            self._draw(Polygon(((x, y), (x + side, y + side)), None, BLACK, 1.4))
            self._draw(Polygon(((x, y + side), (x + side, y)), None, BLACK, 1.4))
