"""What the extractor answers: one invented page each, one mechanism each."""

from __future__ import annotations

import pytest

from extractive_pages import BEDS, CHART, PAPER, PROSE, RULES, STATEMENT, YEARS, ask
from looseleaf.models.extractive import Passage, answer, candidates


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was the harbour of Brennick opened?", "3 May 1911"),
        ("Who opened the harbour of Brennick on 3 May 1911?", "Lady Agnes Corvane"),
        ("How many ships called at the harbour in 2021?", "412"),
        ("What percentage of the ships carried timber?", "38%"),
        ("How much did the new crane cost that Halvard Works built?", "$2.4 million"),
        ("What is the e-mail address of the harbour?", "harbour@brennick.example"),
        ("What phone number can one call?", "555 201 3344"),
        ("What color was the quay painted?", "green"),
    ],
)
def test_typed_spans_of_sentences(question: str, expected: str) -> None:
    assert ask(question, PROSE) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many nurses does Cedar have?", "150"),
        ("How many beds does the Birch hospital have?", "270"),
        ("Who is the owner of Elm?", "State"),
        ("Which hospital has the most beds?", "Cedar"),
        ("Which hospital has the fewest nurses?", "Elm"),
        ("What are the top 2 hospitals by number of nurses?", "['Cedar', 'Alder']"),
        ("Which hospitals have more than 300 beds?", "['Alder', 'Cedar', 'Elm']"),
        ("How many hospitals have fewer than 90 nurses?", "2"),
        ("Which hospital has exactly 270 beds?", "Birch"),
        ("Which hospitals have the owner 'City'?", "['Alder', 'Cedar']"),
        ("What is the total number of beds of Alder and Birch?", "580"),
        ("What is the difference between the number of beds of Cedar and the number of beds of Elm?", "211"),
        ("How many more nurses does Cedar have than Birch?", "70"),
        ("Is the number of beds of Cedar above 500? Answer Yes or No.", "Yes"),
        ("Is the number of beds of Elm above 500? Answer Yes or No.", "No"),
    ],
)
def test_rows_and_columns(question: str, expected: str) -> None:
    assert ask(question, BEDS) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many passengers did the South line have in 2020?", "150"),
        ("How many passengers did the North line have in 2021?", "81"),
        ("What was the difference in passengers of the North line between 2019 and 2020?", "60.4"),
        (
            "By what percentage did the passengers of the South line decrease from 2019 to 2020? "
            "Round to one decimal.",
            "50.0%",
        ),
        ("Which line had the most passengers in 2021?", "South line"),
    ],
)
def test_columns_of_years(question: str, expected: str) -> None:
    assert ask(question, YEARS) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What percentage of the people asked have summer as their favourite season?", "42%"),
        ("Which favourite season did the most people name?", "Summer"),
    ],
)
def test_charts_that_print_their_values(question: str, expected: str) -> None:
    assert ask(question, CHART) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What are the three rules that readers must follow?",
            "['Leave bags in the lockers', 'Use pencils only', 'Speak softly']",
        ),
        ("What is the second rule that readers must follow?", "Use pencils only"),
        ("How many rules must readers follow?", "3"),
        ("Who is the contact of the reading room?", "Mira Stolt"),
        ("What is the room number of the reading room?", "B-114"),
    ],
)
def test_lists_and_keys(question: str, expected: str) -> None:
    assert ask(question, RULES) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the title of the paper?", "Counting Birds with Cheap Microphones"),
        ("Who are the authors of the paper?", "['Ines Aldran', 'Tomas Beck', 'Wanda Crule']"),
        ("How many figures are in the paper?", "2"),
        ("What F1 does the LSTM reach?", "75.4"),
        ("Which subsections does the section Methods include?", "['Recording', 'Filtering', 'Counting']"),
        ("What does LAMG stand for?", "Local Area Microphone Grid"),
        ("What is the title of Figure 2?", "Calls by hour"),
        ("On which page is Table 1?", "1"),
    ],
)
def test_the_make_up_of_a_document(question: str, expected: str) -> None:
    assert ask(question, PAPER) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the gross margin in 2022? Round to two decimals.", "0.40"),
        ("What is the current ratio for FY2021? Round to two decimals.", "1.94"),
        ("What is the return on assets in 2022?", "0.15"),
        ("What is the debt ratio in 2022?", "0.6"),
        ("What is cash to total assets in 2022?", "0.12"),
        ("What is the working capital in 2022?", "200"),
        ("What is the inventory turnover in 2022? Round to two decimals.", "17.14"),
        ("What were total long-term liabilities in FY2022?", "400"),
    ],
)
def test_measures_of_financial_statements(question: str, expected: str) -> None:
    assert ask(question, STATEMENT) == expected


def test_a_choice_between_given_alternatives() -> None:
    text = "The upper valley is warmer than the lower valley in winter.\nSnow lies longest in Karst village."
    assert ask("Does snow lie longest in Karst village or Tarn village?", text) == "Karst village"


def test_what_happens_if() -> None:
    text = "If the red lamp blinks, unplug the heater at once. When the tank is empty, refill it."
    assert ask("What should one do if the red lamp blinks?", text) == "unplug the heater at once"


def test_a_definition() -> None:
    text = "A tide gauge is a device that records the height of the sea. Gauges are cheap."
    assert ask("What is a tide gauge?", text) == "device that records the height of the sea"


def test_entries_below_their_keys() -> None:
    text = "Application form\nName of the applicant:\nNora Vint\nType of dwelling:\nHouseboat"
    assert ask("What is the type of dwelling in the application form?", text) == "Houseboat"


def test_titles_of_several_numbered_things() -> None:
    text = "UNIT 1: Sowing\nSoil and seed.\nUNIT 2: Weeding\nHoes.\nUNIT 3: Reaping\nScythes."
    assert ask("What are the names of Unit 1 and Unit 3?", text) == "['Sowing', 'Reaping']"


def test_the_legend_of_a_drawing() -> None:
    text = "A: copper lid\nB: felt ring\nC: iron base\nFigure 2: Drawing of the stove Kamin K7"
    assert ask("Which part carries the letter B in the drawing of the Kamin K7?", text) == "felt ring"


def test_numbers_looked_up_on_several_pages() -> None:
    pages = [
        "The depot at Orrin cost 1,200 euros to paint.",
        "Nothing of interest is told here.",
        "The depot at Velt cost 900 euros to paint.",
    ]
    question = "What is the sum of the cost of the depot at Orrin and the cost of the depot at Velt?"
    found = answer(question, [Passage(page, text) for page, text in enumerate(pages, start=4)])
    assert found is not None
    assert found.text == "2100"
    assert [part.page for part in found.parts] == [4, 6]


def test_a_table_that_runs_over_two_pages_is_one() -> None:
    pages = [
        "Table 2: Wells\nWell\tDepth\nAsk\t12\nBirk\t30\nCald\t44",
        "Table 2: Wells (continued)\nWell\tDepth\nDorn\t51\nEsk\t9\nFarn\t38",
    ]
    assert ask("Which wells have a depth above 35?", *pages) == "['Cald', 'Dorn', 'Farn']"
    assert ask("How many wells have a depth above 35?", *pages) == "3"
    assert ask("Which well has the highest depth?", *pages) == "Dorn"


def test_a_question_in_two_parts_has_two_answers() -> None:
    question = "Which hospital has the most beds? How many nurses does it have?"
    assert ask(question, BEDS) == "['Cedar', '150']"


def test_a_list_has_as_many_items_as_are_asked_for() -> None:
    text = (
        "The work of Corvane has three segments: Digital Media, Digital Marketing and Print and Publishing."
    )
    asked = "What are Corvane's three segments?"
    assert ask(asked, text) == "['Digital Media', 'Digital Marketing', 'Print and Publishing']"


def test_pages_beyond_the_document_are_not_answered() -> None:
    pages = [Passage(1, PAPER)]
    assert answer("How many figures are on page 1?", pages, 4) is not None
    assert answer("How many figures are on pages 100-120?", pages, 4) is None


def test_the_number_of_pages_is_taken_from_the_document() -> None:
    found = answer("How many pages does this document have?", [Passage(1, "Welcome.")], 31)
    assert found is not None
    assert found.text == "31"


def test_the_form_asked_for() -> None:
    assert ask("What is the ratio of beds to nurses of Cedar? Round to one decimal.", BEDS) == "3.4"
    assert ask("How many passengers did the South line have in 2021? Answer as an integer.", YEARS) == "210"
    assert ask("When was the harbour of Brennick opened? Use the format YYYY-MM-DD.", PROSE) == "1911-05-03"


def test_every_candidate_says_where_it_comes_from() -> None:
    found = candidates("How many nurses does Cedar have?", [Passage(7, BEDS), Passage(9, PROSE)])
    assert found
    assert {one.page for one in found} <= {7, 9}
    assert all(one.evidence for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_the_same_pages_give_the_same_candidates() -> None:
    pages = [Passage(1, PROSE), Passage(2, BEDS), Passage(3, RULES)]
    question = "How many beds does the Birch hospital have?"
    assert candidates(question, pages) == candidates(question, pages)
