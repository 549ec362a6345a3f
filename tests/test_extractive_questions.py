"""How a question is taken apart: kind of answer, operation, form, names, pages, parts."""

from __future__ import annotations

import pytest

from looseleaf.models.extractive.conditions import condition_of
from looseleaf.models.extractive.kinds import Kind, Operation
from looseleaf.models.extractive.measures import measure_of
from looseleaf.models.extractive.operands import listed_phrases, operands_of
from looseleaf.models.extractive.query import analyse


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many ships are there?", Kind.COUNT),
        ("What number of ships called?", Kind.COUNT),
        ("What is the total number of ships?", Kind.COUNT),
        ("What is the number of the grant from Orrin?", Kind.IDENTIFIER),
        ("What percentage of ships carried timber?", Kind.PERCENT),
        ("How much did the crane cost?", Kind.MONEY),
        ("How long does the trip take?", Kind.DURATION),
        ("How high is the tower?", Kind.NUMBER),
        ("What was the output in 2021? Answer in millions.", Kind.NUMBER),
        ("When was it opened?", Kind.DATE),
        ("On which day was it opened?", Kind.DATE),
        ("In which year was it opened?", Kind.YEAR),
        ("In what month was it opened?", Kind.MONTH),
        ("At what time does it open?", Kind.TIME),
        ("Who opened it?", Kind.PERSON),
        ("To whom was it sold?", Kind.PERSON),
        ("Where was it built?", Kind.PLACE),
        ("What color is the quay?", Kind.COLOR),
        ("What is the website of the harbour?", Kind.URL),
        ("What is the e-mail of the harbour?", Kind.EMAIL),
        ("What is the phone number of the harbour?", Kind.PHONE),
        ("On which page is the map?", Kind.PAGE),
        ("What is the title of the section?", Kind.TITLE),
        ("Is the quay green?", Kind.YES_NO),
        ("Which is longer, the quay or the pier?", Kind.CHOICE),
        ("Which material was used?", Kind.TEXT),
    ],
)
def test_the_kind_of_answer(question: str, kind: Kind) -> None:
    assert analyse(question).kind is kind


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("What is the output?", Operation.LOOKUP),
        ("What is the difference between A and B?", Operation.DIFFERENCE),
        ("How many more ships came in 2020 than in 2019?", Operation.DIFFERENCE),
        ("What is the percentage change from 2019 to 2020?", Operation.CHANGE),
        ("What is the ratio of ships to boats?", Operation.RATIO),
        ("What is the sum of A and B?", Operation.SUM),
        ("What is the average of A and B?", Operation.AVERAGE),
        ("Which ship is the largest?", Operation.MAXIMUM),
        ("Which ship has the fewest decks?", Operation.MINIMUM),
    ],
)
def test_the_operation(question: str, operation: Operation) -> None:
    assert analyse(question).operation is operation


def test_instructions_are_no_part_of_the_question() -> None:
    query = analyse("What is the ratio of ships to boats? Round to two decimals. Answer in millions.")
    assert query.text == "What is the ratio of ships to boats?"
    assert query.form.decimals == 2
    assert query.form.scale == 1e6
    assert "decim" not in query.terms


@pytest.mark.parametrize(
    ("question", "listed"),
    [
        ("What are the three rules?", True),
        ("Which hospitals have more than 300 beds?", True),
        ("List the rules.", True),
        ("Which hospital has the most beds? How many nurses does it have?", True),
        ("Which hospital has the most beds?", False),
        ("What is the second rule?", False),
    ],
)
def test_whether_a_list_is_asked_for(question: str, listed: bool) -> None:
    assert analyse(question).form.listed is listed


def test_order_date_and_options() -> None:
    assert analyse("List the rules in alphabetical order.").form.order == "alphabetical"
    assert analyse("When was it opened? Write it as DD/MM/YYYY.").form.date == "DD/MM/YYYY"
    assert analyse("Is it green? Answer 'yes' or 'no'.").options == ("yes", "no")
    assert analyse("Is the quay longer in Brennick or Tolmere?").options == ("Brennick", "Tolmere")


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("What is on page 5?", (5,)),
        ("How many figures are on pages 3 to 5?", (3, 4, 5)),
        ("What is on slides 2 and 7?", (2, 7)),
        ("What is on the second page?", (2,)),
        ("What is shown on the cover?", (1,)),
        ("What is on the quay?", ()),
    ],
)
def test_pages_that_a_question_names(question: str, pages: tuple[int, ...]) -> None:
    assert analyse(question).pages == pages


def test_names_quotes_years_numbers_and_labels() -> None:
    query = analyse("According to Table 3, how did 'net speed' of the Kamin K7 change after 2019 by 12%?")
    assert set(query.names) >= {"Kamin", "K7"}
    assert query.quotes == ("net speed",)
    assert query.years == (2019,)
    assert "12" in query.numbers
    assert query.labels == (("table", 3),)


def test_words_that_start_a_question_are_no_names() -> None:
    for question in ("After how many hours?", "Add the two figures.", "Comparing both, which is larger?"):
        assert analyse(question).names == ()


def test_names_weigh_more_than_words_and_words_more_than_generic_ones() -> None:
    terms = analyse("What number of wells does the Norven report mention?").terms
    assert terms["norven"] > terms["well"] > terms["report"]


@pytest.mark.parametrize(
    ("question", "value", "outside"),
    [
        ("Which wells have a depth above 35 m?", 36.0, 35.0),
        ("Which wells have at least 35 visitors?", 35.0, 34.0),
        ("How many wells have fewer than 35 visitors?", 34.0, 35.0),
        ("How many wells have no more than 1,200 visitors?", 1200.0, 1201.0),
        ("Which well has exactly 35 visitors?", 35.0, 36.0),
    ],
)
def test_conditions(question: str, value: float, outside: float) -> None:
    condition = condition_of(question)
    assert condition is not None
    assert condition.holds(value, condition.limit)
    assert not condition.holds(outside, condition.limit)


def test_a_limit_is_no_number_that_pages_must_hold() -> None:
    assert analyse("Which wells have a depth above 35 m?").numbers == ()
    assert analyse("What are the 3 largest wells?").numbers == ()


@pytest.mark.parametrize(
    ("question", "operation", "phrases"),
    [
        (
            "What is the difference between the mass of the lid and the mass of the base?",
            Operation.DIFFERENCE,
            ("the mass of the lid", "the mass of the base"),
        ),
        (
            "By how much does the mass of the lid differ from that of the base for the K7?",
            Operation.DIFFERENCE,
            ("the mass of the lid for the K7", "the mass of the base for the K7"),
        ),
        (
            "By what percentage does the output of Birk in 2004 differ from its output in 1998?",
            Operation.CHANGE,
            ("output in 1998 of Birk", "the output of Birk in 2004"),
        ),
        (
            "By how much does the rain at Birk differ between March and May?",
            Operation.DIFFERENCE,
            ("the rain at Birk for March", "the rain at Birk for May"),
        ),
        (
            "Add up the price of the K7 in 2002, in 2003 and in 2005. What is the sum?",
            Operation.SUM,
            ("the price of the K7 in 2002", "the price of the K7 in 2003", "the price of the K7 in 2005"),
        ),
        (
            "What is the average depth of Ask and Birk in the Norven district?",
            Operation.AVERAGE,
            ("depth of Ask in the Norven district", "depth of Birk in the Norven district"),
        ),
        (
            "What is the ratio of beds to nurses of Cedar?",
            Operation.RATIO,
            ("beds of Cedar", "nurses of Cedar"),
        ),
    ],
)
def test_operands(question: str, operation: Operation, phrases: tuple[str, ...]) -> None:
    found = list(operands_of(analyse(question).text))
    assert found
    assert found[0].operation is operation
    assert found[0].phrases == phrases


def test_phrases_of_a_list() -> None:
    assert listed_phrases("List the depth of Ask in 2001 and in 2004, in this order.") == (
        "the depth of Ask in 2001",
        "the depth of Ask in 2004",
    )
    assert listed_phrases("List the rules.") == ()


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What is the EBITDA margin in FY2020?", "EBITDA margin"),
        ("What is the DPO for FY2020?", "days payable outstanding"),
        ("What is the operating cash flow to current liabilities in 2020?", None),
        ("What is the cash conversion cycle in 2020?", "cash conversion cycle"),
        ("What is the quick ratio in 2020?", "quick ratio"),
    ],
)
def test_measures(question: str, name: str | None) -> None:
    found = measure_of(analyse(question))
    assert found is not None
    assert name is None or found.name == name


def test_a_measure_needs_a_year() -> None:
    assert measure_of(analyse("What is the quick ratio?")) is None
    assert measure_of(analyse("What is the ratio of men to women in 2020?")) is None


def test_the_same_question_is_taken_apart_the_same() -> None:
    question = "Which hospitals have more than 300 beds?"
    assert analyse(question) == analyse(question)
