"""The safe rule, point by point as its docstring numbers them, and the rows on which it differs from the official."""

from __future__ import annotations

import pytest

from looseleaf.score import Score
from looseleaf.scoring import differences, longdocurl, mmlongbench
from looseleaf.scoring.safe import safe


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("2015-2016", "Str"),
        ("12/25/2020", "Str"),
        ("555-0142", "Str"),
        ("time", "String"),
        ("2021-03-04", "String"),
    ],
)
def test_1_nothing_is_evaluated(text, label):
    assert safe(text, text, label).value == 1.0
    assert safe("['2015-2016', '7']", "[2015-2016, 7]", "List").value == 1.0


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        (96395, (96, 395), 1.0),
        (1234567, (1, 234, 567), 1.0),
        (2018, (2, 18), 1.0),
        ("$1,234,567", (1, 234, 567), 1.0),
        ([2020, 2021], (2020, 2021), 1.0),
        (96395, (96, 396), 0.0),
    ],
)
def test_1_tuples_out_of_separators_are_numbers_again(gold, prediction, expected):
    label = "List" if isinstance(gold, list) else "String" if isinstance(gold, str) else "Integer"
    assert safe(gold, prediction, label).value == expected


@pytest.mark.parametrize(
    "prediction", ["8", "8.0", 8.0, "$8", "8 pages", "approximately 8", "8.", " ８", "[8]", "+8"]
)
def test_2_whole_numbers_that_agree(prediction):
    assert safe("8", prediction, "Int").value == safe(8, prediction, "Integer").value == 1.0


@pytest.mark.parametrize(
    "prediction", ["8.9", "7", "-8", "eight", "", None, "8-9", "8/9", "8 9", "80", "8:00", "8 am"]
)
def test_2_whole_numbers_that_do_not(prediction):
    assert safe("8", prediction, "Int").value == 0.0


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("3.5 million", "3500000", 1.0),
        ("3.5 million", "3,500,000", 1.0),
        ("3.5 million", "$3.5", 1.0),
        ("3.5 million", "3.5 billion", 0.0),
        ("12.5 kg", "12.5", 1.0),
        ("12.5 kg", "12.5 kilograms", 1.0),
        ("12.5 kg", "12.5 mm", 0.0),
        ("$3.50", "£3.50", 0.0),
        ("$3.50", "3.50 dollars", 1.0),
        ("45%", "0.45", 1.0),
        ("45%", "45 percent", 1.0),
        ("0.45", "45%", 1.0),
        ("45%", "4500", 0.0),
        ("1", "100", 0.0),
        ("1", "100%", 1.0),
        ("−2.5", "-2.5", 1.0),
        ("-2.5", "2.5", 0.0),
        ("-2.5", "$-2.5", 1.0),
        ("-2.5", "--2.5", 0.0),
        ("1e999", "1e999", 1.0),
        ("5e3", "5000", 1.0),
    ],
)
def test_3_scales_units_currencies_and_per_cent(gold, prediction, expected):
    assert safe(gold, prediction, "Float").value == expected


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("18.29", "18.3", 1.0),
        ("18.29", "18", 0.0),
        ("18.29", "18.4", 1.0),
        ("18.29", "18.6", 0.0),
        ("2018", "2000", 0.0),
        ("2018", "2018.0", 1.0),
        ("0", "0.004", 0.0),
        ("0.001", "0.0", 0.0),
        ("N/A", "n/a", 1.0),
        ("N/A", "0", 0.0),
    ],
)
def test_4_measured_numbers(gold, prediction, expected):
    assert safe(gold, prediction, "Float").value == expected


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("Less well-off", "the “Less   well–off”.", 1.0),
        ("Café", "Cafe\u0301", 1.0),
        ("straße", "STRASSE", 1.0),
        ("Kampala (Uganda)", "Kampala", 1.0),
        ("(only this)", "(other)", 0.0),
        ("https://a.com", "https://a.comm", 0.0),
        ("page 5", "page 6", 0.0),
        ("2015–2016", "2015-2016", 1.0),
        ("42", "42.0", 1.0),
        ("42", "43", 0.0),
        ("annual program", "annual progra", 1 - 1 / 14),
        ("abcd", "abxx", 0.0),
        ("red", "['red']", 1.0),
    ],
)
def test_5_text(gold, prediction, expected):
    assert safe(gold, prediction, "Str").value == expected


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("Not answerable", "unanswerable.", 1.0),
        ("Not answerable", "The question is not answerable", 1.0),
        ("Not answerable", "Not answerable (no table)", 1.0),
        ("Not answerable", ["Not answerable"], 1.0),
        ("Not answerable", "answerable", 0.0),
        ("Not answerable", "Fail to answer", 0.0),
        ("Not answered", "Not answerable", 0.0),
    ],
)
def test_6_refusals(gold, prediction, expected):
    assert safe(gold, prediction, "None").value == expected


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("['Red', 'Blue']", "[Blue, Red]", 1.0),
        ("['Red', 'Blue']", "Blue and Red", 1.0),
        ("['Red', 'Blue']", "- Red\n- Blue", 1.0),
        ("['Red', 'Blue']", ["Red"], 0.5),
        ("['Red', 'Blue']", "['Red', 'Blue', 'Green']", 2 / 3),
        ("[16, 19, 25]", "25, 16 and 19", 1.0),
        ("[16, 19, 25]", "[16.0, 19, 26]", 2 / 3),
        ("['1,200', '3,400']", "1,200, 3,400", 1.0),
        ("['1,200', '3,400']", "[1,200, 3,400]", 1.0),
        ("[100, 200]", "[100,200]", 1.0),
        ("['$1,000', '5%']", "[5 percent, 1000]", 1.0),
        ("[\"Don't\", 'Stop']", "['Don't', 'Stop']", 1.0),
        ([{"n": "Alpha", "v": 10}], ["Alpha-10"], 1.0),
        ("[]", "[]", 1.0),
        ("[]", "x", 0.0),
        (["a"], [], 0.0),
        (["a"], ["a"] * 500, 0.0),
    ],
)
def test_7_lists(gold, prediction, expected):
    assert safe(gold, prediction, "List").value == pytest.approx(expected)


def test_nothing_makes_it_raise():
    deep: list[object] = []
    for _ in range(2_000):
        deep = [deep]
    for prediction in (10**5000, deep, {1: {2: 3}}, float("nan"), b"x", object()):
        for label in ("Int", "Float", "Str", "List"):
            assert safe("5", prediction, label).value is not None
            assert safe(prediction, "5", label).value is not None


def test_rows_on_which_the_rules_differ():
    rows = [("8", "8", "Int"), ("1,000", "1000", "Int"), ("['a', 'b']", "[b, a]", "List")]
    found = list(differences(rows, mmlongbench.score, mmlongbench.safe))
    assert [(one.position, one.first, one.second) for one in found] == [
        (1, Score(value=0.0), Score(value=1.0)),
        (2, Score(value=0.0, upstream_raises="NameError"), Score(value=1.0)),
    ]
    assert found[0].row.gold == "1,000"
    assert list(differences(rows[:1], longdocurl.score, longdocurl.safe)) == []
