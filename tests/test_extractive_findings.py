"""Findings: what the three styles write, and what the reader makes of them."""

from __future__ import annotations

import pytest

from extractive_pages import BEDS, PROSE, RULES, STATEMENT, YEARS
from looseleaf.memory import MAX_FINDING_WORDS, Finding, WorkingMemory
from looseleaf.models.embedded import EmbeddedReader
from looseleaf.models.extractive import Passage, answer
from looseleaf.models.extractive.notes import NoteStyle, clip, findings, subject
from looseleaf.question import NOT_ANSWERABLE

QUESTIONS = [
    ("How many nurses does Cedar have?", BEDS),
    ("Which hospital has the most beds?", BEDS),
    ("Which hospitals have more than 300 beds?", BEDS),
    ("How many passengers did the South line have in 2020?", YEARS),
    ("When was the harbour of Brennick opened?", PROSE),
    ("What percentage of the ships carried timber?", PROSE),
    ("What are the three rules that readers must follow?", RULES),
    ("What is the room number of the reading room?", RULES),
    ("What is the current ratio for FY2021? Round to two decimals.", STATEMENT),
]


def notes(question: str, text: str, style: NoteStyle) -> list[Finding]:
    """All findings that a policy of this style would write about one page."""
    best = answer(question, [Passage(4, text)])
    assert best is not None
    written: list[Finding] = []
    while new := findings(question, best, written, style):
        written.append(new[0])
    return written


@pytest.mark.parametrize(("question", "text"), QUESTIONS)
@pytest.mark.parametrize("style", NoteStyle)
def test_findings_are_short_and_cite_their_page(question: str, text: str, style: NoteStyle) -> None:
    written = notes(question, text, style)
    assert written
    assert all(finding.words <= MAX_FINDING_WORDS and finding.source_page == 4 for finding in written)


@pytest.mark.parametrize(("question", "text"), QUESTIONS)
def test_specific_findings_give_the_reader_the_answer(question: str, text: str) -> None:
    best = answer(question, [Passage(4, text)])
    memory = WorkingMemory(notes(question, text, NoteStyle.SPECIFIC))
    assert best is not None
    assert EmbeddedReader().read(question, memory).text == best.text


@pytest.mark.parametrize(("question", "text"), QUESTIONS)
def test_generic_findings_give_the_reader_nothing(question: str, text: str) -> None:
    memory = WorkingMemory(notes(question, text, NoteStyle.GENERIC))
    assert EmbeddedReader().read(question, memory).text == NOT_ANSWERABLE


def test_echo_is_nothing_but_the_answer() -> None:
    assert notes("How many nurses does Cedar have?", BEDS, NoteStyle.ECHO) == [Finding("150", 4)]


def test_evidence_from_several_pages_is_noted_page_by_page() -> None:
    pages = [
        Passage(4, "The depot at Orrin cost 1,200 euros to paint."),
        Passage(6, "The depot at Velt cost 900 euros to paint."),
    ]
    question = "What is the sum of the cost of the depot at Orrin and the cost of the depot at Velt?"
    best = answer(question, pages)
    assert best is not None
    written = findings(question, best, [], NoteStyle.SPECIFIC)
    assert [finding.source_page for finding in written] == [4, 6]
    assert EmbeddedReader().read(question, WorkingMemory(written)).text == "2100"


@pytest.mark.parametrize("question", [question for question, _ in QUESTIONS])
def test_an_empty_memory_answers_nothing(question: str) -> None:
    assert EmbeddedReader().read(question, WorkingMemory()).text == NOT_ANSWERABLE


@pytest.mark.parametrize(
    "text",
    [
        "Nothing found here that answers.",
        "The page has a table about the beds of hospitals.",
        "Alder, Nurses: 95",
        "Cedar is a hospital in the Norven district.",
    ],
)
def test_findings_about_something_else_answer_nothing(text: str) -> None:
    memory = WorkingMemory([Finding(text, 1)])
    assert EmbeddedReader().read("How many nurses does Cedar have?", memory).text == NOT_ANSWERABLE


def test_the_reader_tells_apart_what_one_finding_changes() -> None:
    question = "How many nurses does Cedar have?"
    for value in ("150", "151", "9"):
        memory = WorkingMemory([Finding("Birch, Nurses: 80", 1), Finding(f"Cedar, Nurses: {value}", 1)])
        assert EmbeddedReader().read(question, memory).text == value


def test_long_findings_are_cut_around_the_answer() -> None:
    text = " ".join(f"w{n}" for n in range(100))
    assert clip(text) == " ".join(f"w{n}" for n in range(MAX_FINDING_WORDS))
    assert "w70" in clip(text, "w70")
    assert len(clip(text, "w99").split()) == MAX_FINDING_WORDS


def test_the_subject_of_a_question() -> None:
    assert subject("What is the depth of Birk? Round to one decimal.") == "depth of Birk"
    assert subject("How many ships came?") == "ships came"
