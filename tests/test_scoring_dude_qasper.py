"""The official rules of DUDE and QASPER, quirk by quirk."""

from __future__ import annotations

import pytest

from looseleaf.score import Unscored
from looseleaf.scoring import dude, qasper


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("abcd", "abxx", 0.5),  # exactly one half stays
        ("abcde", "abxxx", 0.0),
        ("A  b", "a b", 1.0),  # squeezed before the distance
        ("aXbc", "a    Xbd", 1 - 2 / 8),  # but divided by the raw length
        ("ß", "s", 1 - 1 / 2),
        ("", "", 1.0),
    ],
)
def test_dude_1_2_similarity(gold, prediction, expected):
    assert dude.similarity(gold, prediction) == expected


def test_dude_3_the_first_of_several_predictions_counts():
    assert dude.score(["a"], ["a", "b"], "extractive").value == 1.0
    assert dude.score(["a"], ["b", "a"], "extractive").value == 0.0
    assert dude.score(["a", "b"], "b", "extractive").value == 1.0
    assert dude.score(["a"], None, "extractive").value == 0.0


def test_dude_4_not_answerable():
    for gold in ([], [""]):
        assert dude.score(gold, [], "not-answerable").value == 1.0
        assert dude.score(gold, ["Not answerable"], "not-answerable").value == 0.0
        assert dude.score(gold, dude.answers("Not answerable."), "not-answerable").value == 1.0


def test_dude_5_lists():
    assert dude.score(["ab", "cd"], ["cd", "ab"], "list/extractive").value == 1.0
    assert dude.score(["ab", "ab"], ["ab"], "list/extractive").value == 1.0  # one different gold answer
    assert dude.score(["ab"], ["ab", "ab"], "list/extractive").value == 0.5
    assert dude.score([], ["ab"], "list/extractive").value == 0.0
    assert dude.score([], [], "list/extractive").unscored is Unscored.NO_GOLD


def test_dude_5_long_sums_round_as_numpy_rounds():
    # numpy adds eight and more numbers pairwise; a plain loop ends in another last digit here.
    golds = [f"{letter}{index:03d}xyz" for index, letter in enumerate("abcdefghijk")]
    predictions = [gold[: 5 + index % 2] for index, gold in enumerate(golds)]
    parts = [dude.similarity(given, wanted) for given, wanted in zip(predictions, golds, strict=True)]
    pairwise = sum_of_eight(parts)
    assert dude.score(golds, predictions, "list/extractive").value == pairwise / len(golds)


def sum_of_eight(parts: list[float]) -> float:
    eight = parts[:8]
    total = ((eight[0] + eight[1]) + (eight[2] + eight[3])) + ((eight[4] + eight[5]) + (eight[6] + eight[7]))
    for rest in parts[8:]:
        total += rest
    return total


def test_dude_6_no_gold_answer_raises():
    scored = dude.score([], ["a"], "not answerable")
    assert (scored.value, scored.upstream_raises) == (0.0, "ValueError")


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Unanswerable", []),
        ("['a', 'b']", ["a", "b"]),
        ("[a, b]", ["a", "b"]),
        ("a, b", ["a, b"]),
        ("", [""]),
        ("[]", ["[]"]),
    ],
)
def test_dude_predictions_out_of_short_answers(text, answers):
    assert dude.answers(text) == answers


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Cat, a dog", "cat dog"),
        ("3.5%", "35"),
        ("BERT-base", "bertbase"),
        ("Café – “x”", "café – “x”"),
        ("another theory", "another theory"),
    ],
)
def test_qasper_1_normalisation(text, normal):
    assert qasper.normalized(text) == normal


def test_qasper_2_3_4_f1():
    assert qasper.token_f1("a a b", "b") == 1.0  # the article is gone
    assert qasper.token_f1("x x y", "x y y") == pytest.approx(2 / 3)
    assert qasper.token_f1("", "") == 0.0
    assert qasper.score(["p q", "q"], "q", "").value == 1.0
    assert qasper.score([], "q", "").unscored is Unscored.NO_GOLD
    assert qasper.score("Unanswerable", qasper.spelled_refusal("Not answerable"), "").value == 1.0
    assert qasper.spelled_refusal("the cat") == "the cat"
