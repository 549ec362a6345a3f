"""Write the demo documents that the package ships: four small fictional PDFs and their questions.

Run `python scripts/make_demo_documents.py` with reportlab installed. The same reportlab version gives
the same bytes every time (fixed dates and identifiers). Every fact named here is invented. Each question
carries an anchor that must stand in the text layer of its gold page, so a layout change that moves
evidence to another page fails here instead of shipping a wrong gold page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
from reportlab.graphics.charts.barcharts import VerticalBarChart
from reportlab.graphics.shapes import Drawing, String
from reportlab.lib import colors
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    ListFlowable,
    ListItem,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)

OUT = Path(__file__).resolve().parents[1] / "src" / "looseleaf" / "demo_data"
PAPER = (160 * mm, 190 * mm)
SLIDE = (254 * mm, 143 * mm)
INK = colors.HexColor("#1d2b3a")
TINT = colors.HexColor("#e6edf3")
BAR = colors.HexColor("#3c7a89")

BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=10.5, leading=14.5, spaceAfter=7, alignment=4)
SMALL = ParagraphStyle("small", parent=BODY, fontSize=9.4, leading=12.2)
H1 = ParagraphStyle("h1", fontName="Helvetica-Bold", fontSize=16, leading=20, spaceAfter=9, textColor=INK)
H2 = ParagraphStyle("h2", parent=H1, fontSize=12, leading=15, spaceBefore=6, spaceAfter=5)
TITLE = ParagraphStyle("title", parent=H1, fontSize=25, leading=31, spaceAfter=14)
CAPTION = ParagraphStyle("caption", fontName="Helvetica-Oblique", fontSize=9, leading=12, spaceAfter=9)
BULLET = ParagraphStyle("bullet", parent=BODY, fontName="Helvetica", fontSize=17, leading=25, alignment=0)

TEXT, TABLE, CHART = "Pure-text (Plain-text)", "Table", "Chart"
LAYOUT, FIGURE = "Generalized-text (Layout)", "Figure"
NOT_ANSWERABLE = "Not answerable"


@dataclass(frozen=True)
class Row:
    """One question; `evidence` maps a physical 1-based page to text that must stand on it."""

    question: str
    answer: str
    answer_format: str
    evidence: dict[int, str]
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Demo:
    """One document: its file name, kind, contents and questions."""

    name: str
    doc_type: str
    title: str
    story: Callable[[], list[Flowable]]
    rows: tuple[Row, ...]
    page_size: tuple[float, float] = A5
    columns: int = 1


def paragraphs(*texts: str, style: ParagraphStyle = BODY) -> list[Flowable]:
    """One paragraph flowable for each text."""
    return [Paragraph(text, style) for text in texts]


def grid(rows: Sequence[Sequence[str]], widths: Sequence[float] | None = None, size: float = 9.5) -> Table:
    """A ruled table whose first row is the header, repeated where it breaks over pages."""
    table = Table([list(row) for row in rows], colWidths=widths, repeatRows=1, hAlign="LEFT")
    table.setStyle(
        TableStyle(
            [
                ("FONT", (0, 0), (-1, -1), "Helvetica", size),
                ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", size),
                ("BACKGROUND", (0, 0), (-1, 0), TINT),
                ("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.grey),
                ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
            ]
        )
    )
    return table


def bar_chart(
    labels: Sequence[str], values: Sequence[float], title: str, width: float, height: float = 175
) -> Drawing:
    """A bar chart with the value printed above each bar."""
    drawing = Drawing(width, height)
    chart = VerticalBarChart()
    chart.x, chart.y, chart.width, chart.height = 30, 24, width - 40, height - 55
    chart.data = [list(values)]
    chart.categoryAxis.categoryNames = list(labels)
    chart.categoryAxis.labels.fontSize = 8
    chart.valueAxis.valueMin, chart.valueAxis.valueMax = 0, max(values) * 1.2
    chart.valueAxis.labels.fontSize = 7
    chart.bars[0].fillColor = BAR
    chart.barLabels.fontSize, chart.barLabels.nudge = 8, 7
    chart.barLabelFormat = "%d"
    drawing.add(chart)
    drawing.add(String(0, height - 13, title, fontName="Helvetica-Bold", fontSize=9))
    return drawing


def report_story() -> list[Flowable]:
    """Annual report of a maker of measuring instruments, eight pages."""
    segments = [
        ["Segment", "2021", "2022", "2023"],
        ["Flow meters", "41.6", "44.9", "52.3"],
        ["Pressure sensors", "28.4", "27.1", "31.8"],
        ["Laboratory balances", "19.7", "22.5", "20.9"],
        ["Field services", "12.2", "15.8", "18.6"],
        ["Total", "101.9", "110.3", "123.6"],
    ]
    staff = [
        ["Site", "Country", "Opened", "Employees"],
        ["Vellmar", "Germany", "1974", "412"],
        ["Tarnow", "Poland", "1998", "187"],
        ["Ghent", "Belgium", "2006", "94"],
        ["Porto", "Portugal", "2011", "138"],
        ["Penang", "Malaysia", "2019", "226"],
    ]
    income = [
        ["EUR million", "2022", "2023"],
        ["Revenue", "110.3", "123.6"],
        ["Cost of sales", "61.4", "67.2"],
        ["Gross profit", "48.9", "56.4"],
        ["Research and development", "12.7", "14.1"],
        ["Selling and administration", "21.5", "23.0"],
        ["Operating profit", "14.7", "19.3"],
        ["Net interest expense", "1.3", "1.9"],
        ["Income taxes", "3.8", "4.9"],
        ["Net profit", "9.6", "12.5"],
    ]
    return [
        Spacer(1, 50 * mm),
        *paragraphs("Northmere Instruments", style=TITLE),
        *paragraphs("Annual report 2023", style=H1),
        *paragraphs("Precision for water, air and process plants since 1974."),
        PageBreak(),
        *paragraphs("Contents", style=H1),
        grid(
            [
                ["Section", "Page"],
                ["Letter to shareholders", "3"],
                ["Revenue by segment", "4"],
                ["Sites and people", "5"],
                ["Income statement", "6"],
                ["Research", "7"],
                ["Risks and outlook", "8"],
            ],
            [90 * mm, 28 * mm],
        ),
        PageBreak(),
        *paragraphs("Letter to shareholders", style=H1),
        *paragraphs(
            "Dear shareholders, the past year asked a great deal of our people, and they answered. Demand "
            "from municipal water utilities rose through spring and summer, and our new flow meter line left "
            "the Vellmar plant on schedule.",
            "On 14 March 2023 the supervisory board appointed Ines Haldorsen as chief executive officer. She "
            "succeeds Bernd Okafor, who led the company for eleven years and remains an adviser.",
            "The board of management proposes a dividend of EUR 0.85 per share. The annual general meeting "
            "will vote on it on 6 June 2024 in Vellmar.",
            "We thank our customers for their trust, and our suppliers for keeping parts moving through a "
            "difficult winter. The order book at the end of the year stood at EUR 58.2 million.",
        ),
        PageBreak(),
        *paragraphs("Revenue by segment", style=H1),
        *paragraphs(
            "Group revenue grew in three of four segments. Laboratory balances suffered from a delayed "
            "tender and from weaker demand of universities."
        ),
        *paragraphs("Table 1: Revenue by segment, EUR million", style=CAPTION),
        grid(segments, [49 * mm, 23 * mm, 23 * mm, 23 * mm]),
        Spacer(1, 8 * mm),
        *paragraphs(
            "Field services include calibration on site, spare parts and training. About two thirds of "
            "service contracts run for three years or longer."
        ),
        PageBreak(),
        *paragraphs("Sites and people", style=H1),
        *paragraphs("The group runs five sites. All figures are for the end of the year."),
        *paragraphs("Table 2: Sites at the end of 2023", style=CAPTION),
        grid(staff, [30 * mm, 32 * mm, 26 * mm, 30 * mm]),
        Spacer(1, 8 * mm),
        *paragraphs(
            "Every site is certified to the group's safety standard. The accident rate fell for the fourth "
            "year in a row, and the share of apprentices taken on after training was again above nine in ten."
        ),
        PageBreak(),
        *paragraphs("Income statement", style=H1),
        *paragraphs("Table 3: Consolidated income statement", style=CAPTION),
        grid(income, [62 * mm, 28 * mm, 28 * mm]),
        Spacer(1, 8 * mm),
        *paragraphs("The statement has been prepared under the accounting policies set out in the notes."),
        PageBreak(),
        *paragraphs("Research", style=H1),
        *paragraphs(
            "Research and development works on three programmes: acoustic flow sensing, low-power radio and "
            "ceramic membranes. The acoustic programme filed nine patent applications in the year.",
            "The low-power radio lets a meter in a shaft report once an hour for ten years on one battery. "
            "Field trials with four utilities began in September 2023.",
        ),
        PageBreak(),
        *paragraphs("Risks and outlook", style=H1),
        *paragraphs(
            "The group sees three main risks: shortages of electronic parts, exchange rate movements, and "
            "delays of public tenders.",
            "For 2024 the board of management expects revenue between EUR 127 million and EUR 132 million "
            "and capital expenditure of EUR 9.4 million, mostly for a second ceramics furnace in Porto.",
        ),
    ]


def paper_story() -> list[Flowable]:
    """Two-column research paper with a chart that prints its values, four pages."""
    results = [
        ["Method", "Recall", "F1"],
        ["Threshold", "61.2", "58.7"],
        ["Wavelet", "70.5", "68.9"],
        ["LSTM", "77.8", "74.3"],
        ["TideNet", "83.4", "81.6"],
    ]
    filler = (
        "Harbour sensors fail in ways that look like weather. A float that sticks reads like slack water, "
        "and a fouled pressure port reads like a slow surge. Operators therefore inspect by habit, not by "
        "need. We ask whether a small model that knows the tide can tell the one from the other.",
        "Earlier work treats each gauge alone. Gauges along one coast, however, see the same astronomical "
        "tide shifted in time, so a neighbour is the best witness. Our method compares a gauge with the tide "
        "that its neighbours imply, after the shift has been estimated from a quiet week.",
        "The model is deliberately small, since it runs on the logger. It holds two convolution layers and a "
        "gated unit, reads a window of six hours, and returns the probability that the gauge is at fault.",
    )
    width = 62 * mm
    return [
        *paragraphs("TideNet: Finding Faulty Tide Gauges from Their Neighbours", style=H1),
        *paragraphs(
            "Marta Quillfeather and Jonas Abelard, Institute for Coastal Signals, Esbern", style=CAPTION
        ),
        *paragraphs("Abstract", style=H2),
        *paragraphs(
            "We present TideNet, a small network that flags faulty tide gauges by comparing each gauge with "
            "its neighbours. On a new collection of 37 gauges and 5 years of readings it finds more faults "
            "than three earlier methods while raising fewer alarms.",
            style=SMALL,
        ),
        *paragraphs("1 Introduction", style=H2),
        *paragraphs(*filler[:2], style=SMALL),
        NextPageTemplate("page"),
        FrameBreak(),
        *paragraphs("2 Data", style=H2),
        *paragraphs(
            "The Esbern collection covers 37 gauges between 2016 and 2020. Readings arrive every 10 minutes. "
            "Two technicians labelled 1,284 fault episodes; they agreed on 93 % of them.",
            "We train on the first three years, choose settings on the fourth and test on the fifth. "
            "Episodes shorter than half an hour are left out, since nobody would drive there for them.",
            "A third of the gauges stand in harbours, the rest on open piers. Harbours are calm but dirty, "
            "so their ports foul; piers are clean but rough, so their floats stick. The collection keeps "
            "both, and names the place of each gauge.",
            "Readings that the operator had already marked as suspect are kept, with the mark removed.",
            style=SMALL,
        ),
        PageBreak(),
        *paragraphs("3 Method", style=H2),
        *paragraphs(
            filler[2],
            "The shift between two gauges is the lag with the highest correlation over a quiet week. It is "
            "estimated once a year, because dredging changes it slowly.",
            "A window in which the neighbour is itself under repair is skipped, and the gauge keeps its last "
            "verdict. This happens to one window in forty.",
            style=SMALL,
        ),
        *paragraphs(
            "Training uses the Adam optimiser with a learning rate of 0.0004 and a batch size of 48. It "
            "stops after 30 epochs. One run takes 52 minutes on a laptop.",
            style=SMALL,
        ),
        FrameBreak(),
        *paragraphs("4 Results", style=H2),
        *paragraphs("Table 1: Test recall and F1 in percent", style=CAPTION),
        grid(results, [26 * mm, 18 * mm, 18 * mm], 8.5),
        Spacer(1, 4 * mm),
        *paragraphs(
            "TideNet leads on both measures. The wavelet baseline is the strongest method that needs no "
            "training, and the threshold rule remains popular because anybody can read it.",
            "Alarms matter more than recall to the people who drive. TideNet raises 2.1 false alarms a gauge "
            "and year, the wavelet baseline 6.8.",
            style=SMALL,
        ),
        PageBreak(),
        *paragraphs("4.1 Which faults are found", style=H2),
        *paragraphs(
            "We split the test episodes by the kind of fault that the technicians named.", style=SMALL
        ),
        bar_chart(
            ["Stuck", "Fouled", "Drift", "Clock", "Spike"],
            [91, 78, 64, 86, 95],
            "Faults found by TideNet (%)",
            width,
        ),
        *paragraphs("Figure 1: Share of faults found, by kind of fault", style=CAPTION),
        *paragraphs(
            "Slow drift is the hardest kind, for it looks like a change of the sea bed. A spike is easy, and "
            "the wrong clock betrays itself within two tides.",
            style=SMALL,
        ),
        FrameBreak(),
        *paragraphs("5 Cost on the logger", style=H2),
        *paragraphs(
            "The network has 18,432 parameters. On the logger one decision takes 7.5 milliseconds, and the "
            "battery loses less than one percent of its life.",
            "The weights take 36 kilobytes. We store them beside the calibration table, so that a logger can "
            "be replaced in the field without a computer.",
            "Sending a verdict costs more energy than making it. The logger therefore sends one message a "
            "day, and a second one only when the verdict changes.",
            style=SMALL,
        ),
        PageBreak(),
        *paragraphs("6 Limits", style=H2),
        *paragraphs(
            "A gauge without a neighbour within 60 kilometres cannot be checked. Six of our gauges are so "
            "remote, and we leave them out of the test.",
            "Storm surges that reach one gauge and not its neighbour raise false alarms. We saw three such "
            "storms in five years.",
            style=SMALL,
        ),
        FrameBreak(),
        *paragraphs("7 Conclusion", style=H2),
        *paragraphs(
            "Neighbours are good witnesses. The collection, the labels and the model are free to use.",
            style=SMALL,
        ),
    ]


def numbered(*steps: str) -> ListFlowable:
    """A numbered list of steps."""
    return ListFlowable([ListItem(Paragraph(step, BODY)) for step in steps], bulletType="1")


def manual_story() -> list[Flowable]:
    """User manual of a weather station, six pages."""
    parts = [
        ["Item", "Part number", "Quantity"],
        ["Display unit", "CR2-100", "1"],
        ["Sensor mast", "CR2-210", "1"],
        ["Rain collector", "CR2-220", "1"],
        ["Wind vane", "CR2-230", "1"],
        ["Mounting screws", "CR2-315", "8"],
        ["Mains adapter", "CR2-400", "1"],
    ]
    specs = [
        ["Property", "Display unit", "Sensor mast"],
        ["Weight", "480 g", "1150 g"],
        ["Supply voltage", "5 V", "3 V"],
        ["Operating temperature", "0 to 45 °C", "-30 to 60 °C"],
        ["Radio range", "120 m", "120 m"],
        ["Protection class", "IP20", "IP65"],
        ["Battery type", "none", "2 x AA lithium"],
    ]
    codes = [
        ["Code", "Meaning", "What to do"],
        ["E02", "No signal from the mast", "Move the display closer"],
        ["E05", "Rain collector blocked", "Remove leaves and rinse"],
        ["E07", "Battery low", "Replace both batteries"],
        ["E11", "Wind vane not calibrated", "Repeat calibration"],
    ]
    return [
        Spacer(1, 60 * mm),
        *paragraphs("Corvina R2 weather station", style=TITLE),
        *paragraphs("User manual, edition 4, revised 9 October 2022", style=H1),
        PageBreak(),
        *paragraphs("1 What is in the box", style=H1),
        grid(parts, [52 * mm, 40 * mm, 26 * mm]),
        Spacer(1, 6 * mm),
        *paragraphs("If an item is missing, write to the dealer within 14 days and name the part number."),
        PageBreak(),
        *paragraphs("2 Setting up the mast", style=H1),
        *paragraphs(
            "Choose an open place, away from walls and trees. You need a 6 mm drill bit and a level."
        ),
        numbered(
            "Drill four holes and fix the bracket with the mounting screws.",
            "Push the mast into the bracket until it clicks.",
            "Insert two AA lithium batteries. The lamp blinks green for 20 seconds.",
            "Turn the mast so that the arrow points to the north.",
            "Press the PAIR button on the display unit within 3 minutes.",
        ),
        *paragraphs("The first reading appears after the lamp has gone out."),
        PageBreak(),
        *paragraphs("3 Technical data", style=H1),
        grid(specs, [48 * mm, 35 * mm, 35 * mm]),
        Spacer(1, 6 * mm),
        *paragraphs("The radio works at 868 MHz. Walls of concrete shorten its range by half or more."),
        PageBreak(),
        *paragraphs("4 Error codes", style=H1),
        grid(codes, [18 * mm, 50 * mm, 50 * mm]),
        Spacer(1, 6 * mm),
        *paragraphs("Any other code: switch the display off, wait one minute, and switch it on again."),
        PageBreak(),
        *paragraphs("5 Care and warranty", style=H1),
        *paragraphs(
            "Clean the rain collector every 3 months with water and a soft brush. Never use solvents.",
            "The warranty period is 30 months from the date of purchase. Keep the receipt. Batteries and "
            "damage by lightning are not covered.",
        ),
    ]


def slides_story() -> list[Flowable]:
    """Slides of a town's cycling plan, five pages."""

    def slide(title: str, *lines: str) -> list[Flowable]:
        return [Paragraph(title, TITLE), *[Paragraph(f"• {line}", BULLET) for line in lines]]

    return [
        Spacer(1, 30 * mm),
        *paragraphs("Aldbrook Cycling Plan", style=TITLE),
        *paragraphs("Council briefing, 21 May 2024", style=H1),
        PageBreak(),
        *slide(
            "Why now",
            "One car trip in three is shorter than 2 km",
            "Two schools asked for safe routes",
            "The county pays 60% of building costs",
        ),
        PageBreak(),
        *paragraphs("Counted trips", style=TITLE),
        bar_chart(
            ["2019", "2020", "2021", "2022", "2023"],
            [1450, 1980, 2210, 2065, 2740],
            "Bicycle trips per day across the Mill Bridge",
            190 * mm,
            270,
        ),
        PageBreak(),
        *slide(
            "Routes in the first phase",
            "Mill Bridge to Station",
            "Station to Grammar School",
            "Harbour Lane to Market Square",
        ),
        PageBreak(),
        *paragraphs("Cost and time", style=TITLE),
        grid(
            [
                ["Route", "Length (km)", "Cost (EUR)", "Ready by"],
                ["Mill Bridge to Station", "1.8", "340,000", "April 2025"],
                ["Station to Grammar School", "2.4", "415,000", "August 2025"],
                ["Harbour Lane to Market Square", "0.9", "128,000", "November 2024"],
            ],
            [85 * mm, 40 * mm, 45 * mm, 45 * mm],
            14,
        ),
    ]


REPORT_ROWS = (
    Row(
        "What was the revenue of Pressure sensors in 2023, in EUR million?",
        "31.8",
        "Float",
        {4: "31.8"},
        (TABLE,),
    ),
    Row("How many employees work at the Penang site?", "226", "Int", {5: "226"}, (TABLE,)),
    Row(
        "Who was appointed as chief executive officer on 14 March 2023?",
        "Ines Haldorsen",
        "Str",
        {3: "Ines Haldorsen"},
        (TEXT,),
    ),
    Row(
        "Which segment had lower revenue in 2023 than in 2022?",
        "Laboratory balances",
        "Str",
        {4: "Laboratory balances"},
        (TABLE,),
    ),
    Row(
        "By how much does the expected capital expenditure for 2024 differ from the research and development "
        "expense of 2023, in EUR million?",
        "4.7",
        "Float",
        {6: "14.1", 8: "9.4 million"},
        (TABLE, TEXT),
    ),
    Row("What was the revenue of Marine radar in 2023, in EUR million?", NOT_ANSWERABLE, "None", {}),
    # A trap: the row and the year exist, but the table holds revenue, not profit.
    Row(
        "What was the operating profit of Pressure sensors in 2023, in EUR million?",
        NOT_ANSWERABLE,
        "None",
        {},
    ),
    # Another: on that day another officer was appointed.
    Row("Who was appointed as chief financial officer on 14 March 2023?", NOT_ANSWERABLE, "None", {}),
)
PAPER_ROWS = (
    Row("What F1 does the LSTM method reach?", "74.3", "Float", {2: "74.3"}, (TABLE,)),
    Row(
        "According to Figure 1, what percentage of faults of the kind Drift are found?",
        "64%",
        "Float",
        {3: "64"},
        (CHART,),
    ),
    Row(
        "Which kind of fault in Figure 1 is found most often?",
        "Spike",
        "Str",
        {3: "Spike"},
        (CHART,),
    ),
    Row("How many parameters does the network have?", "18432", "Int", {3: "18,432"}, (TEXT,)),
    Row("What dropout rate is used in training?", NOT_ANSWERABLE, "None", {}),
    # A trap: the table is of the test set.
    Row("What F1 does the LSTM method reach on the training set?", NOT_ANSWERABLE, "None", {}),
    # Two that no text layer answers: a colour, and a count that nobody wrote down.
    Row("What colour are the bars in Figure 1?", "Teal", "Str", {3: "Figure 1"}, (FIGURE,)),
    Row("How many authors does the paper have?", "2", "Int", {1: "Jonas Abelard"}, (TEXT,)),
)
MANUAL_ROWS = (
    Row("What is the part number of the Rain collector?", "CR2-220", "Str", {2: "CR2-220"}, (TABLE,)),
    Row("How many months is the warranty period?", "30", "Int", {6: "30 months"}, (TEXT,)),
    Row(
        "What is the protection class of the Sensor mast?",
        "IP65",
        "Str",
        {4: "IP65"},
        (TABLE,),
    ),
    Row("What is the meaning of error code E09?", NOT_ANSWERABLE, "None", {}),
)
SLIDES_ROWS = (
    Row(
        "List the routes in the first phase of the cycling plan.",
        "['Mill Bridge to Station', 'Station to Grammar School', 'Harbour Lane to Market Square']",
        "List",
        {4: "Station to Grammar School"},
        (LAYOUT,),
    ),
    Row(
        "How many bicycle trips per day were counted across the Mill Bridge in 2022?",
        "2065",
        "Int",
        {3: "2065"},
        (CHART,),
    ),
)

DEMOS = (
    Demo("northmere_annual_report_2023.pdf", "Financial report", "Northmere Instruments, Annual report 2023",
         report_story, REPORT_ROWS),
    Demo("tidenet_paper.pdf", "Academic paper", "TideNet", paper_story, PAPER_ROWS,
         page_size=PAPER, columns=2),
    Demo("corvina_r2_manual.pdf", "Guidebook", "Corvina R2 user manual", manual_story, MANUAL_ROWS),
    Demo("aldbrook_cycling_slides.pdf", "Tutorial/Workshop", "Aldbrook Cycling Plan", slides_story,
         SLIDES_ROWS, page_size=SLIDE),
)  # fmt: skip


def templates(demo: Demo) -> list[PageTemplate]:
    """The page layout of a document: its columns, running head and page number."""
    width, height = demo.page_size
    margin, gap = 15 * mm, 6 * mm
    column = (width - 2 * margin - gap * (demo.columns - 1)) / demo.columns
    frames = [
        Frame(margin + i * (column + gap), margin, column, height - 2 * margin, 0, 0, 0, 0, id=f"column{i}")
        for i in range(demo.columns)
    ]

    def furniture(canvas: Any, document: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.setFillColor(colors.HexColor("#555555"))
        canvas.drawString(margin, 11 * mm, demo.title)
        canvas.drawRightString(width - margin, 11 * mm, str(document.page))

    return [PageTemplate(id="page", frames=frames, onPage=furniture)]


def write(demo: Demo, folder: Path) -> None:
    """Write one PDF."""
    document = BaseDocTemplate(
        str(folder / demo.name), pagesize=demo.page_size, title=demo.title, author="looseleaf", invariant=1
    )
    document.addPageTemplates(templates(demo))
    document.build(demo.story())


def check(demo: Demo, folder: Path) -> None:
    """Refuse a document whose gold pages do not hold their anchors."""
    pdf = pdfium.PdfDocument(folder / demo.name)
    texts = [page.get_textpage().get_text_range() for page in pdf]
    for row in demo.rows:
        for page, anchor in row.evidence.items():
            if anchor not in texts[page - 1]:
                sys.exit(
                    f"{demo.name}: {anchor!r} is not on page {page}; correct the evidence of {row.question!r}"
                )


def sample(demo: Demo, row: Row) -> dict[str, str]:
    """One row of samples.json in the format of MMLongBench-Doc (every value a string)."""
    return {
        "doc_id": demo.name,
        "doc_type": demo.doc_type,
        "question": row.question,
        "answer": row.answer,
        "evidence_pages": repr(sorted(row.evidence)),
        "evidence_sources": repr(list(row.sources)),
        "answer_format": row.answer_format,
    }


def main() -> None:
    """Write every demo document and samples.json."""
    folder = OUT / "documents"
    folder.mkdir(parents=True, exist_ok=True)
    for demo in DEMOS:
        write(demo, folder)
        check(demo, folder)
    rows = [sample(demo, row) for demo in DEMOS for row in demo.rows]
    (OUT / "samples.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
