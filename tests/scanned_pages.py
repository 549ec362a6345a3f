"""Pages without a text layer, drawn by code: a ten-page deck, and column charts with printed values."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

SIZE = (1440, 1080)
INK = "black"
BARS = ("#4472c4", "#ed7d31", "#70ad47", "#a5a5a5", "#ffc000")


class Slide(NamedTuple):
    """What a page of the deck says: a title, and lines or rows of cells."""

    title: str
    lines: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()


DECK = (
    Slide("Harbour Ferries: annual review", ("Prepared for the board in Marlow", "Edition of March 2024")),
    Slide(
        "Fleet",
        ("The company runs 14 ferries on 6 routes.", "The oldest ferry, the Heron, was built in 1987."),
    ),
    Slide(
        "Passengers",
        ("Passengers rose by 8.4% to 3,217,450.", "Most of them, 41%, travelled in July and August."),
    ),
    Slide(
        "Passengers by route",
        (),
        (
            ("Route", "2022", "2023"),
            ("North Quay", "812,300", "904,150"),
            ("Lighthouse", "455,020", "431,870"),
            ("Old Town", "1,204,600", "1,377,940"),
        ),
    ),
    Slide(
        "Fares", ("A single crossing costs $4.75.", "A monthly pass costs $62 and is valid on all routes.")
    ),
    Slide("Fuel", ("Fuel consumption fell from 9,840 to 8,915 tonnes.", "Two ferries now run on batteries.")),
    Slide("Staff", ("The company employs 376 people.", "Each captain trains for 18 months.")),
    Slide("Safety", ("There were no serious accidents.", "Every ferry carries 260 life jackets.")),
    Slide(
        "Investments",
        (),
        (("Project", "Cost"), ("New terminal", "$12.6 million"), ("Charging stations", "$3.9 million")),
    ),
    Slide(
        "Outlook",
        ("A seventh route to Seal Island opens in May 2025.", "Contact: Ada Brandt, Harbour Street 21"),
    ),
)

CHARTS = (
    (("2019", "2020", "2021", "2022", "2023"), ("12.4", "8.1", "9.7", "14.2", "17.9")),
    (("North", "East", "South", "West", "Centre"), ("34%", "21%", "58%", "9%", "47%")),
    (("Q1", "Q2", "Q3", "Q4", "Total"), ("310", "275", "402", "388", "1,375")),
    (("Apples", "Pears", "Plums", "Cherries", "Grapes"), ("$2.10", "$3.45", "$1.80", "$6.95", "$4.60")),
    (("Mon", "Tue", "Wed", "Thu", "Fri"), ("145", "162", "98", "171", "120")),
)


def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def slide(content: Slide) -> Image.Image:
    """A page of the deck."""
    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SIZE[0], 150), fill="#e8eef7")
    draw.text((90, 45), content.title, fill=INK, font=font(56))
    for number, line in enumerate(content.lines):
        draw.text((110, 260 + 90 * number), line, fill=INK, font=font(38))
    for number, row in enumerate(content.rows):
        for column, cell in enumerate(row):
            anchor = "ls" if column == 0 else "rs"
            draw.text(
                (110 + 430 * column + 100 * (column > 0), 320 + 80 * number),
                cell,
                fill=INK,
                font=font(36),
                anchor=anchor,
            )
    return image


def chart(labels: Sequence[str], values: Sequence[str]) -> Image.Image:
    """A column chart with a printed value over each column."""
    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    heights = [float(value.strip("$%").replace(",", "")) for value in values]
    step, floor = 1160 // len(labels), 900
    for number, (label, value, height) in enumerate(zip(labels, values, heights, strict=True)):
        middle = 160 + step * number + step // 2
        top = floor - int(620 * height / max(heights)) - 20
        draw.rectangle((middle - 60, top, middle + 60, floor), fill=BARS[number % len(BARS)])
        draw.text((middle, top - 12), value, fill=INK, font=font(34), anchor="ms")
        draw.text((middle, floor + 50), label, fill=INK, font=font(34), anchor="ms")
    draw.line((150, floor, 1340, floor), fill=INK, width=3)
    return image


def small_print(lines: Sequence[str]) -> Image.Image:
    """Grey lines of small print, in three columns."""
    image = Image.new("RGB", (1440, 700), "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((80 + number % 3 * 420, 40 + number // 3 * 60), line, fill="#777", font=font(13))
    return image


def label(text: str) -> Image.Image:
    """A line on white."""
    image = Image.new("RGB", (25 * len(text), 60), "white")
    ImageDraw.Draw(image).text((10, 8), text, fill=INK, font=font(36))
    return image


def scanned_pdf(pages: Sequence[Image.Image], resolution: int = 144) -> bytes:
    """A PDF whose pages are pictures."""
    buffer = io.BytesIO()
    pages[0].save(buffer, "PDF", save_all=True, append_images=pages[1:], resolution=resolution)
    return buffer.getvalue()


def png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()
