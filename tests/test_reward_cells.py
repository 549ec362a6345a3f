"""Rewards over the outcome cells: order, warnings, graded form, options, unscored rows."""

from __future__ import annotations

import math
import warnings
from itertools import product

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import ConfigError, DataError
from looseleaf.memory import Finding
from looseleaf.metrics.memory import OutcomeCell
from looseleaf.reward import (
    CELLS,
    AnswerOnlyReward,
    AWMReward,
    CellReward,
    Outcome,
    RewardWarning,
    cites_shown_page,
    echoes_answer,
)
from reward_runs import make_trajectory

BINARY = [Outcome(answer=answer, memory=(memory,)) for answer, memory in product((0.0, 1.0), repeat=2)]


def quiet(*values: float, **options: object) -> CellReward:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewardWarning)
        return CellReward(*values, **options)  # type: ignore[arg-type]


def test_the_papers_constants_and_cells() -> None:
    assert [AWMReward().value(outcome) for outcome in BINARY] == [-1.0, -0.1, 0.0, 2.0]
    assert [AnswerOnlyReward().value(outcome) for outcome in BINARY] == [0.0, 0.0, 1.0, 1.0]


def test_cells_are_those_of_the_metrics() -> None:
    assert sorted(CELLS) == sorted(str(cell) for cell in OutcomeCell)
    assert [outcome.cell() for outcome in BINARY] == [0, 1, 2, 3]


def test_tables_hold_what_single_outcomes_get() -> None:
    for reward in (AWMReward(), AWMReward(3, 1, 0.5, -2), AnswerOnlyReward()):
        assert reward.table.tolist() == [reward.value(outcome) for outcome in BINARY]


@pytest.mark.parametrize(
    ("values", "broken"),
    [
        ((2, 0, -1, -1), "r01 > r00"),
        ((2, 0, 0, -1), "r10 > r01"),
        ((1, 1, 0, -1), "r11 > r10"),
        ((2, -0.1, 0, -1), "r10 > r01"),
        ((2, 0, -1, -0.1), "r01 > r00"),
    ],
)
def test_awm_refuses_a_broken_order_and_cells_warn_which_preference(
    values: tuple[float, float, float, float], broken: str
) -> None:
    with pytest.raises(ConfigError, match=broken):
        AWMReward(*values)
    with pytest.warns(RewardWarning, match=broken) as caught:
        CellReward(*values)
    assert len(caught) == 1


def test_every_broken_preference_is_named() -> None:
    with pytest.warns(RewardWarning) as caught:
        CellReward(-1, 0, 1, 2)
    assert [str(warning.message).split(" does")[0] for warning in caught] == [
        "The preference r11 > r10",
        "The preference r10 > r01",
        "The preference r01 > r00",
    ]


@pytest.mark.filterwarnings("error")
def test_awms_order_warns_about_nothing() -> None:
    assert CellReward(2, 0, -0.1, -1).problems == []


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_must_be_finite(bad: float) -> None:
    with pytest.raises(ConfigError, match="finite"):
        CellReward(bad, 0, -0.1, -1)


def test_symbols_give_the_same_reward() -> None:
    assert AWMReward.of_symbols(2, -0.1, -1) == AWMReward()
    with pytest.raises(ConfigError, match="r10 > r01"):
        AWMReward.of_symbols(2, 0.1, -1)


@pytest.mark.parametrize(
    "outcome", [Outcome(answer=None, memory=(1.0,)), Outcome(answer=1.0, memory=(None,))]
)
def test_unscored_is_not_wrong(outcome: Outcome) -> None:
    assert AWMReward().value(outcome) is None
    assert AWMReward().value(Outcome(answer=1.0)) is None
    assert AnswerOnlyReward().value(Outcome(answer=None, memory=(1.0,))) is None


def test_the_answer_only_reward_does_not_look_at_the_memory() -> None:
    assert AnswerOnlyReward().value(Outcome(answer=0.3)) == 1.0
    assert AnswerOnlyReward(answer="graded").value(Outcome(answer=0.3)) == 0.3
    assert AnswerOnlyReward(threshold="=1").value(Outcome(answer=0.3)) == 0.0


unit = st.floats(0, 1)
rewards = st.lists(st.floats(-5, 5), min_size=4, max_size=4)


@given(rewards, st.sampled_from([0.0, 1.0]), unit)
def test_the_graded_form_is_the_published_formula(values: list[float], a: float, m: float) -> None:
    r11, r10, r01, r00 = values
    formula = a * m * r11 + a * (1 - m) * r10 + (1 - a) * m * r01 + (1 - a) * (1 - m) * r00
    got = quiet(*values, memory="graded").value(Outcome(answer=a, memory=(m,)))
    assert got == pytest.approx(formula, abs=1e-12)


@given(rewards, st.lists(unit, min_size=1, max_size=6))
def test_k_readers_mean_of_correctness(values: list[float], scores: list[float]) -> None:
    reward = quiet(*values, readers=len(scores))
    share = sum(score > 0 for score in scores) / len(scores)
    expected = share * values[0] + (1 - share) * values[1]
    assert reward.value(Outcome(answer=1.0, memory=tuple(scores))) == pytest.approx(expected, abs=1e-12)


def test_k_readers_need_all_their_readings() -> None:
    reward = AWMReward(readers=3)
    assert reward.value(Outcome(answer=1.0, memory=(1.0, 0.0, 1.0))) == pytest.approx(4 / 3)
    assert reward.value(Outcome(answer=1.0, memory=(1.0, None, 1.0))) is None
    assert reward.value(Outcome(answer=1.0, memory=(1.0, 0.0))) is None
    assert (
        AWMReward().value(Outcome(answer=1.0, memory=(1.0, None))) == 2.0
    )  # the first reading is all it needs


def test_unanswerable_prompts_earn_the_answer_reward() -> None:
    refusal_with_empty_memory = Outcome(answer=1.0, memory=(1.0,), unanswerable=True)
    assert AWMReward().value(refusal_with_empty_memory) == 1.0
    assert AWMReward().value(Outcome(answer=0.0, memory=(None,), unanswerable=True)) == 0.0
    assert AWMReward(unanswerable="cells").value(refusal_with_empty_memory) == 2.0


def test_a_grounding_penalty_is_taken_by_share_of_findings() -> None:
    reward = quiet(2, 0, -0.1, -1, grounding_penalty=1.0)
    grounded = (True, False, True, True)
    assert reward.value(Outcome(answer=1.0, memory=(1.0,), grounded=grounded)) == 1.75
    assert reward.value(Outcome(answer=1.0, memory=(1.0,), grounded=())) == 2.0
    assert reward.value(Outcome(answer=1.0, memory=(1.0,), grounded=(True, None))) is None
    assert reward.value(Outcome(answer=1.0, memory=(1.0,))) is None
    assert AWMReward().value(Outcome(answer=1.0, memory=(1.0,), grounded=(False,))) == 2.0


def test_an_echo_penalty_is_taken_by_share_of_findings() -> None:
    reward = quiet(2, 0, -0.1, -1, echo_penalty=0.5)
    assert reward.value(Outcome(answer=0.0, memory=(0.0,), echoed=(True, False))) == -1.25
    assert reward.value(Outcome(answer=0.0, memory=(0.0,))) is None
    assert AWMReward().value(Outcome(answer=0.0, memory=(0.0,), echoed=(True,))) == -1.0


def test_a_penalty_that_can_reverse_a_preference_says_so() -> None:
    with pytest.warns(RewardWarning, match="r10 > r01, whose margin is 0.1"):
        AWMReward(echo_penalty=0.2)
    with pytest.raises(ConfigError, match="negative"):
        AWMReward(echo_penalty=-0.1)


def test_echoes_say_nothing_but_the_answer() -> None:
    findings = [
        Finding(text, 1) for text in ("The answer is 4.7 %.", "The 2020 rate is 4.7 %.", "4.7", "14.7")
    ]
    assert echoes_answer(findings, "4.7%") == (True, False, True, False)
    assert echoes_answer(findings, None) == (False, False, False, False)


def test_findings_cite_pages_that_were_shown() -> None:
    memory = (Finding("a", 5), Finding("b", 6))
    assert cites_shown_page(make_trajectory("mini:0#0", memory=memory)) == (True, False)


def test_scores_outside_zero_to_one_are_refused() -> None:
    with pytest.raises(DataError, match="0 to 1"):
        Outcome(answer=5.0)
    with pytest.raises(DataError, match="0 to 1"):
        Outcome(answer=1.0, memory=(math.nan,))


def test_options_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ConfigError, match="threshold"):
        AWMReward(threshold=">1")
    with pytest.raises(ConfigError, match="readers"):
        AWMReward(readers=0)


def test_labels_name_constants_and_changed_options() -> None:
    assert AWMReward().label == "awm(2, 0, -0.1, -1)"
    assert AWMReward(readers=3).label == "awm(2, 0, -0.1, -1, readers=3)"
    assert AnswerOnlyReward().label == "answer-only"
    assert quiet(2, 0, -1, -1).label == "cells(2, 0, -1, -1)"


def test_a_stored_reward_spells_out_every_constant() -> None:
    stored = msgspec.to_builtins(AWMReward(2, 0, -0.1, -1))
    assert stored["name"] == "awm"
    assert {"r11", "r10", "r01", "r00", "readers", "threshold", "unanswerable"} < stored.keys()
    assert all(isinstance(stored[name], float) for name in ("r11", "r10", "r01", "r00"))
    assert np.array_equal(AWMReward().table, [-1, -0.1, 0, 2])
