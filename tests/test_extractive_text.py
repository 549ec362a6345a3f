"""What is read off a page's text: numbers, spans, lines, tables, charts, facts, continued tables."""

from __future__ import annotations

import pytest

from extractive_pages import BEDS, CHART, RULES, YEARS
from looseleaf.models.extractive import Passage
from looseleaf.models.extractive.candidate import Candidate
from looseleaf.models.extractive.continued import whole_tables
from looseleaf.models.extractive.fact import page_facts, stated_scale
from looseleaf.models.extractive.kinds import Kind
from looseleaf.models.extractive.number import find_numbers, is_reference, parse_number, plain
from looseleaf.models.extractive.page import read_page
from looseleaf.models.extractive.query import analyse
from looseleaf.models.extractive.span import find_spans
from looseleaf.models.extractive.table import read_tables
from looseleaf.models.extractive.words import number_word, ordinal_word, roman, stem, stem_set, tokens
from looseleaf.models.extractive.writing import formatted_date, written


@pytest.mark.parametrize(
    ("text", "value", "unit", "scale"),
    [
        ("1,234.5", 1234.5, "", 1.0),
        ("(1,234)", -1234.0, "", 1.0),
        ("-7%", -7.0, "%", 1.0),
        ("$2.4 million", 2.4, "$", 1e6),
        ("12 percent", 12.0, "%", 1.0),
        ("3bn", 3.0, "", 1e9),
        (".5", 0.5, "", 1.0),
    ],
)
def test_numbers(text: str, value: float, unit: str, scale: float) -> None:
    number = parse_number(text)
    assert number is not None
    assert (number.value, number.unit, number.scale) == (value, unit, scale)


@pytest.mark.parametrize("text", ["", "seven", "12 ships", "K7", "1.2.3"])
def test_what_is_no_number(text: str) -> None:
    assert parse_number(text) is None


def test_references_are_no_quantities() -> None:
    text = "Figure 3 shows 41 ships in 2019 on 5 May [7]."
    kept = [number.text for number in find_numbers(text) if not is_reference(text, number)]
    assert kept == ["41"]


def test_plain_digits() -> None:
    assert plain(3.0) == "3"
    assert plain(-0.0) == "0"
    assert plain(2.5, 2) == "2.50"
    assert plain(1 / 3) == "0.333333"


def test_words() -> None:
    assert tokens("The K7’s 1,200 lids (12%)") == ["The", "K7’s", "1,200", "lids", "12", "%"]
    assert stem("spoken") == stem("speak")
    assert stem("1,200") == "1200"
    assert stem_set("the ships of the harbour") == {"ship", "harbour"}
    assert (number_word("twenty-five"), number_word("many")) == (25, None)
    assert (ordinal_word("third"), ordinal_word("22nd"), roman("IV")) == (3, 22, 4)


@pytest.mark.parametrize(
    ("kind", "text", "spans"),
    [
        (Kind.DATE, "from 3 May 1911 to June 2, 1912", ["3 May 1911", "June 2, 1912"]),
        (Kind.DATE, "in 1911 and in 1912", ["1911", "1912"]),
        (Kind.YEAR, "from 1911 to 2,012", ["1911"]),
        (Kind.TIME, "8:00 am or 17:30", ["8:00 am", "17:30"]),
        (Kind.PERCENT, "12% of 40 ships", ["12%"]),
        (Kind.COUNT, "three boats and 40 ships", ["40", "3"]),
        (Kind.MONEY, "40 ships for $2.4 million", ["$2.4 million"]),
        (Kind.PERSON, "the mayor Nora Vint and K7", ["Nora Vint"]),
        (Kind.EMAIL, "write to a.b@c.example.", ["a.b@c.example"]),
        (Kind.URL, "see https://c.example/x and www.d.example.", ["https://c.example/x", "www.d.example"]),
        (Kind.COLOR, "a dark Green lid", ["Green"]),
        (Kind.DURATION, "for 3 to 5 weeks", ["3 to 5 weeks"]),
        (Kind.TEXT, "anything", []),
    ],
)
def test_spans(kind: Kind, text: str, spans: list[str]) -> None:
    assert [span.text for span in find_spans(text, kind)] == spans


def test_kinds_of_lines_and_headings() -> None:
    model = read_page(
        "Opening Hours\n• Monday\n1. Knock\nFigure 2: The door\nThe door is kept shut in winter."
    )
    assert [line.kind for line in model.lines] == ["heading", "bullet", "numbered", "caption", "text"]
    assert model.heading(2) == "Opening Hours"
    assert model.heading(4) == "Figure 2: The door"


def test_sentences_run_over_lines_and_stop_at_abbreviations() -> None:
    model = read_page("The quay was built by Dr. Vint and\nher brother. It is long.")
    assert [sentence.text for sentence in model.sentences] == [
        "The quay was built by Dr. Vint and her brother.",
        "It is long.",
    ]


def test_a_page_of_contents_is_told() -> None:
    contents = "Contents\n" + "\n".join(f"Chapter {n} About things{'.' * 9}{3 * n}" for n in range(1, 9))
    assert read_page(contents).contents
    assert not read_page(RULES).contents


def test_a_table_with_tabs() -> None:
    (table,) = read_tables(BEDS)
    assert table.header == ("Hospital", "Beds", "Nurses", "Owner")
    assert [row.label for row in table.rows] == ["Alder", "Birch", "Cedar", "Elm", "Total"]
    assert table.caption.startswith("Table 3")
    assert table.rows[0].numbers[1] is not None
    assert table.rows[0].numbers[3] is None


def test_a_table_whose_cells_are_parted_by_spaces() -> None:
    rows = "LSTM (Verne, 2019) 81.0 70.5 75.4\nCNN 85.2 78.1 81.5"
    text = f"Table 1: F1 of the methods\nMethod Precision Recall F1\n{rows}"
    (table,) = read_tables(text)
    assert table.header == ("Method", "Precision", "Recall", "F1")
    assert table.rows[0].cells == ("LSTM (Verne, 2019)", "81.0", "70.5", "75.4")
    assert table.rows[0].stems[0] == {"lstm"}


def test_a_header_below_its_rows() -> None:
    (table,) = read_tables("Ask\t12\t3\nBirk\t30\t4\nCald\t44\t5\nDepth\tAge")
    assert table.header == ("", "Depth", "Age")


def test_groups_over_columns() -> None:
    text = "\tGold\tOpen\nModel\tHard\tEasy\tHard\tEasy\nAsk\t1\t2\t3\t4\nBirk\t5\t6\t7\t8"
    (table,) = read_tables(text)
    assert table.header[0] == "Model"
    assert [row.cells[1:] for row in table.rows] == [("1", "2", "3", "4"), ("5", "6", "7", "8")]


@pytest.mark.parametrize(
    "text",
    [
        CHART,
        "Favourite season\n31%\n42%\n17%\n10%\nSpring\nSummer\nAutumn\nWinter",
        "Favourite season\n0 10 20 30 40\n31 42 17 10\nSpring Summer Autumn Winter",
    ],
)
def test_charts_that_print_their_values(text: str) -> None:
    (chart,) = [table for table in read_tables(text) if table.chart]
    assert [row.label for row in chart.rows] == ["Spring", "Summer", "Autumn", "Winter"]
    assert [row.cells[1].rstrip("%") for row in chart.rows] == ["31", "42", "17", "10"]


def test_prose_is_no_table() -> None:
    assert (
        read_tables("In 2021, 412 ships came.\nIn 2022, 398 ships came.\nIt was cold, 3 degrees, all May.")
        == ()
    )


def test_facts_know_their_column_year_and_scale() -> None:
    facts = {(fact.label, fact.year): fact for fact in page_facts(YEARS)}
    assert facts["South line", 2020].number.value == 150.0
    assert facts["South line", 2020].scale == 1e3
    assert facts["North line", 2019].first
    assert stated_scale("(in thousands)") == 1e3
    assert stated_scale("nothing") == 1.0


def test_a_written_statement_is_a_fact() -> None:
    facts = page_facts("Net sales, 2022: 2,000; Net income, 2022: 150")
    found = {(fact.label, fact.year, fact.number.value) for fact in facts}
    assert found >= {("Net sales", 2022, 2000.0), ("Net income", 2022, 150.0)}


def test_parts_of_one_table_are_joined_and_others_are_not() -> None:
    part = "Table 2: Wells{0}\nWell\tDepth\nAsk\t{1}\nBirk\t{2}"
    pages = [
        part.format("", 1, 2),
        part.format(" (continued)", 3, 4),
        "No table here.",
        part.format("", 5, 6),
    ]
    found = list(whole_tables([Passage(page, text) for page, text in enumerate(pages, start=1)]))
    assert sorted((page, len(table.rows)) for page, table in found) == [(1, 4), (4, 2)]


def test_reading_depends_on_the_text_only() -> None:
    assert read_tables(BEDS) is read_tables(BEDS)
    assert read_page(BEDS) == read_page(str(BEDS))


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("3 May 1911", "YYYY-MM-DD", "1911-05-03"),
        ("May 3, 1911", "DD/MM/YY", "03/05/11"),
        ("05/10/2015", "YYYY-MM-DD", "2015-05-10"),
        ("25/10/2015", "YYYY-MM-DD", "2015-10-25"),
        ("May 1911", "YYYY-MM-DD", "May 1911"),
        ("soon", "YYYY", "soon"),
    ],
)
def test_dates_in_the_form_asked_for(text: str, pattern: str, expected: str) -> None:
    assert formatted_date(text, pattern) == expected


@pytest.mark.parametrize(
    ("question", "text", "scale", "expected"),
    [
        ("How many ships came?", "1,200", 1.0, "1200"),
        ("How much was the tax in 2020? Answer in millions.", "2,500", 1e3, "2.5"),
        ("How much was the tax? Answer in millions.", "$2.4 billion", 1.0, "2400"),
        ("How much was the tax?", "$2.4 million", 1.0, "$2.4 million"),
        ("What was the loss?", "(120)", 1.0, "120"),
        ("What percentage came?", "12.50%", 1.0, "12.5%"),
        ("What is the mean depth? Round to one decimal.", "3.14", 1.0, "3.1"),
        ("In which year?", "1911", 1.0, "1911"),
        ("Who came?", "Nora Vint", 1.0, "Nora Vint"),
    ],
)
def test_numbers_in_the_form_asked_for(question: str, text: str, scale: float, expected: str) -> None:
    assert written(analyse(question), Candidate(text, 1, text, 1.0, "test", scale=scale)) == expected
