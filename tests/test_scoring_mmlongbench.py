"""The official rule of MMLongBench-Doc, quirk by quirk as its docstring numbers them."""

from __future__ import annotations

import pytest

from looseleaf.errors import DataError
from looseleaf.scoring import mmlongbench
from looseleaf.scoring.mmlongbench import PipelineResult, clean, score

NA = "Not answerable"


def value(gold, prediction, answer_format):
    scored = score(gold, prediction, answer_format)
    assert scored.upstream_raises is None
    return scored.value


def raised(gold, prediction, answer_format):
    scored = score(gold, prediction, answer_format)
    assert scored.value == 0.0
    return scored.upstream_raises


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  A (b) C ", "a c"),
        ("a ((b) c", "a c"),
        ("a (b (c) d) e", "a d) e"),
        ("a (b", "a (b"),
        ("(x)", ""),
        ("'a", "a"),
        ("\"a'", "a"),
        ("''a''", "'a'"),
        ("$$ 5 %%", "5"),
        ("% 5 $", "% 5 $"),
        ("1,000 Miles", "1,000 miles"),
        ("İ", "i̇"),
        (None, "none"),
        ([1, "a"], "[1, 'a']"),
    ],
)
def test_1_cleaning(text, cleaned):
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("3", "3.9", 1.0),
        ("3", "-3.9", 0.0),
        ("1000", "1_000", 1.0),
        ("12", "１２", 1.0),
        ("12", "١٢", 1.0),
        ("3", "3%", 0.0),
        ("3", "$3", 0.0),
        ("1000", "1,000", 0.0),
        (" 3\n", "3e0", 1.0),
        ("3.0", "3", 0.0),
        ("", "no number", 1.0),
        ("", "inf", 1.0),
        (True, "1", 1.0),
        ("1", True, 1.0),
        ([], "", 0.0),
    ],
)
def test_2_int(gold, prediction, expected):
    assert value(gold, prediction, "Int") == expected


def test_2_int_of_an_integer_too_long_to_read():
    assert value("1", "9" * 5000, "Int") == 0.0
    assert value(10**5000, 10**5000, "Int") == 0.0  # float() overflows on the prediction's side


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("1", "100", 1.0),
        ("1", "0.01", 1.0),
        ("2018", "2000", 1.0),
        ("0", "0.004", 1.0),
        ("18.29%", "18.47 (rounded)", 1.0),
        ("18.29%", "18.48", 0.0),
        ("$3.50", "3.50$", 0.0),
        ("inf", "infinity", 1.0),
        ("nan", "nan", 0.0),
        ("5", "", 0.0),
        ("5", [5], 0.0),
        ("1e308", "1e308", 1.0),
    ],
)
def test_3_float(gold, prediction, expected):
    assert value(gold, prediction, "Float") == expected


@pytest.mark.parametrize("gold", ["1,200.5", "3.5 million", "", "N/A", None])
def test_3_float_gold_that_is_no_number_raises(gold):
    assert raised(gold, "1", "Float") == "ValueError"


def test_3_float_gold_too_long_to_print_raises():
    assert raised(10**5000, "1", "Float") == "ValueError"


def test_3_float_gold_is_read_again_without_cleaning():
    # Cleaning takes the quotation mark and leaves "5 '"; the raw text is no number either.
    assert raised("'5 ''", "5", "Float") == "ValueError"


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("abcd", "abxx", 0.0),
        ("abcd", "abcx", 0.75),
        ("straße", "strasse", 1 - 2 / 7),
        ("page 1", "page 2", 0.0),
        ("2015-2016", "2015-2017", 0.0),
        ("(only)", "", 1.0),
        ("a", None, 0.0),
        (None, "None", 1.0),
    ],
)
def test_4_text(gold, prediction, expected):
    assert value(gold, prediction, "Str") == value(gold, prediction, "None") == expected


@pytest.mark.parametrize("label", ["List", "Integer", "String", "", "int", "Multiple"])
def test_5_every_other_label_is_a_list(label):
    assert value("12", "[12]", label) == 1.0
    assert value("12", "12.0", label) == 0.0


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("[3-1, 2]", "[2, 2]", 1.0),
        ("['a']", " ['a']", 0.0),
        ("['a', 'b']", "['a'] + ['b']", 1.0),
        ("['a', 'a']", "['a'] * 2", 1.0),
        ("5", "[4, 5][1]", 1.0),
        ("['a', 'b']", "['a'], ['b']", 0.0),
        ("['a']", "['a'] == ['a']", 0.0),
        ("true", "[1] == [1]", 1.0),
        ("<class 'list'>", "[list]", 1.0),
        ("['a', 'b']", "[*'ba']", 1.0),
    ],
)
def test_5_what_eval_makes_of_bracketed_text(gold, prediction, expected):
    assert value(gold, prediction, "List") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("prediction", "error"),
    [
        ("[Red, Blue]", "NameError"),
        ("[Red wine]", "SyntaxError"),
        ("['a', 'b'", "SyntaxError"),
        ("['a'] (two)", "NameError"),
        ("['a'] (2)", "TypeError"),
        ("[1/0]", "ZeroDivisionError"),
        ("['a'][1]", "IndexError"),
        ("[10**5000]", "ValueError"),
        ("[\0]", "ValueError"),
        ("['\ud800']", "UnicodeEncodeError"),
    ],
)
def test_5_what_eval_refuses_raises(prediction, error):
    assert raised("['a']", prediction, "List") == error


@pytest.mark.parametrize(
    "prediction",
    ["[max(1, 2)]", "[gt]", "[*gt]", "[x for x in [1]]", "[__import__('os').system('true')]", "[9**9**9]"],
)
def test_5_what_would_have_to_be_run_is_flagged_and_scores_0(prediction):
    assert value("['a']", prediction, "List") == 0.0
    assert mmlongbench.flags("['a']", prediction, "List")
    assert mmlongbench.flags("['a']", prediction, "Str") == ()


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("['apple', 'banana']", "['banana', 'apple']", 1.0),
        ("['apple', 'banana']", "['apple']", 0.0),
        ("['apple', 'banana']", "['zpple', 'banana']", 0.0),
        ("['apple', 'banana']", "['apples', 'bananas']", 1 - 1 / 6),
        ("[9, 10, 100]", "['100', 10, '9%']", 1.0),
        ("['nan', 'x']", "['nan', 'y']", 0.0),
        ("['Infinity War', 'Endgame']", "['Infinity', 'Endgame']", 1 - 4 / 12),
        ("['page 1', 'zebra']", "['page 1', 'zebras']", 0.0),
        ("['alpha', 'page 1']", "['alpha', 'page 2']", 1 - 1 / 6),
        ("['1', '2-3']", "['1-2', '3']", 1.0),
        ("[{'a': 1}]", "[{'a': 2}]", 0.875),
    ],
)
def test_6_lists(gold, prediction, expected):
    assert value(gold, prediction, "List") == pytest.approx(expected)


def test_6_two_empty_lists_raise():
    assert raised("[]", "[]", "List") == "IndexError"
    assert value("[]", "", "List") == 0.0


def test_7_f1():
    right = {"answer": "x", "pred": "x", "score": 1.0}
    refused = {"answer": NA, "pred": NA, "score": 1.0}
    nearly = {"answer": NA, "pred": "not answerable", "score": 1.0}
    assert mmlongbench.acc_and_f1([right, refused]) == (1.0, 1.0, 2)
    assert mmlongbench.acc_and_f1([right, nearly]) == (1.0, 2 * 0.5 / 1.5, 2)
    assert mmlongbench.acc_and_f1([refused]) == (1.0, 0.0, 1)
    assert mmlongbench.acc_and_f1([right, {"answer": "y", "pred": "z"}]) == (1.0, 1.0, 1)
    # A refusal that earns partial credit is in the numerator only.
    partial = {"answer": "Not answerabl", "pred": NA, "score": 0.9}
    assert mmlongbench.acc_and_f1([partial, {"answer": "x", "pred": "x", "score": 1.0}]).f1 > 1


def test_8_breakdown_needs_lists():
    sample = {
        "answer": "x",
        "pred": "x",
        "score": 1.0,
        "doc_type": "Brochure",
        "evidence_sources": "['Chart']",
    }
    lines = mmlongbench.breakdown([{**sample, "evidence_pages": "[3, 3]"}])
    assert ("Cross-page", 1.0, 1) in lines
    assert mmlongbench.partition([{**sample, "evidence_pages": "[3, 3]"}])[0] == (
        "Pages: single page",
        1.0,
        1,
    )
    for broken in ("3", "[a]", "exit()", None):
        with pytest.raises(DataError, match="evidence_pages"):
            mmlongbench.breakdown([{**sample, "evidence_pages": broken}])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Extracted answer: 12\nAnswer format: Integer", "12"),
        ("Extracted answer: a\nExtracted answer: b", "a"),
        ("**Extracted answer:** 12\n**Answer format:** x", "** 12\n**"),
        ("Extracted answer: ", ""),
    ],
)
def test_9_extraction(text, answer):
    assert mmlongbench.parse_extraction(text) == answer


@pytest.mark.parametrize("text", ["", "12", "extracted answer: 12", "Answer format: x\nExtracted answer: 12"])
def test_9_extraction_that_does_not_parse(text):
    with pytest.raises(ValueError, match="Extracted answer"):
        mmlongbench.parse_extraction(text)
    assert mmlongbench.official_pipeline(text, "12", "Int") == PipelineResult("Failed to extract", 0.0)
    assert mmlongbench.official_pipeline(text, "12", "Int", "run_api") == (None, None, "IndexError")


def test_9_failures_of_the_scorer_count_as_failed_extraction():
    text = "Extracted answer: [Red]\nAnswer format: List"
    assert mmlongbench.official_pipeline(text, "['Red']", "List") == PipelineResult("Failed to extract", 0.0)
    assert mmlongbench.official_pipeline(text, "['Red']", "List", "run_api") == (None, None, "NameError")


def test_9_an_extractor_that_failed():
    assert mmlongbench.official_pipeline(None, "12", "Int") == PipelineResult("Failed to extract", 0.0)
