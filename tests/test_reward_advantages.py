"""Group-relative advantages: against a plain loop, ragged groups, unscored members, the three preferences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import ConfigError
from looseleaf.reward import ADVANTAGE_EPS, AWMReward, group_advantages


def plainly(
    rewards: Sequence[float | None],
    groups: Sequence[Any],
    eps: float,
    ddof: int,
    scale: str,
) -> list[float]:
    """The definition, one group after the other."""
    out = [0.0] * len(rewards)
    known = [reward for reward in rewards if reward is not None]
    batch = deviation(known, ddof)
    for label in dict.fromkeys(groups):
        members = [i for i, group in enumerate(groups) if group == label and rewards[i] is not None]
        values = [reward for i in members if (reward := rewards[i]) is not None]
        if len(set(values)) < 2:
            continue
        mean = math.fsum(values) / len(values)
        divisor = {"group": deviation(values, ddof) + eps, "batch": batch + eps, "none": 1.0}[scale]
        for i, value in zip(members, values, strict=True):
            out[i] = (value - mean) / divisor
    return out


def deviation(values: Sequence[float], ddof: int) -> float:
    if len(values) <= ddof:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - ddof))


reward_values = st.one_of(st.none(), st.sampled_from([2.0, 0.0, -0.1, -1.0]), st.floats(-5, 5))
labels = st.one_of(st.integers(-3, 3), st.sampled_from(["q1", "q2", "q3"]))
members = st.lists(st.tuples(reward_values, labels), min_size=1, max_size=40)


@given(
    members,
    st.sampled_from([0, 1]),
    st.sampled_from(["group", "batch", "none"]),
    st.sampled_from([1e-6, 1e-4]),
)
def test_equals_the_definition(
    pairs: list[tuple[float | None, Any]], ddof: Literal[0, 1], scale: Any, eps: float
) -> None:
    rewards, groups = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = group_advantages(rewards, groups, eps, ddof, scale)
    assert found.values == pytest.approx(plainly(rewards, groups, eps, ddof, scale), rel=1e-6, abs=1e-9)
    assert found.n_unscored == sum(reward is None for reward in rewards)
    assert len(found.sizes) == len(set(groups))


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), st.integers(2, 9), st.sampled_from([0, 1]))
def test_equal_rewards_give_exactly_zero(values: list[float], size: int, ddof: Literal[0, 1]) -> None:
    rewards = np.repeat(values, size)
    found = group_advantages(rewards, np.repeat(np.arange(len(values)), size), ddof=ddof)
    assert not found.values.any()
    assert found.n_zero_variance == found.n_groups == len(values)


def test_unscored_members_are_left_out_and_counted() -> None:
    nan = float("nan")
    found = group_advantages([1.0, None, 0.0, nan, 1.0], ["a", "a", "a", "b", "b"])
    assert found.values[:3].tolist() == pytest.approx([1.0, 0.0, -1.0], abs=1e-5)
    assert found.scored.tolist() == [True, False, True, False, True]
    assert (found.n_unscored, found.n_groups, found.n_too_small) == (2, 1, 1)
    assert found.values[4] == 0.0  # alone in its group
    assert found.sizes.tolist() == [2, 1]


def test_an_outage_changes_no_other_advantage_than_its_groups() -> None:
    rewards: list[float | None] = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    whole = group_advantages(rewards, [0, 0, 0, 1, 1, 1]).values
    rewards[3] = None
    assert group_advantages(rewards, [0, 0, 0, 1, 1, 1]).values[:3].tolist() == whole[:3].tolist()


def test_order_of_members_does_not_matter() -> None:
    generator = np.random.default_rng(5)
    rewards = generator.choice([2.0, 0.0, -0.1, -1.0], 400)
    groups = generator.integers(0, 60, 400)
    shuffled = generator.permutation(400)
    straight = group_advantages(rewards, groups).values
    assert group_advantages(rewards[shuffled], groups[shuffled]).values == pytest.approx(straight[shuffled])


@pytest.mark.parametrize("labels", [[7, 7, 900_000_000_000, 900_000_000_000], ["x", "x", ("y", 1), ("y", 1)]])
def test_any_hashable_labels(labels: list[Any]) -> None:
    assert group_advantages([1, 0, 5, 3], labels).values == pytest.approx([1, -1, 1, -1], abs=1e-5)
    as_array = np.array([3, 3, -8, -8])
    assert group_advantages([1, 0, 5, 3], as_array).sizes.sum() == 4


def test_a_number_and_its_text_are_two_groups() -> None:
    assert group_advantages([1, 0], [1, "1"]).n_groups == 0


def test_scales() -> None:
    rewards, groups = [3.0, 1.0, 10.0, 0.0], [0, 0, 1, 1]
    assert group_advantages(rewards, groups, scale="none").values.tolist() == [1, -1, 5, -5]
    batch = group_advantages(rewards, groups, eps=0.0, ddof=1, scale="batch").values
    assert batch == pytest.approx(np.array([1, -1, 5, -5]) / np.std(rewards, ddof=1))
    one = group_advantages(rewards, groups, eps=0.0, ddof=1).values
    assert one == pytest.approx(np.array([1, -1, 1, -1]) / math.sqrt(2))


@pytest.mark.filterwarnings("error")
def test_nothing_divides_by_zero() -> None:
    for scale in ("group", "batch", "none"):
        found = group_advantages([1.0, 1.0, None], [0, 0, 1], eps=0.0, scale=scale)
        assert found.values.tolist() == [0.0, 0.0, 0.0]
    assert len(group_advantages([], [])[0]) == 0


@pytest.mark.parametrize(
    ("rewards", "groups", "options"),
    [
        ([1.0], [0, 1], {}),
        ([[1.0], [2.0]], [0, 1], {}),
        ([math.inf, 1.0], [0, 0], {}),
        ([1.0, 2.0], [0, 0], {"ddof": 2}),
        ([1.0, 2.0], [0, 0], {"scale": "std"}),
        ([1.0, 2.0], [0, 0], {"eps": -1.0}),
    ],
)
def test_misuse_is_one_sentence(rewards: Any, groups: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        group_advantages(rewards, groups, **options)


gap = st.floats(0.01, 3)


@st.composite
def valid_groups(draw: st.DrawFn) -> tuple[AWMReward, list[int]]:
    """A reward of AWM's order and the cells of one group."""
    below, at, above = draw(gap), draw(gap), draw(gap)
    r00 = draw(st.floats(-5, 5))
    reward = AWMReward(r00 + below + at + above, r00 + below + at, r00 + below, r00)
    return reward, draw(st.lists(st.integers(0, 3), min_size=2, max_size=16))


@given(valid_groups())
def test_the_three_preferences_hold_in_every_group(case: tuple[AWMReward, list[int]]) -> None:
    reward, cells = case
    advantages = group_advantages(reward.table[cells], [0] * len(cells)).values
    by_cell = {cell: advantages[position] for position, cell in enumerate(cells)}
    present = sorted(by_cell)
    assert all(by_cell[worse] < by_cell[better] for worse, better in itertools.pairwise(present))


@given(valid_groups())
def test_a_cell_is_positive_exactly_if_its_reward_exceeds_the_groups_mean(
    case: tuple[AWMReward, list[int]],
) -> None:
    reward, cells = case
    rewards = reward.table[cells]
    advantages = group_advantages(rewards, [0] * len(cells)).values
    mean = math.fsum(rewards) / len(rewards)
    for value, advantage in zip(rewards, advantages, strict=True):
        if abs(value - mean) > 1e-9:
            assert (advantage > 0) == (value > mean)


@given(valid_groups())
def test_margins_equal_the_closed_forms(case: tuple[AWMReward, list[int]]) -> None:
    reward, cells = case
    rewards = reward.table[cells]
    advantages = group_advantages(rewards, [0] * len(cells)).values
    sigma = deviation(rewards.tolist(), 0)
    by_cell = {cell: advantages[position] for position, cell in enumerate(cells)}
    for better, worse in ((3, 2), (2, 1), (1, 0)):
        if better in by_cell and worse in by_cell:
            closed = (reward.table[better] - reward.table[worse]) / (sigma + ADVANTAGE_EPS)
            assert by_cell[better] - by_cell[worse] == pytest.approx(closed, rel=1e-12, abs=1e-12)
