"""Lists: what is enumerated in sentences, tables, sections and lines, and questions that hold several."""

from __future__ import annotations

import ast

import pytest

from extractive_pages import BEDS, PAPER, YEARS, ask
from looseleaf.memory import WorkingMemory
from looseleaf.models.embedded import EmbeddedReader
from looseleaf.models.extractive import Passage, answer
from looseleaf.models.extractive.listing import Listing
from looseleaf.models.extractive.notes import NoteStyle, findings
from looseleaf.models.extractive.page import read_page
from looseleaf.models.extractive.query import analyse
from looseleaf.models.extractive.running import items_of
from looseleaf.models.extractive.table import read_tables
from looseleaf.models.extractive.turned import turned
from looseleaf.scoring.mmlongbench import score

SHOPS = """Annual report of Corvane Stores
Most of our early clerks came from Orrin, Velt, Tarn Falls, and the Karst Islands.
Alder Mart, Birch & Sons, and Cedar House are among our main retail competitors in Norven.
Cost of repairs primarily consists of wages, spare parts where we keep them in stock, including screws and nails, \
rented cranes and related fees, and fuel, including oil.
The board meets in both Orrin and Velt.
“cold start” and “warm start” are the modes designed for the pump."""

COMPARED = """Table 2: Three stoves side by side
Property\tKamin\tLodra\tMira
Fuel\tWood\tGas\tWood
Mass (kg)\t81\t40\t62
Price (EUR)\t900\t700\t1,200"""

SHARES = """Table 5: Tasks and their share
Task\tShare (%)
Sorting\t40.5
Washing\t20.5
Packing\t20.5
Mending\t18.5"""

SECTIONS = (
    "III. COLLECTING\nA. Nets\nNets are cast.\nIV. COUNTING WHALES\nCounting is slow work.\nA. By eye\nOne looks.",
    "B. By ear\nOne listens.\nC. By drone\nOne flies.\nV. RESULTS\nThere were many.",
)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("red, green and blue", ["red", "green", "blue"]),
        ("red, green, and blue and white", ["red", "green", "blue and white"]),
        ("wages; rent, such as halls; and fuel", ["wages", "rent", "fuel"]),
        ("a saw, a file and a drill", ["saw", "file", "drill"]),
        ("the price of oats, hay and straw", ["the price of oats", "hay", "straw"]),
        ("oats where we sow, including wild ones, hay, and straw", ["oats", "hay", "straw"]),
        ("oats and hay. They grow", ["oats", "hay"]),
        ("oats, we think, and hay", []),
        ("“oats, and hay” are sown", []),
    ],
)
def test_items_of_an_enumeration(text: str, items: list[str]) -> None:
    assert items_of(text) == items


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "Which towns did most of the early clerks come from?",
            "['Orrin', 'Velt', 'Tarn Falls', 'Karst Islands']",
        ),
        (
            "Which companies are among the main retail competitors in Norven?",
            "['Alder Mart', 'Birch & Sons', 'Cedar House']",
        ),
        (
            "What are the components of the cost of repairs?",
            "['wages', 'spare parts', 'rented cranes and related fees', 'fuel']",
        ),
        ("In which places does the board meet?", "['Orrin', 'Velt']"),
        ("Which modes are designed for the pump?", "['cold start', 'warm start']"),
    ],
)
def test_enumerations_in_sentences(question: str, expected: str) -> None:
    assert ask(question, SHOPS) == expected


def test_a_sentence_about_us_need_not_repeat_the_name_or_the_year() -> None:
    question = "What are the components of Corvane's cost of repairs in 2017?"
    pages = [
        SHOPS,
        "Corvane Stores was founded by Nora Vint.",
        "In 2017 Corvane grew.",
        "Corvane sells hats.",
    ]
    expected = "['wages', 'spare parts', 'rented cranes and related fees', 'fuel']"
    assert ask(question, *pages) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which stoves have wood as their fuel?", "['Kamin', 'Mira']"),
        ("Which stove has the highest mass?", "Kamin"),
        ("Which stoves have a price above 800?", "['Kamin', 'Mira']"),
    ],
)
def test_tables_are_read_by_their_columns_too(question: str, expected: str) -> None:
    assert ask(question, COMPARED) == expected


def test_a_table_is_turned_only_where_every_row_and_column_has_a_name_of_its_own() -> None:
    (table,) = read_tables(COMPARED)
    across = turned(table)
    assert across is not None
    assert across.header == ("Property", "Fuel", "Mass (kg)", "Price (EUR)")
    assert [row.label for row in across.rows] == ["Kamin", "Lodra", "Mira"]
    (twice,) = read_tables(COMPARED.replace("Lodra", "Kamin"))
    assert turned(twice) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which tasks have a share of 20.5%?", "['Washing', 'Packing']"),
        ("Which tasks have a share below 21%?", "['Washing', 'Packing', 'Mending']"),
        ("List the two tasks with the highest share, highest first.", "['Sorting', 'Washing']"),
        ("What were the two tasks with the lowest share?", "['Mending', 'Washing']"),
    ],
)
def test_rows_that_meet_a_condition_or_are_the_highest(question: str, expected: str) -> None:
    assert ask(question, SHARES) == expected


def test_labels_of_a_group_lose_their_dash() -> None:
    (table,) = read_tables("Model\tHits\tMisses\n- Plain\t4\t5\n- Guided\t6\t3\nOther\t1\t8")
    assert [row.label for row in table.rows] == ["Plain", "Guided", "Other"]


@pytest.mark.parametrize(
    "question",
    [
        'Which subsections does the section "COUNTING WHALES" include?',
        "List the subsections of Counting Whales.",
    ],
)
def test_sections_go_on_over_pages(question: str) -> None:
    assert ask(question, *SECTIONS) == "['By eye', 'By ear', 'By drone']"


def test_a_section_is_named_by_its_number() -> None:
    assert ask("List all the subsections of Section 2.", PAPER) == "['Recording', 'Filtering', 'Counting']"


def test_the_section_after_the_next_is_no_part() -> None:
    text = "2 Tools\n2.1 Saws\nSharp.\n2.2 Files\nRough.\n3 Wood\n3.1 Oak\nHard.\n3.2 Pine\nSoft."
    assert ask("Which subsections does the section Tools include?", text) == "['Saws', 'Files']"


@pytest.mark.parametrize(
    ("question", "page", "expected"),
    [
        ("Which hospital has the most beds, and how many nurses does it have?", BEDS, "['Cedar', '150']"),
        ("How many beds do Alder and Birch have, respectively?", BEDS, "['310', '270']"),
        ("How many passengers did the South line have in 2020 and in 2021?", YEARS, "['150', '210']"),
        ("How many passengers did the South line have in 2019 and 2021?", YEARS, "['300', '210']"),
    ],
)
def test_questions_that_ask_for_several_things(question: str, page: str, expected: str) -> None:
    assert ask(question, page) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Was the number of beds of Cedar higher or lower than the number of beds of Elm?", "higher"),
        (
            "Was the number of beds of Elm higher or lower than that of Cedar? What is the difference?",
            "['lower', '211']",
        ),
    ],
)
def test_which_of_two_is_higher_and_by_how_much(question: str, expected: str) -> None:
    assert ask(question, BEDS) == expected


def test_titles_are_those_that_stand_behind_their_number() -> None:
    text = "UNIT 3: Reaping\nUnit 3 & 4 team task: build a rake.\nUNIT 4: Storing\nUnit 4 key task: dry hay."
    assert ask("What are the titles of Unit 3 and Unit 4?", text) == "['Reaping', 'Storing']"


def test_a_code_has_the_text_of_its_own_cell() -> None:
    text = "Errors of the boiler\nNumber\tError\tAction\n88\tPump stuck\tPull the plug and\nwait an hour"
    assert ask("What is the error with the number 88?", text) == "Pump stuck"


def test_authors_with_marks_on_several_lines() -> None:
    text = (
        "A Study of Quays\nInes Aldran∗1,2 Tomas Beck3\nWanda Crule2\nUniversity of Falworth\nWe study quays."
    )
    assert ask("Who are the authors of the paper?", text) == "['Ines Aldran', 'Tomas Beck', 'Wanda Crule']"
    assert ask("Who are the first two authors of the paper?", text) == "['Ines Aldran', 'Tomas Beck']"
    assert ask("How many authors does the paper have?", text) == "3"


def test_items_may_stand_behind_a_text_and_carry_remarks() -> None:
    text = (
        "Contents of the parcel\nCheck that no item is missing before you throw the parcel away.\n"
        "Copper lid (1)\nFelt ring (40 mm (1.6 in.)) (2)\nIron base (1)\n"
        "Write to the maker if something is missing from the parcel."
    )
    assert ask("What are the contents of the parcel?", text) == "['Copper lid', 'Felt ring', 'Iron base']"
    assert ask("How many items are included in the parcel?", text) == "3"


@pytest.mark.parametrize(
    ("question", "listed"),
    [
        ("Which warehouse clubs does the chain compete with?", True),
        ("In which years was the harvest above 40?", True),
        ("What temperature sensors are shown?", True),
        ("Which people signed?", True),
        ("What does the sum consist of?", True),
        ("Which method integrates knowledge into models?", False),
        ("Which country imports wheat?", False),
        ("Which series has the highest value?", False),
        ("What happens if the lamp blinks?", False),
        ("What were total long-term liabilities in 2022?", False),
    ],
)
def test_wordings_that_ask_for_several_things(question: str, listed: bool) -> None:
    assert analyse(question).form.listed is listed


def test_the_number_of_things_asked_for_is_no_term() -> None:
    query = analyse("What are the three segments of Corvane?")
    assert query.wanted == 3
    assert query.terms["three"] < 1.0


def test_authors_who_do_something_are_not_asked_for() -> None:
    assert analyse("In which settings do the authors test it?").kind != "person"
    assert analyse("Who are the authors of the report?").kind == "person"


def test_sentences_end_at_footnotes_and_before_plain_openings() -> None:
    model = read_page("They came from Velt.26 Later they left for the U.S. We saw them off.")
    assert [one.text for one in model.sentences] == [
        "They came from Velt.",
        "Later they left for the U.S.",
        "We saw them off.",
    ]


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("Which companies are among the main retail competitors in Norven?", SHOPS),
        ("What are the components of the cost of repairs?", SHOPS),
        ("Which stoves have wood as their fuel?", COMPARED),
        ("Which tasks have a share of 20.5%?", SHARES),
        ("How many beds do Alder and Birch have, respectively?", BEDS),
        ("How many passengers did the South line have in 2020 and in 2021?", YEARS),
        ("Was the number of beds of Elm higher or lower than that of Cedar? What is the difference?", BEDS),
    ],
)
def test_the_memory_holds_the_list_and_the_scorer_parses_it(question: str, page: str) -> None:
    best = answer(question, [Passage(3, page)])
    assert best is not None
    items = ast.literal_eval(best.text)
    assert len(items) > 1
    assert score(repr(items), best.text, "List").value == 1.0
    memory = WorkingMemory()
    while new := findings(question, best, tuple(memory), NoteStyle.SPECIFIC):
        memory = WorkingMemory([*memory, new[0]])
    assert EmbeddedReader().read(question, memory).text == best.text


def test_the_evidence_of_a_listing_states_its_items() -> None:
    listing = Listing(1, ("oats", "hay"), "We sow:", 0.8, "inline")
    assert listing.evidence == "We sow: oats; hay"


@pytest.mark.parametrize(
    "question",
    [
        "Which companies are among the main wholesale suppliers in Tarn?",
        "What are the components of the cost of heating?",
        "Which stoves have coal as their fuel?",
        "Which tasks have a share of 33.3%?",
    ],
)
def test_lists_that_the_page_does_not_hold_are_refused(question: str) -> None:
    assert ask(question, SHOPS, COMPARED, SHARES) is None
