"""ALDEN's reward: every row of the table of the released code, the paper's version, golden vectors of the public code.

`golden/alden_reward.jsonl` holds our own inputs with the numbers that gipplab/ALDEN @ 8a0d3d4 returns for them.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import make_question
from looseleaf.errors import ConfigError, DataError
from looseleaf.reward import (
    AldenEpisode,
    AldenReward,
    AldenTurn,
    alden_episode,
    bi_level_returns,
    fetch_proximity,
    ndcg,
    query_penalties,
    repeated_share,
    whitened,
)
from looseleaf.reward.alden_text import ALDEN_REFUSAL, answer_part, boxed, is_answer_turn, tagged_action
from looseleaf.roles import Action
from looseleaf.trajectory import StopReason
from reward_runs import make_step, make_trajectory

GOLDEN = [
    json.loads(line)
    for line in (Path(__file__).parent / "golden" / "alden_reward.jsonl").read_text("utf-8").splitlines()
]
RELEASED, PAPER, TAGGED = AldenReward(), AldenReward(version="paper"), AldenReward(form="tagged")
ANSWER = AldenTurn(action="answer", answer="42", said="42")


def search(*shown: int, **fields: Any) -> AldenTurn:
    return AldenTurn(action="search", shown=shown, returned=shown, **fields)


def fetch(*shown: int, **fields: Any) -> AldenTurn:
    return AldenTurn(action="fetch", shown=shown, **fields)


def turns(*given_turns: AldenTurn, reward: AldenReward = RELEASED, **fields: Any) -> list[float]:
    """Rewards of the turns, followed by a correct answer that is left out."""
    given = {"gold_pages": (5, 6), "references": ("42",), **fields}
    return list(reward.turn_rewards(AldenEpisode(turns=(*given_turns, ANSWER), **given))[:-1])


def last(turn: AldenTurn, **fields: Any) -> float:
    given = {"gold_pages": (5,), "references": ("42",), **fields}
    return RELEASED.turn_rewards(AldenEpisode(turns=(turn,), **given))[-1]


def said(answer: str) -> AldenTurn:
    return AldenTurn(action="answer", answer=answer, said=answer)


# -- the table of the released code, row by row ---------------------------------------------------------------


def test_row_bad_format() -> None:
    malformed = AldenTurn(action="malformed")
    assert turns(malformed, ANSWER) == [-1.0, -1.0]  # an answer before the last turn is no search or fetch
    assert turns(malformed, unanswerable=True) == [-1.0]


def test_row_search_counts_new_gold_pages_in_the_top_three() -> None:
    assert turns(search(5, 1, 6, 2)) == [2.0]
    assert turns(search(1, 2, 3, 5)) == [0.0]  # the fourth page is not rewarded
    assert turns(search(5, 1, 2), search(5, 6, 1)) == [1.0, 1.0]
    assert turns(search(5, 6), search(5, 6)) == [2.0, 0.0]  # no repeat penalty


def test_row_search_takes_the_union_with_ocr_lists() -> None:
    ocr = AldenReward(ocr=True)
    both = search(5, 1, 2, texts_shown=(6, 3, 4), texts_returned=(6, 3, 4))
    assert turns(both, reward=ocr) == [2.0]
    assert turns(both, reward=RELEASED) == [1.0]
    # The whole returned list counts as obtained, though only the top pages are rewarded.
    assert turns(search(1, 2, 3, 5), search(5), reward=ocr) == [0.0, 0.0]
    assert turns(search(1, 2, 3, 5), search(5), reward=RELEASED) == [0.0, 1.0]


def test_row_fetch() -> None:
    assert turns(fetch(5)) == [1.0]
    assert turns(fetch(8)) == [pytest.approx(0.3 * math.exp(-0.5 * (3 + 2) / 2))]
    assert turns(fetch()) == [-0.5]


def test_row_fetch_of_an_obtained_page_costs_one() -> None:
    assert turns(fetch(5), fetch(5)) == [1.0, 0.0]
    assert turns(search(5, 1, 2), fetch(5)) == [1.0, 0.0]
    assert turns(search(1, 2, 3), fetch(2)) == [0.0, pytest.approx(0.3 * math.exp(-0.5 * 3.5) - 1)]
    text = fetch(texts_shown=(5,), modality="text")
    assert turns(fetch(5), text, text) == [1.0, 1.0, 0.0]  # only the same modality repeats


def test_row_unanswerable_searches_and_fetches_earn_nothing() -> None:
    assert turns(search(5, 6), fetch(), fetch(5), unanswerable=True) == [0.0, 0.0, 0.0]


def test_row_last_turn_without_a_valid_answer() -> None:
    assert last(search(5, 6)) == -1.0
    assert last(AldenTurn(action="malformed")) == -1.0
    assert last(AldenTurn(action="answer", answer=None, said="no box")) == -1.0


def test_row_answer_earns_five_times_f1() -> None:
    assert last(said("42")) == 5.0
    assert last(said("The 42 units")) == pytest.approx(5 * 2 / 3)
    assert last(said("Paris"), references=("London", "paris!")) == 5.0
    assert last(said("yes it is"), references=("yes",)) == 0.0
    assert last(said("yes"), references=("Yes.",)) == 5.0
    assert last(said("41")) == 0.0


def test_row_answerable_but_refused() -> None:
    assert last(said("The problem is not answerable")) == -5.0
    assert last(AldenTurn(action="answer", answer="42", said="the problem is NOT answerable: 42")) == -5.0


def test_row_unanswerable_and_refused() -> None:
    assert last(said("The problem is not answerable."), unanswerable=True) == 5.0
    longer = last(said("Sadly, the problem is not answerable"), unanswerable=True)
    assert longer == pytest.approx(5 * 2 * 4 / (5 + 4))


def test_row_unanswerable_and_not_refused() -> None:
    assert last(said("42"), unanswerable=True) == -2.0
    assert last(said("not answerable"), unanswerable=True) == -2.0


def test_row_query_repetition() -> None:
    first, second = ["net", "income", "2020", "table"], ["net", "income", "2020"]
    penalties = query_penalties([first, second])
    assert penalties[0] == [0.0] * 4
    assert penalties[1] == pytest.approx([-0.1, -0.1, -0.1])
    assert query_penalties([["a", "b"], ["b", "c"]])[1] == pytest.approx(
        [-0.15, 0.0]
    )  # falls back to one word
    assert repeated_share(["x"], [["a"]]) == 0.0


def test_row_query_repetition_is_off_in_the_released_version_and_on_in_the_papers() -> None:
    again = AldenEpisode(
        turns=(search(5, query=("a", "b")), search(6, query=("a", "b")), ANSWER),
        gold_pages=(5, 6),
        references=("42",),
    )
    assert RELEASED.value(again) == 1 + 1 + 5
    assert AldenReward(query_penalty=True).value(again) == pytest.approx(7 - 0.3)
    assert AldenReward(query_penalty=True).query_rewards(again)[1] == pytest.approx((-0.15, -0.15))
    assert [len(penalties) for penalties in PAPER.query_rewards(again)] == [2, 2, 0]
    assert PAPER.value(again) == pytest.approx(2 * ndcg((5,), frozenset({5, 6}), 5) + 5 - 0.3)
    unanswerable = AldenEpisode(turns=again.turns, unanswerable=True)
    assert PAPER.query_rewards(unanswerable) == ((), (), ())


# -- the paper's version --------------------------------------------------------------------------------------


def test_the_papers_search_reward_is_ndcg_of_the_returned_list() -> None:
    ranked = AldenTurn(action="search", shown=(1, 5, 2), returned=(1, 5, 2, 6, 3))
    ideal = 1 + 1 / math.log2(3)
    assert turns(ranked, reward=PAPER) == [pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)]
    assert turns(ranked, reward=AldenReward(version="paper", ndcg_m=3)) == [
        pytest.approx((1 / math.log2(3)) / ideal)
    ]
    assert turns(search(5, 6), search(5, 6), reward=PAPER) == [pytest.approx(1.0), pytest.approx(1.0)]
    assert turns(fetch(5), fetch(5), reward=PAPER) == [1.0, 0.0]


# -- against the public code ----------------------------------------------------------------------------------


def golden(kind: str) -> list[dict[str, Any]]:
    rows = [row for row in GOLDEN if row["kind"] == kind]
    assert rows
    return rows


def test_answers_score_as_in_the_public_code() -> None:
    for row in golden("answer"):
        text = row["text"]
        turn = AldenTurn(action="malformed")
        if is_answer_turn(text):
            part = answer_part(text)
            turn = AldenTurn(action="answer", said=part or "", answer=None if part is None else boxed(part))
        episode = AldenEpisode(
            turns=(turn,), references=(row["gold"],), unanswerable=row["gold"] == ALDEN_REFUSAL
        )
        assert TAGGED.value(episode) == pytest.approx(row["reward"], abs=1e-12), row


def test_turn_formats_are_those_of_the_public_code() -> None:
    for row in golden("action"):
        assert tagged_action(row["text"]) == row["action"], row


def test_query_penalties_are_those_of_the_public_code() -> None:
    for row in golden("queries"):
        found = query_penalties(row["queries"])
        for mine, theirs in zip(found, row["penalties"], strict=True):
            assert mine == pytest.approx(theirs, abs=1e-12), row


def test_ndcg_and_proximity_are_those_of_the_public_code() -> None:
    for row in golden("ndcg"):
        assert ndcg(row["returned"], frozenset(row["gold"]), row["m"]) == pytest.approx(
            row["value"], abs=1e-12
        )
    for row in golden("fetch"):
        assert turns(fetch(row["page"]), gold_pages=tuple(row["gold"])) == pytest.approx(
            [row["value"]], abs=1e-12
        )


def test_bi_level_returns_are_those_of_the_public_code() -> None:
    for row in golden("bi-level"):
        found = bi_level_returns(
            row["rewards"],
            row["values"],
            row["actions"],
            row["turn_ends"],
            row["turn_gamma"],
            row["token_gamma"],
            row["lam"],
        )
        assert found.advantages == pytest.approx(row["advantages"], abs=1e-12)
        assert found.returns == pytest.approx(row["returns"], abs=1e-12)
        assert whitened(found.advantages, row["actions"]) == pytest.approx(row["whitened"], abs=1e-9)


# -- hostile text, stored trajectories, misuse ----------------------------------------------------------------


@given(st.text(alphabet="<>/think searcanwfth{}\\boxed 7-\n", max_size=200))
def test_no_text_raises(text: str) -> None:
    tagged_action(text)
    is_answer_turn(text)
    boxed(answer_part(text) or text)


def test_hostile_text_costs_linear_time() -> None:
    for piece in ("</think><search>", "</think>   ", "\\boxed{", "<answer>"):
        text = "<think>" + piece * 60_000
        tagged_action(text)
        is_answer_turn(text + "</answer>")
        boxed(text)


def test_an_episode_comes_from_a_stored_trajectory() -> None:
    question = make_question(evidence_pages=(5, 7), references=("7",))
    episode = alden_episode(RELEASED, make_trajectory("mini:0#0"), question)
    assert episode.turns is not None
    assert [turn.action for turn in episode.turns] == ["search", "note", "answer"]
    assert episode.turns[0].shown == (2, 5, 9)
    assert episode.turns[0].returned == (2, 5, 9, 1, 3)
    assert episode.turns[0].query == ("number", "zero")
    assert RELEASED.turn_rewards(episode) == (1.0, 0.0, 5.0)


def test_refused_turns_and_missing_answers() -> None:
    question = make_question(evidence_pages=(5,))
    stopped = make_trajectory(
        "mini:0#0",
        steps=(
            make_step(1, Action.fetch(99), invalid="There is no page 99."),
            make_step(2, None, invalid="Malformed."),
            make_step(3, Action.search("x"), shown=(5,), returned=(5,)),
        ),
        answer=None,
        stop_reason=StopReason.TURN_LIMIT,
    )
    assert RELEASED.turn_rewards(alden_episode(RELEASED, stopped, question)) == (-0.5, -1.0, -1.0)


def test_tagged_form_holds_the_raw_text_to_the_released_format() -> None:
    steps = (
        make_step(1, Action.search("a"), shown=(5,), returned=(5,), model_text="<search>a</search>"),
        make_step(2, Action.answer("7"), model_text="<think>b</think><answer>\\boxed{7}</answer>"),
    )
    found = make_trajectory("mini:0#0", steps=steps)
    question = make_question(evidence_pages=(5,))
    assert TAGGED.turn_rewards(alden_episode(TAGGED, found, question)) == (-1.0, 5.0)
    assert RELEASED.turn_rewards(alden_episode(RELEASED, found, question)) == (1.0, 5.0)


def test_a_fault_is_unscored_and_missing_gold_pages_are_refused() -> None:
    question = make_question(evidence_pages=(5,))
    fault = make_trajectory("mini:0#0", stop_reason=StopReason.PROVIDER_ERROR)
    assert RELEASED.value(alden_episode(RELEASED, fault, question)) is None
    with pytest.raises(DataError, match="evidence pages"):
        alden_episode(RELEASED, make_trajectory("mini:0#0"), make_question())
    unanswerable = make_question(unanswerable=True)
    assert alden_episode(RELEASED, make_trajectory("mini:0#0"), unanswerable).gold_pages == ()


def test_no_gold_page_means_no_proximity() -> None:
    assert fetch_proximity(3, frozenset()) == 0.0
    assert ndcg((1, 2), frozenset(), 5) == 0.0


def test_lists_are_joined_and_options_checked() -> None:
    listed = make_question(evidence_pages=(5,), references=(["a", "b"],))
    assert alden_episode(RELEASED, make_trajectory("mini:0#0"), listed).references == ("a; b",)
    for bad in ({"top": 0}, {"refusal": " "}, {"answer_weight": math.nan}):
        with pytest.raises(ConfigError):
            AldenReward(**bad)
    assert AldenReward().label == "alden(released)"
    assert AldenReward(version="paper", ndcg_m=3).label == "alden(paper, ndcg_m=3)"
    assert AldenReward().problems == []


# -- bi-level returns -----------------------------------------------------------------------------------------


def test_with_lambda_one_the_returns_are_discounted_sums_of_turn_rewards() -> None:
    rewards = [0, 1, 0, 0, -0.2, 3, 0, 5]
    actions = [1, 1, 0, 0, 1, 1, 0, 1]
    values = [0.3, -1, 9, 9, 0.5, 2, 9, 1]
    found = bi_level_returns(rewards, values, actions, [1, 5, 7])
    third, second, first = 5.0, 3 + 0.9 * 5, 1 + 0.9 * (3 + 0.9 * 5)
    assert found.returns == pytest.approx([first, first, 0, 0, second - 0.2, second, 0, third])
    assert found.advantages == pytest.approx(
        [first - 0.3, first + 1, 0, 0, second - 0.7, second - 2, 0, third - 1]
    )


@pytest.mark.parametrize(
    ("actions", "ends"),
    [([1, 1, 1], [1]), ([1, 0, 1], [1, 2]), ([1, 1, 1], [2, 1]), ([1, 1, 1], []), ([1, 1, 1], [3])],
)
def test_turn_ends_must_fit_the_actions(actions: list[int], ends: list[int]) -> None:
    with pytest.raises(ConfigError):
        bi_level_returns([0, 0, 0], [0, 0, 0], actions, ends)


def test_shapes_must_fit() -> None:
    with pytest.raises(ConfigError, match="shapes"):
        bi_level_returns([0, 0], [0, 0, 0], [1, 1, 1], [2])
