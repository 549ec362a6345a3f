"""The official rule of LongDocURL, quirk by quirk as its docstring numbers them."""

from __future__ import annotations

import pytest

from looseleaf.errors import DataError
from looseleaf.scoring import longdocurl
from looseleaf.scoring.fine_grained import OFFICIAL_COUNTS, divided
from looseleaf.scoring.longdocurl import clean, official_pipeline, official_prediction, score


def value(gold, prediction, answer_format):
    scored = score(gold, prediction, answer_format)
    assert scored.upstream_raises is None
    return scored.value


def raised(gold, prediction, answer_format):
    scored = score(gold, prediction, answer_format)
    assert scored.value == 0.0
    return scored.upstream_raises


def output(answer: str, label: str = "String") -> str:
    return f"<concise_answer>{answer}</concise_answer><answer_format>{label}</answer_format>"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Program", "progra"),
        ("smiles", ""),
        ("minutes", ""),
        ("limes", "limes"),
        ("10 am", "10 a"),
        ("3.5 million", "3.5"),
        ("3.5 billion", "3.5"),
        ("5 kgkg", "5"),
        ("5 gk", "5 gk"),
        ("1,200 mm", "1200"),
        ("5 kg ,", "5 kg"),  # the comma goes after the text is stripped, so the unit is not at the end
        ("two million", "two"),
        ("twomillion", "tw"),
        ("$£5%", "5"),
        ("£$5", "$5"),
        ("5 km", "5 k"),
        ("x.com", "x.co"),
        ("'a' (b)", "a"),
    ],
)
def test_1_cleaning(text, cleaned):
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        (8, "8.0", 0.0),
        (8, 8.0, 0.0),
        (8, "$8 kg", 1.0),
        (96395, "96,395", 1.0),
        (96395, "96, 395", 0.0),
        (96395, (96, 395), 0.0),
        (1, True, 0.0),
        ("", "no number", 1.0),
        ("", 0, 0.0),
        ("seven", "seven", 0.0),
    ],
)
def test_2_integer(gold, prediction, expected):
    assert value(gold, prediction, "Integer") == expected


def test_2_integers_too_long_to_print():
    assert value(10**5000, 10**5000, "Integer") == 0.0
    assert value("", 10**5000, "Integer") == 1.0


def test_3_float():
    assert value("3.5 million", "350%", "Float") == 1.0
    assert value("N/A", "N/A", "Float") == 0.0
    assert value("5% %", "5", "Float") == 1.0  # the second per cent sign goes in the comparison
    assert raised(10**5000, 1, "Float") == "ValueError"


def test_4_text():
    assert value("https://example.com", "https://example.comm", "String") == 1.0
    assert value("Dallas, Texas", "Dallas Texas", "None") == 1.0
    assert value("Red", ["Red"], "String") == 0.0


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        (["aaaa", "bbbb"], ["bbbb", "aaaa"], 1.0),
        (["aaaa", "bbbb"], ["aaaa"], 0.5),
        (["aaaa"], ["aaaa", "bbbb"], 0.5**0.5),
        (["aaaa", "aaaa"], ["aaaa", "cccc"], 1.0),  # one prediction serves two gold elements
        ([16, 19], [19, 16], 0.0),
        (["1", "2-3"], ["1-2", "3"], 1.0),
        ([{"n": "Alpha", "v": 10}], ["Alpha-10"], 1.0),
        (["Red"], "[Red]", 1 - 2 / 5),  # what eval refuses stays text
        (["Red", "Blue"], "['Red', 'Blue']", 1.0),
        (["aaaa"], ("aaaa",), 0.0),
    ],
)
def test_5_lists(gold, prediction, expected):
    assert value(gold, prediction, "List") == pytest.approx(expected)


def test_5_what_raises():
    assert raised(["a"], [], "List") == "IndexError"
    assert raised([], ["a"], "List") == "IndexError"
    assert raised(["a"], [{"n": 1}, "x"], "List") == "AttributeError"
    assert raised([{"n": 1}, 5], ["x"], "List") == "AttributeError"


@pytest.mark.parametrize(
    ("answer", "prediction"),
    [
        ("96,395", (96, 395)),
        ("96,035", "96,035"),
        ("2015-2016", -1),
        ("2021-10-15", 1996),
        ("2021-03-04", "2021-03-04"),
        ("12/25/2020", 12 / 25 / 2020),
        ("'2015-2016'", "2015-2016"),
        ("{3, 1, 2}", [1, 2, 3]),
        ("{'b', 'a'}", ["b", "a"]),
        ("None", None),
        ("Blue whale", "Blue whale"),
        ("[x for x in 'ab']", "[x for x in 'ab']"),
    ],
)
def test_6_the_pipeline_evaluates_the_answer(answer, prediction):
    found = official_prediction(answer)
    assert found == prediction
    assert type(found) is type(prediction)


@pytest.mark.parametrize(
    ("answer", "type_name", "written"),
    [
        ("time", "module", False),
        ("max", "builtin_function_or_method", False),
        ("list", "type", False),
        ("...", "ellipsis", False),
        ("b'x'", "bytes", False),
        ("1j", "complex", False),
        ("[{1}]", "list", False),
        ("{(1, 2): 3}", "dict", False),
        ("'\ud800'", "str", False),
        ("prompt", "str", True),
        ("config", "dict", False),
        ("1e999", "float", True),
        ("(1, 2)", "tuple", True),
    ],
)
def test_6_what_json_cannot_hold_is_not_written(answer, type_name, written):
    recorded = official_pipeline(output(answer), "gold", "String")
    assert (recorded.prediction_type, recorded.written, recorded.value) == (type_name, written, 0.0)


def test_6_variables_of_the_pipeline():
    recorded = official_pipeline(output("question"), "Which?", "String", question="Which?")
    assert (recorded.prediction, recorded.value, recorded.flags) == ("Which?", 1.0, ("the name question",))
    recorded = official_pipeline(output("question"), "Which?", "String")
    assert (recorded.prediction, recorded.value, recorded.written) == (None, 0.0, True)
    assert official_pipeline(output("answer_format", "Integer"), "Integer", "String").value == 1.0


@pytest.mark.parametrize("text", [None, "", "12", "<concise_answer>12</concise_answer>", output("1").upper()])
def test_7_extraction_needs_both_tags(text):
    recorded = official_pipeline(text, "Fail to extract", "String")
    assert (recorded.prediction, recorded.value, recorded.written) == ("Fail to extract", 0.0, True)
    with pytest.raises(ValueError, match=r"_answer>|_format>"):
        longdocurl.parse_extraction(text or "")


def test_7_the_first_of_each_tag_counts():
    assert longdocurl.parse_extraction(output("a") + output("b")) == "a"
    assert longdocurl.parse_extraction(
        "<concise_answer><concise_answer>a</concise_answer>" + output("b")
    ) == ("<concise_answer>a")


def test_the_scorer_raising_loses_the_record():
    recorded = official_pipeline(output("[]"), ["a"], "List")
    assert recorded == (None, "list", None, False, "IndexError", ())


def test_8_generalised_accuracy():
    samples = [
        {"answer": "a", "pred": "a", "answer_format": "String"},
        {"answer": "Fail to extract", "pred": "Fail to extract", "answer_format": "String"},
        {"answer": ["a"], "pred": [], "answer_format": "List"},
    ]
    assert longdocurl.gacc(samples) == (1 / 3, 1 / 3 * 3 / 2325, 3, 1)
    with pytest.raises(DataError):
        longdocurl.gacc([])


def sample(task, pages, sources, kind="extract"):
    return {
        "answer": "a",
        "pred": "a",
        "answer_format": "String",
        "task_tag": task,
        "question_type": kind,
        "evidence_pages": pages,
        "evidence_sources": sources,
    }


def test_8_a_record_without_pages_goes_where_the_one_before_it_went():
    first, pageless = sample("Understanding", [1], ["Text"]), sample("Reasoning", [], ["Table"])
    sums, fatal = longdocurl.fine_grained([first, pageless])
    assert sums["Fine_Grained"]["Understanding"]["Single_Page"] == {
        "Text": 1.0,
        "Layout": 0.0,
        "Figure": 0.0,
        "Table": 1.0,
    }
    assert sums["Evidence_Pages"] == {"Single_Page": 1.0, "Multi_Page": 0.0}
    assert fatal == 0
    assert longdocurl.fine_grained([pageless]).fatal == 1
    locating = sample("Locating", [1], ["Table"], "summary2tab")
    assert longdocurl.fine_grained([locating, pageless]).fatal == 1


def test_8_denominators_of_the_full_set():
    assert sum(OFFICIAL_COUNTS["Main_Task"].values()) == 2325
    sums, _ = longdocurl.fine_grained([sample("Locating", [1, 2], ["Text", "Others"], "topic2title")])
    table = divided(sums)
    assert table["Main_Task"]["Locating"] == 1 / 695
    assert table["Fine_Grained"]["Locating"]["Cross_Element"]["Cross_Title"] == 1 / 201
    assert table["Num_of_Element_Types"]["Cross_Element"] == 1 / 862


def test_partition_counts_every_question_once():
    samples = [
        {**sample("Locating", [1], ["Text", "Table"]), "score": 1.0},
        {**sample("Reasoning", [], []), "score": 0.0},
        {**sample("Reasoning", [1, 2], ["Text"]), "answer": "Not answerable", "score": 0.5},
    ]
    lines = longdocurl.partition(samples)
    for group in ("Task", "Question Type", "Pages", "Source"):
        assert sum(line.n for line in lines if line.label.startswith(f"{group}: ")) == 3
    assert ("Pages: no page given", 0.0, 1) in lines


def test_flags_of_list_rows():
    assert longdocurl.flags(["a"], "[max]", "List") == ("the name max",)
    assert longdocurl.flags(["a"], "[max]", "String") == ()
    assert longdocurl.flags(["a"], "['a']", "List") == ()
