"""Laying out: lines, values that stay whole, boxes, footnotes, scanned pages."""

from __future__ import annotations

from random import Random

import pytest

pytest.importorskip("reportlab", reason="needs the [procedural] extra")

from looseleaf.procedural.blocks import (
    Break,
    Bullets,
    Chart,
    Heading,
    Prose,
    Ref,
    ShapePicture,
    TableBlock,
    rich,
)
from looseleaf.procedural.compose import Composer
from looseleaf.procedural.measure import break_lines, fitted, flatten, line_marks, width_of
from looseleaf.procedural.page import Box, Mark, Oval, Rect, Sheet, Text
from looseleaf.procedural.paint import Painter, rotated
from looseleaf.procedural.slots import Slot
from looseleaf.procedural.style import draw_style

FONT = "Helvetica"
NAME = Slot(slot_id="n", kind="name", value="Ada Lovelace")
NUMBER = Slot(slot_id="x", kind="number", value=1234)
VALUES = {"n": NAME, "x": NUMBER}


def composer(values: dict[str, Slot] | None = None) -> Composer:
    return Composer(draw_style("report", Random(0)), VALUES if values is None else values, "Head")


def lines_of(sheet: Sheet) -> list[str]:
    return [shape.text for shape in sheet.shapes if isinstance(shape, Text)]


def test_a_template_takes_slots_and_plain_words() -> None:
    assert rich("On {day} {who} left.", {"who": "n"}, {"day": "Monday"}) == (
        "On ",
        "Monday",
        " ",
        Ref("n"),
        " left.",
    )


def test_lines_fill_the_width_and_never_split_a_value() -> None:
    flat = flatten(("The report was written by ", Ref("n"), " and nobody else at all."), VALUES)
    for width in range(70, 300, 7):
        lines = [flat.text[a:b] for a, b in break_lines(flat.text, FONT, 10, width)]
        assert " ".join(lines) == flat.text
        assert any("Ada\xa0Lovelace" in line for line in lines)
        assert all(width_of(line, FONT, 10) <= width or " " not in line for line in lines)


def test_a_mark_spans_exactly_its_value() -> None:
    flat = flatten(("Cost: ", Ref("x"), " euros"), VALUES)
    (mark,) = line_marks(flat, (0, len(flat.text)), 100, 500, FONT, 10)
    assert mark.box.x0 == pytest.approx(100 + width_of("Cost: ", FONT, 10))
    assert mark.box.x1 == pytest.approx(mark.box.x0 + width_of("1,234", FONT, 10))
    assert mark.box.y0 < 500 < mark.box.y1


def test_text_is_shrunk_to_fit() -> None:
    assert fitted("short", FONT, 10, 500) == 10
    size = fitted("a long label", FONT, 10, 20)
    assert width_of("a long label", FONT, size) == pytest.approx(20)


def test_a_broken_table_repeats_caption_and_head() -> None:
    page = composer()
    page.add(Break())
    rows = tuple(((f"row {i}",), (str(i),)) for i in range(120))
    page.add(TableBlock(3, ("Figures, ", Ref("x")), (("Name",), ("Value",)), rows))
    sheets = page.finish()
    assert len(sheets) >= 2
    assert "Table 3: Figures, 1,234" in lines_of(sheets[0])
    for sheet in sheets[1:]:
        assert "Table 3 (continued): Figures, 1,234" in lines_of(sheet)
        assert "Name" in lines_of(sheet)
    shown = [line for sheet in sheets for line in lines_of(sheet) if line.startswith("row ")]
    assert shown == [f"row {i}" for i in range(120)]
    assert all({mark.slot_id for mark in sheet.marks} == {"x"} for sheet in sheets)


def test_nothing_is_drawn_below_the_margin() -> None:
    page = composer()
    for columns in (1, 2):
        page.add(Break(columns))
        for i in range(40):
            page.add(
                Prose(
                    (f"Paragraph {i} " + "with many words " * 30,),
                    note=(i, ("A note.",)) if i % 9 == 0 else None,
                )
            )
    bottom = page.style.margin[3]
    for sheet in page.finish():
        texts = [shape for shape in sheet.shapes if isinstance(shape, Text)]
        assert min(text.y for text in texts) >= bottom - 5


def test_a_footnote_stands_on_the_page_of_its_paragraph() -> None:
    page = composer()
    page.add(Break())
    for i in range(60):
        page.add(Prose(("Idle words " * 25,)))
        page.add(Prose((f"Fact number {i} [{i}]",), keep=True, note=(i, (f"Source number {i}.",))))
    for sheet in page.finish():
        text = sheet.words
        for i in range(60):
            assert (f"Fact number {i} [" in text) == (f"Source number {i}." in text)


def test_a_list_keeps_its_title_and_its_count() -> None:
    values = {**VALUES, "k": Slot(slot_id="k", kind="count", value=2, low=1, high=3)}
    page = composer(values)
    page.add(Break())
    page.add(Bullets("Service of it", (("one",), ("two",), ("three",)), numbered=True, count="k"))
    (sheet,) = page.finish()
    assert [line for line in lines_of(sheet) if line in ("one", "two", "three")] == ["one", "two"]
    assert "Service of it" in lines_of(sheet)


def test_chapters_are_counted_from_the_page_where_they_start() -> None:
    page = composer()
    for title in ("First", "Second"):
        page.add(Break(head=(title,)))
        page.add(Heading(1, (title,)))
    assert [sheet.chapter for sheet in page.finish()] == [0, 1]


def chart(printed: bool) -> Chart:
    return Chart(1, ("Sales",), "bar", ("May", "June"), ("x", "y"), 2000, 100, printed, False, "t")


@pytest.mark.parametrize("printed", [True, False])
def test_a_bar_is_as_high_as_its_value(printed: bool) -> None:
    values = {
        "x": Slot(slot_id="x", kind="number", value=1500),
        "y": Slot(slot_id="y", kind="number", value=500),
    }
    page = composer(values)
    page.add(Break())
    page.add(chart(printed))
    (sheet,) = page.finish()
    accent = page.style.accent
    bars = [shape.box for shape in sheet.shapes if isinstance(shape, Rect) and shape.fill == accent]
    heights = [bar.y1 - bar.y0 for bar in bars]
    assert heights[0] == pytest.approx(3 * heights[1])
    assert ("1,500" in lines_of(sheet)) == printed
    assert [mark.text for mark in sheet.marks] == [printed, printed]


def test_a_picture_shows_as_many_shapes_as_its_count_and_the_others_stay() -> None:
    drawn = []
    for circles in (4, 5):
        values = {
            "c": Slot(slot_id="c", kind="count", value=circles),
            "s": Slot(slot_id="s", kind="count", value=3),
        }
        page = composer(values)
        page.add(Break())
        page.add(ShapePicture(1, ("Shapes",), (("circles", "c"), ("squares", "s")), False, 7))
        (sheet,) = page.finish()
        drawn.append([shape for shape in sheet.shapes if isinstance(shape, Oval)])
    assert [len(ovals) for ovals in drawn] == [4, 5]
    assert set(drawn[0]) < set(drawn[1])


def test_the_box_on_a_crooked_page_follows_the_rotation() -> None:
    sheet = Sheet(600, 800, scanned=True, skew=1.0)
    moved = rotated(Mark("x", Box(290, 690, 310, 710)), sheet)
    assert not moved.text
    assert (moved.box.x0 + moved.box.x1) / 2 == pytest.approx(300 - 300 * 0.01745, abs=0.1)
    upright = Mark("x", Box(1, 2, 3, 4))
    assert rotated(upright, Sheet(600, 800)) == upright


def test_a_scanned_page_shows_its_words_where_the_mark_says() -> None:
    """Black ink lies inside the rotated box and none just beside it."""
    sheet = Sheet(600, 800, scanned=True, skew=-1.1)
    sheet.shapes.append(Text(420, 700, "HHHHHH", "Helvetica-Bold", 20))
    width = width_of("HHHHHH", "Helvetica-Bold", 20)
    mark = rotated(Mark("x", Box(420, 700, 420 + width, 714)), sheet)
    image = Painter()._scan(sheet)
    import io

    from PIL import Image

    picture = Image.open(io.BytesIO(image))
    scale = picture.width / 600
    x0, x1 = mark.box.x0 * scale, mark.box.x1 * scale
    y0, y1 = (800 - mark.box.y1) * scale, (800 - mark.box.y0) * scale
    assert picture.crop((round(x0), round(y0), round(x1), round(y1))).getextrema()[0] < 60  # type: ignore[operator]
    below = picture.crop((round(x0), round(y1 + 6), round(x1), round(y1 + 30)))
    assert sum(level < 100 for level in below.tobytes()) < 20
