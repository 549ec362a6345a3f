"""The shared comparisons against plain definitions of them."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.scoring.aggregates import added_up
from looseleaf.scoring.assignment import best_matching
from looseleaf.scoring.matching import (
    anls,
    drop_parentheses,
    drop_quotes,
    edit_distance,
    floats_equal,
    needs_exact_match,
)

letters = st.text(alphabet="abßİ 1(", max_size=12)
around_parentheses = st.text(alphabet="() \t\n\x1c\u2003ab'\"", max_size=30)


def plain_distance(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, one in enumerate(left, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(right, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (one != other))
    return row[-1]


@given(letters, letters)
def test_edit_distance_is_levenshtein(left, right):
    assert edit_distance(left, right) == plain_distance(left, right)


@given(letters, letters)
def test_anls_by_its_definition(gold, prediction):
    length = max(len(gold.upper()), len(prediction.upper()))
    similarity = 1.0 - (plain_distance(gold, prediction) / length if length else 0.0)
    assert anls(gold, prediction) == (similarity if similarity > 0.5 else 0.0)


@given(around_parentheses)
def test_parentheses_go_as_the_pattern_says(text):
    assert drop_parentheses(text) == re.sub(r"\s*\([^)]*\)", "", text)


@given(around_parentheses)
def test_quotes_go_at_either_end_by_themselves(text):
    text = text.strip()
    assert drop_quotes(text) == re.sub(r"^['\"]|['\"]$", "", text)


@pytest.mark.parametrize(
    ("gold", "exact"),
    [
        ("see https://a.b", True),
        ("http://a.b", False),
        ("run.py", True),
        ("py", False),
        ("x.ipynb", True),
        ("page", True),
        ("pages of it", True),
        ("a page", False),
        ("7", True),
        ("12-34", True),
        ("12 34", True),
        ("12\u300034", True),  # any Unicode space
        ("12  34", False),
        ("12-34-56", False),
        ("-12", False),
        ("１２", True),  # any Unicode decimal digit
        ("²", False),  # a digit, but no decimal one
        ("½", False),
        ("2021-03-04", True),
        ("2021 03-04", True),
        ("21-03-04", False),
        ("2021/03/04", False),
        ("9 a.m.", True),
        ("9 am", False),
        ("a_b%c+d-e.f@g-h.ij", True),
        ("a@b.c", False),
        ("ä@b.cd", False),
        ("a@b.cd.", False),
    ],
)
def test_which_gold_answers_must_be_equal(gold, exact):
    assert needs_exact_match(gold) is exact


@pytest.mark.parametrize(
    ("gold", "prediction", "same"),
    [
        (1.0, 1.01, True),  # relative to the larger: 1.01 is 1/101 away from 1
        (1.0, 1.0102, False),
        (0.0, 0.004, True),  # rounds to 0.0 at two decimals
        (0.0, 0.005, False),  # rounds half to even in binary: 0.005 is a little more than a half
        (0.125, 0.12, True),  # and 0.125 is exactly a half
        (0.125, 0.13, False),
        (1e-07, 0.0, True),  # "1e-07" has no point, so three decimals
        (float("inf"), float("inf"), True),
        (float("nan"), float("nan"), False),
        (1e307, float("inf"), True),  # gold times 100 is infinite
        (5.0, 500.0, True),
        (5.0, 50.0, False),
    ],
)
def test_float_equality(gold, prediction, same):
    assert floats_equal(gold, prediction) is same


def test_sums_go_from_left_to_right():
    # The built-in sum gives 0.6 from Python 3.12 on.
    assert added_up([0.1, 0.2, 0.3]) == 0.1 + 0.2 + 0.3
    assert added_up([1e16, 1.0, -1e16]) == 0.0


tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 0.75, 0.9, 1.0]), min_size=width, max_size=width),
        min_size=1,
        max_size=4,
    )
)


@given(tables)
def test_best_matching_has_the_largest_total(table):
    pairs = best_matching(table)
    rows, columns = zip(*pairs, strict=True)
    assert len(pairs) == min(len(table), len(table[0])) == len(set(rows)) == len(set(columns))
    assert list(rows) == sorted(rows)
    assert sum(table[row][column] for row, column in pairs) == pytest.approx(largest_total(table))


def largest_total(table: list[list[float]]) -> float:
    if len(table) > len(table[0]):
        table = [list(column) for column in zip(*table, strict=True)]
    choices = permutations(range(len(table[0])), len(table))
    return max(sum(row[column] for row, column in zip(table, choice, strict=True)) for choice in choices)


def test_nothing_to_match():
    assert best_matching([]) == []
    assert best_matching([[], []]) == []
