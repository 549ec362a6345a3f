"""When the extractor says nothing: missing names, years, things, and questions without pages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractive_pages import BEDS, CHART, PAPER, PROSE, RULES, STATEMENT, YEARS, ask
from looseleaf.models.extractive import Passage, answer, candidates

WORDS = [
    *[
        "what",
        "which",
        "how",
        "many",
        "list",
        "is",
        "the",
        "of",
        "in",
        "and",
        "between",
        "difference",
        "sum",
        "ratio",
    ],
    *[
        "2021",
        "300",
        "percent",
        "highest",
        "than",
        "above",
        "first",
        "three",
        "or",
        "total",
        "to",
        "page",
        "2",
        "?",
    ],
    *["Cedar", "beds", "nurses", "harbour", "rules", "Table", "3", "F1", "LSTM", '"owner"', ","],
]
PAGES = [PROSE, BEDS, YEARS, CHART, RULES, PAPER, STATEMENT]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many nurses does Fir have?", BEDS),
        ("How many doctors does Cedar have?", BEDS),
        ("Which hospital has the most doctors?", BEDS),
        ("How many passengers did the West line have in 2020?", YEARS),
        ("How many passengers did the South line have in 2017?", YEARS),
        ("When was the harbour of Tolmere opened?", PROSE),
        ("Who is the lighthouse keeper of Brennick?", PROSE),
        ("What percentage of the ships carried bananas in 2021?", PROSE),
        ("What percentage of the people asked have the monsoon as their favourite season?", CHART),
        ("Who is the canteen's caterer?", RULES),
        ("What F1 does the BERT model reach?", PAPER),
        ("What is the gross margin in 2019?", STATEMENT),
        ("What is the title of Figure 9?", PAPER),
        ("What does QZX stand for?", PAPER),
    ],
)
def test_what_is_not_there_is_not_answered(question: str, text: str) -> None:
    assert ask(question, text) is None


@pytest.mark.parametrize(
    "question",
    [
        "How many nurses does Cedar have?",
        "What are the three rules?",
        "Is the sky above 5 km high? Answer Yes or No.",
        "What is the difference between 7 and 5?",
        "Which is larger, 7 or 5?",
        "What is the capital of France?",
    ],
)
def test_no_pages_no_answer(question: str) -> None:
    assert answer(question, ()) is None
    assert ask(question, "") is None
    assert ask(question, "\n \n") is None


def test_another_thing_with_the_same_noun_does_not_answer() -> None:
    text = "The left plunger must be replaced after 1,200 operating hours."
    assert ask("After how many operating hours must the left plunger be replaced?", text) == "1200"
    assert ask("After how many operating hours must the right plunger be replaced?", text) is None


def test_another_year_does_not_answer() -> None:
    table = "Table 1: Output of the wells, 2003\nWell\tOutput\nAsk\t12\nBirk\t30\nCald\t44"
    assert ask("What was the output of Birk in 2003?", table) == "30"
    assert ask("What was the output of Birk in 2008?", table) is None


def test_the_right_page_among_look_alikes() -> None:
    pages = [
        f"Table {n}: Output of the wells, {2000 + n}\nWell\tOutput\nAsk\t{n}1\nBirk\t{n}2"
        for n in range(1, 6)
    ]
    assert ask("What was the output of Birk in 2004?", *pages) == "42"
    assert ask("What was the output of Birk in 2009?", *pages) is None


@settings(max_examples=150, deadline=None)
@given(question=st.text(max_size=120), text=st.text(max_size=400))
def test_any_text_is_read_without_an_exception(question: str, text: str) -> None:
    found = answer(question, [Passage(1, text)])
    assert found is None or (found.page == 1 and found.text)


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(WORDS),
        max_size=14,
    ),
    page=st.sampled_from(PAGES),
)
def test_any_question_is_answered_or_not_without_an_exception(words: list[str], page: str) -> None:
    for one in candidates(" ".join(words), [Passage(2, page), Passage(5, PROSE)]):
        assert one.page in {2, 5}
        assert one.text
        assert one.score >= 0.0
