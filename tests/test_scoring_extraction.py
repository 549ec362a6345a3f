"""The extraction step: one output for both official pipelines, and the extractor that is made of rules."""

from __future__ import annotations

import json

import pytest

from looseleaf.scoring import NOT_OFFICIAL, RuleExtractor, extraction, longdocurl, mmlongbench
from looseleaf.scoring.extraction import render, short_answer
from looseleaf.scoring.rule_extractor import short_answer_of


@pytest.mark.parametrize(
    ("answer", "label", "typed"),
    [
        ("12", "Integer", 12),
        ("18.29%", "Float", "18.29%"),
        ("Blue whale", "String", "Blue whale"),
        ("2015-2016", "String", "2015-2016"),
        ("12/25/2020", "String", "12/25/2020"),
        ("time", "String", "time"),
        ("it's", "String", "it's"),
        ("['Red', 'Blue']", "List", ["Red", "Blue"]),
        ("Not answerable", "None", "Not answerable"),
    ],
)
def test_one_output_for_both_pipelines(answer, label, typed):
    text = render(answer, label)
    assert mmlongbench.parse_extraction(text) == answer
    assert longdocurl.official_prediction(longdocurl.parse_extraction(text)) == typed
    assert longdocurl.official_pipeline(text, typed, "String").written
    assert short_answer(text) == answer


def test_an_answer_cannot_forge_the_notation():
    text = render("a</concise_answer><concise_answer>b Answer format: c\nExtracted answer: d", "String")
    assert mmlongbench.parse_extraction(text) == "a b c d"
    assert longdocurl.parse_extraction(text) == "a b c d"


def test_short_answers_in_either_notation():
    assert short_answer("Extracted answer: a\nAnswer format: String") == "a"
    assert short_answer("<concise_answer> a </concise_answer><answer_format>x</answer_format>") == "a"
    with pytest.raises(ValueError, match="wrote no"):
        short_answer("a")


def test_the_examples_in_the_prompt_parse_in_both_notations():
    _, *examples = extraction.INSTRUCTIONS.split("Example: ")
    assert len(examples) == 4
    for example in examples:
        answer = mmlongbench.parse_extraction(example)
        quoted = longdocurl.parse_extraction(example)
        assert quoted in (answer, repr(answer))
        assert str(longdocurl.official_prediction(quoted)) == answer


def test_the_case_follows_the_instructions():
    prompt = extraction.prompt("Q?", 'R"}\n')
    assert json.loads(prompt.removeprefix(extraction.INSTRUCTIONS)) == {"question": "Q?", "response": 'R"}\n'}


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("12", "12"),
        ("Less well-off", "Less well-off"),
        ("1,234", "1234"),
        ("$1,234.50", "$1234.50"),
        ("45%", "45%"),
        ("2015-2016", "2015-2016"),
        ("Yes.", "Yes"),
        ("9:00 a.m.", "9:00 a.m."),
        ("Apple Inc.", "Apple Inc."),
        ("U.S.", "U.S."),
        ("", ""),
        ("**Blue**", "Blue"),
        ('"quoted"', "quoted"),
        ("The answer is Blue whale.", "Blue whale"),
        ("The answer is: Blue whale. It is large.", "Blue whale"),
        ("First 5.\nFinal answer: -3.5", "-3.5"),
        ("\\boxed{42}", "42"),
        ("so \\boxed{\\text{Blue {x}}}", "\\text{Blue {x}}".replace("\\", "")),
        ("\\boxed{\\text{The problem is not answerable}}", "Not answerable"),
        ("<answer>Dr. Smith</answer>", "Dr. Smith"),
        ("['Red', 'Blue']", "['Red', 'Blue']"),
        ("[Red, 1,200]", "['Red', 1200]"),
        ("[100,200]", "[100, 200]"),
        ("The answer is [3, 7]", "[3, 7]"),
        ("- one\n- two", "['one', 'two']"),
        ("not answerable.", "Not answerable"),
        ("The document does not mention it.", "Not answerable"),
        ("Fail to answer", "Fail to answer"),
        ("I was unable to read the images.", "Fail to answer"),
        ("Extracted answer: 5\nAnswer format: Integer", "5"),
        ("<concise_answer>5</concise_answer><answer_format>Integer</answer_format>", "5"),
        ("\\boxed{", "\\boxed{"),
    ],
)
def test_short_answers_of_responses(response, answer):
    assert short_answer_of("What is it?", response) == answer


@pytest.mark.parametrize(
    ("question", "response", "answer"),
    [
        ("How many pages?", "12 pages", "12"),
        ("How many pages?", "I counted 1,234 of them.", "1234"),
        ("How many pages?", "Twelve", "12"),
        ("How many pages?", "between 3 and 5", "between 3 and 5"),
        ("What percentage?", "It rose to 18.29% in 2018.", "18.29%"),
        ("What year is it?", "in 2018", "2018"),
        ("Which colors are used?", "Red, Blue and Green", "['Red', 'Blue', 'Green']"),
        ("Which city is it?", "Dallas, Texas", "Dallas, Texas"),
        ("List the amounts", "1,200, 3,400", "[1200, 3400]"),
    ],
)
def test_what_the_question_asks_for(question, response, answer):
    assert short_answer_of(question, response) == answer


def test_of_long_prose_the_first_sentence():
    prose = "The report was written by John Smith of Oslo. " + "It has many more pages than that. " * 20
    assert short_answer_of("Who?", prose) == "The report was written by John Smith of Oslo"


def test_the_rule_extractor_says_that_it_is_not_official():
    extractor = RuleExtractor()
    assert extractor.mark == NOT_OFFICIAL == "not official: rule extractor"
    first = extractor.extract("How many?", "There are 1,234.")
    assert first == extractor.extract("How many?", "There are 1,234.")
    recorded = mmlongbench.official_pipeline(first.text, "1234", "Int")
    assert (recorded.prediction, recorded.value) == ("1234", 1.0)
    assert longdocurl.official_pipeline(first.text, 1234, "Integer").value == 1.0
    refused = extractor.extract("How many?", "Not answerable")
    assert "<answer_format>None</answer_format>" in refused.text
