"""Whether a text says an answer, and taking it out."""

from __future__ import annotations

import pytest

from fakes import make_question
from looseleaf.lab.echo import EchoLevel, answer_items, echo_level, references_level, says_whole
from looseleaf.lab.variants import without_answer
from looseleaf.memory import Finding

CASES = [
    ("The rate is 4.7 % in Oslo.", "4.7", EchoLevel.EXACT),
    ("The rate is 4.7 %.", "4.7%", EchoLevel.NORMALISED),
    ("Revenue came to 1,234 units.", "1234", EchoLevel.NORMALISED),
    ("It is led by bodo karst-hus.", "Bodo Karst Hus", EchoLevel.NORMALISED),
    ("Revenue was 4,700,000 dollars.", "4.7 million", EchoLevel.NUMERIC),
    ("There are three teams.", "3", EchoLevel.NUMERIC),
    ("The share was 45%.", "0.45", EchoLevel.NUMERIC),
    ("It opened on 5 March 2019.", "March 5, 2019", EchoLevel.PARAPHRASE),
    ("Sales of electric cars grew.", "electric car sales", EchoLevel.PARAPHRASE),
    ("There are 13 teams.", "3", EchoLevel.NONE),
    ("It opened in Jul 2014.", "August 2014", EchoLevel.NONE),
    ("The fund grew.", "fun", EchoLevel.NONE),
    ("Red and blue flags.", "['Red', 'Blue']", EchoLevel.NORMALISED),
    ("Red flags only.", "['Red', 'Blue']", EchoLevel.NONE),
    ("Nothing was found.", "Not answerable", EchoLevel.NONE),
    ("", "7", EchoLevel.NONE),
]


@pytest.mark.parametrize(("text", "answer", "level"), CASES)
def test_levels(text: str, answer: str, level: EchoLevel) -> None:
    assert echo_level([text], answer) is level


def test_an_answer_must_stand_in_one_finding() -> None:
    assert echo_level(["Bodo leads it.", "Karst is near."], "Bodo Karst") is EchoLevel.NONE


def test_the_least_literal_item_counts_for_a_list_and_the_best_reference_for_several() -> None:
    assert echo_level(["3 teams, 4.7 million euros"], ["3", "4700000"]) is EchoLevel.NUMERIC
    question = make_question(references=("oak", "4.7 million"))
    assert references_level(["It cost 4,700,000."], question) is EchoLevel.NUMERIC


@pytest.mark.parametrize(
    ("text", "answer", "held"),
    [
        ("They chose: RED, blue!", "['red', 'blue']", True),
        ("They chose red and then blue.", "['red', 'blue']", False),
        ("Bodo   Karst.", "bodo karst", True),
        ("45", "4", False),
    ],
)
def test_the_filter_of_the_paper_wants_the_whole_string(text: str, answer: str, held: bool) -> None:
    assert says_whole([text], answer) is held


def test_items_of_answers() -> None:
    assert answer_items("['a, b', 'c']") == ("a, b", "c")
    assert answer_items([3, "", "x"]) == ("3", "x")
    assert answer_items("Not answerable") == ()
    assert answer_items("  ") == ()


@pytest.mark.parametrize(
    ("text", "items", "left"),
    [
        ("The rate is 4.7 % (4.7 percent).", ["4.7%"], "The rate is … (…)."),
        ("It cost 4,700,000 dollars.", ["4.7 million"], "It cost … dollars."),
        ("Red, blue and red.", ["Red", "Blue"], "…, … and …."),
        ("Nothing of it.", ["7"], "Nothing of it."),
        ("13 and 3", ["3"], "13 and …"),
    ],
)
def test_taking_an_answer_out(text: str, items: list[str], left: str) -> None:
    memory = without_answer([Finding(text, 4)], items)
    assert memory.findings == (Finding(left, 4),)
    assert all(echo_level([left], item) in (EchoLevel.NONE, EchoLevel.PARAPHRASE) for item in items)
