"""The reward laboratory: the published table exactly, the simulation against it, runs, sweeps, figures."""

from __future__ import annotations

import itertools
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looseleaf.errors import ConfigError, RunError, UserError
from looseleaf.reward import (
    ADVANTAGE_EPS,
    AldenReward,
    AnswerOnlyReward,
    AWMReward,
    CellReward,
    RewardWarning,
    group_advantages,
)
from looseleaf.reward.simulation import (
    PAPER_MIXTURES,
    QUANTITIES,
    Mixture,
    Simulation,
    as_json,
    expected,
    mixture_of_run,
    parse_mixture,
    parse_reward,
    parse_sweep,
    sign_changes,
    simulate,
    simulate_command,
    simulate_run,
    simulation_markdown,
    simulation_svg,
    simulation_text,
    sweep,
    sweep_markdown,
    sweep_svg,
    sweep_text,
)
from reward_runs import READING_ID, SCORE_ID, Pair, make_scored_run

PUBLISHED = [
    # p11, mean r, A of 00 01 10 11 under AWM, A of wrong and right under answer-only, phantom, zero variance of both
    (0.08, -0.67, (-0.3629, 1.2341, 1.3106, 2.1288), (-0.2928, 1.9595), 0.1238, (0.2044, 0.3282)),
    (0.30, -0.01, (-0.6898, 0.0671, 0.1407, 1.3449), (-0.6702, 1.2447), 0.0151, (0.0169, 0.0321)),
    (0.60, 0.90, (-1.2441, -0.7460, -0.6838, 0.7412), (-1.2447, 0.6702), 0.0002, (0.0169, 0.0321)),
]
"""The exact table of the paper's setting: advantages to 1e-4, as printed."""
AWM, BASELINE = AWMReward(), AnswerOnlyReward()
HALF_DIGIT = 0.5e-4 + 1e-9


@pytest.fixture(scope="module")
def paper() -> Simulation:
    return simulate()


@pytest.mark.parametrize("position", range(3))
def test_enumeration_gives_the_exact_table(position: int) -> None:
    p11, mean, awm, baseline, phantom, zero = PUBLISHED[position]
    mixture = PAPER_MIXTURES[position]
    assert mixture.shares[3] == pytest.approx(p11)
    found, answers = expected(AWM.table, mixture), expected(BASELINE.table, mixture)
    assert found.mean_reward == pytest.approx(mean, abs=0.5e-2 + 1e-9)
    assert found.advantages == pytest.approx(np.array(awm), abs=HALF_DIGIT)
    assert answers.advantages == pytest.approx(np.array(baseline)[[0, 0, 1, 1]], abs=HALF_DIGIT)
    assert found.phantom == pytest.approx(phantom, abs=HALF_DIGIT)
    assert answers.phantom == 0.0
    assert found.zero_variance == pytest.approx(zero[0], abs=HALF_DIGIT)
    assert answers.zero_variance == pytest.approx(zero[1], abs=HALF_DIGIT)


def test_cell_10_changes_sign_and_cell_11_stays_positive(paper: Simulation) -> None:
    changes = {(change.reward, change.cell): change for change in sign_changes(paper)}
    assert changes[AWM.label, "10"].changes
    supported = changes[AWM.label, "11"]
    assert not supported.changes
    assert all(advantage is not None and advantage > 0 for advantage in supported.advantages)
    assert not any(changes["answer-only", cell].changes for cell in ("00", "01", "10", "11"))


@pytest.mark.parametrize("seed", range(6))
def test_the_simulation_is_within_four_standard_errors_of_the_enumeration(seed: int) -> None:
    for arm in simulate(seed=seed).arms:
        for cell in arm.cells:
            assert cell.advantage is not None
            assert cell.exact is not None
            assert cell.standard_error is not None
            assert abs(cell.advantage - cell.exact) <= 4 * cell.standard_error
        for share, exact in (
            (arm.zero_variance, arm.exact_zero_variance),
            (arm.phantom, arm.exact_phantom),
        ):
            assert exact is not None
            assert abs(share - exact) <= 4 * math.sqrt(exact * (1 - exact) / arm.n_groups)


def test_standard_errors_are_neither_too_small_nor_too_large() -> None:
    scores = [
        (cell.advantage - cell.exact) / cell.standard_error
        for seed in range(40)
        for cell in simulate([AWM], PAPER_MIXTURES[1:2], groups=500, seed=seed).arms[0].cells
        if cell.advantage is not None and cell.exact is not None and cell.standard_error
    ]
    assert 0.8 < float(np.std(scores)) < 1.25


def test_margins_equal_the_closed_forms_in_every_composition() -> None:
    beta, gamma, omega = 2.0, -0.1, -1.0
    for counts in itertools.product(range(9), repeat=4):
        if sum(counts) != 8:
            continue
        cells = np.repeat(np.arange(4), counts)
        rewards = AWM.table[cells]
        mean = math.fsum(rewards) / 8
        sigma = math.sqrt(math.fsum((rewards - mean) ** 2) / 8)
        advantages = dict(
            zip(cells.tolist(), group_advantages(rewards, [0] * 8).values.tolist(), strict=True)
        )
        for better, worse, gap in ((3, 2, beta), (2, 1, -gamma), (1, 0, gamma - omega)):
            if counts[better] and counts[worse]:
                closed = gap / (sigma + ADVANTAGE_EPS)
                assert abs(advantages[better] - advantages[worse] - closed) <= 1e-12


def brute_force(table: Any, mixture: Mixture, size: int, ddof: int, scale: str) -> dict[str, Any]:
    """All ordered outcomes of one small group, one by one."""
    sums, counts, mass = np.zeros(4), np.zeros(4), np.zeros(4)
    zero = phantom = 0.0
    for weight, row in zip(mixture.weights, mixture.table, strict=True):
        for cells in itertools.product(range(4), repeat=size):
            probability = weight * math.prod(row[cell] for cell in cells)
            rewards = [float(table[cell]) for cell in cells]
            advantages = group_advantages(rewards, [0] * size, ddof=ddof, scale=scale).values  # type: ignore[arg-type]
            for cell, advantage in zip(cells, advantages, strict=True):
                sums[cell] += probability * advantage
                counts[cell] += probability
                mass[cell] += probability * abs(advantage)
            varied = len(set(rewards)) > 1
            zero += probability * (not varied)
            phantom += probability * (varied and max(cells) < 2)
    return {"advantages": sums / counts, "mass": mass / mass.sum(), "zero": zero, "phantom": phantom}


@pytest.mark.parametrize(("ddof", "scale"), [(0, "group"), (1, "group"), (0, "none")])
def test_enumeration_equals_brute_force(ddof: Any, scale: Any) -> None:
    mixture = Mixture.of_prompts("two", [(0.5, 0.2, 0.2, 0.1), (0.1, 0.1, 0.3, 0.5), (0.5, 0.2, 0.2, 0.1)])
    assert mixture.weights == (2 / 3, 1 / 3)
    found = expected(AWM.table, mixture, 4, ddof=ddof, scale=scale)
    wanted = brute_force(AWM.table, mixture, 4, ddof, scale)
    assert found.advantages == pytest.approx(wanted["advantages"], abs=1e-12)
    assert found.mass == pytest.approx(wanted["mass"], abs=1e-12)
    assert found.zero_variance == pytest.approx(wanted["zero"], abs=1e-12)
    assert found.phantom == pytest.approx(wanted["phantom"], abs=1e-12)


def test_the_batch_scale_is_the_limit_of_a_large_batch() -> None:
    (arm,) = simulate([AWM], PAPER_MIXTURES[:1], scale="batch").arms
    for cell in arm.cells:
        assert cell.advantage == pytest.approx(cell.exact, abs=0.06)


shares = st.lists(st.integers(1, 20), min_size=4, max_size=4)


@given(shares, st.integers(2, 12), st.sampled_from([0, 1]))
@settings(max_examples=60)
def test_expected_advantages_keep_the_order_of_the_rewards_margins(
    parts: list[int], size: int, ddof: Any
) -> None:
    total = sum(parts)
    p00, p01, p10, p11 = (part / total for part in parts)
    found = expected(AWM.table, Mixture.of(p00, p01, p10, p11), size, ddof=ddof)
    assert (found.margins > 0).all()
    assert found.mass.sum() == pytest.approx(1)
    assert float(found.shares @ found.advantages) == pytest.approx(
        0, abs=1e-9
    )  # what one gains another loses
    assert 0 <= found.phantom <= 1 - found.zero_variance + 1e-12


def test_impossible_cells_are_undefined() -> None:
    (arm,) = simulate([AWM], [Mixture.of(0.5, 0.0, 0.0, 0.5)], groups=50).arms
    assert [cell.advantage is None for cell in arm.cells] == [False, True, True, False]
    assert [cell.exact is None for cell in arm.cells] == [False, True, True, False]
    assert arm.margins[0].margin is None
    assert arm.margins[0].exact is None


def test_equal_r01_and_r00_leave_no_margin_between_them() -> None:
    with pytest.warns(RewardWarning, match="r01 > r00"):
        ablation = CellReward(2, 0, -1, -1)
    simulation = simulate([ablation], PAPER_MIXTURES[:1], groups=2000)
    assert simulation.arms[0].margins[2].margin == pytest.approx(0, abs=1e-12)
    assert simulation.arms[0].phantom == 0.0  # wrong answers are all alike
    assert "r01 > r00" in simulation.notes[0]
    assert "Note: cells(2, 0, -1, -1)" in simulation_text(simulation)


def test_the_same_seed_gives_the_same_numbers(paper: Simulation) -> None:
    assert simulate() == paper
    assert simulate(seed=1) != paper


@pytest.mark.parametrize(
    "options",
    [
        {"groups": 0},
        {"mixtures": ()},
        {"group_size": 1},
        {"group_size": -8},
        {"group_size": 999},
        {"groups": 10**8},
    ],
)
def test_sizes_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        simulate(**options)


@pytest.mark.parametrize("bad", [(0.5, 0.5, 0.5, 0.5), (-0.1, 0.5, 0.3, 0.3), (1.0, math.nan, 0.0, 0.0)])
def test_mixtures_must_be_shares_of_one(bad: tuple[float, float, float, float]) -> None:
    with pytest.raises(ConfigError, match="sum to 1"):
        Mixture.of(*bad)


# -- output ---------------------------------------------------------------------------------------------------


def test_tables_print_exact_and_simulated_numbers(paper: Simulation) -> None:
    for text in (simulation_text(paper), simulation_markdown(paper)):
        for wanted in ("+2.1288", "-0.6838", "+0.6702", "12.38 %", "20.44 %", "cell 10 changes sign"):
            assert wanted in text
    assert json.loads(as_json(paper))["arms"][0]["cells"][3]["exact"] == pytest.approx(2.1288, abs=1e-4)


def test_the_figure_is_well_formed_and_has_a_panel_for_every_arm(paper: Simulation) -> None:
    figure = simulation_svg(paper)
    root = ElementTree.fromstring(figure)
    words = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    for arm in paper.arms:
        assert f"{arm.mixture} · {arm.reward}" in words
    assert "no gradient 20.4%, phantom 12.4%" in words
    assert "nan" not in figure


def test_names_cannot_break_out_of_the_figure() -> None:
    mixture = Mixture.of(0.25, 0.25, 0.25, 0.25, name="<script>'\"&</script>")
    for figure in (simulation_svg(simulate([AWM], [mixture], groups=20)), sweep_svg(sweep(mixture))):
        ElementTree.fromstring(figure)
        assert "<script" not in figure


# -- runs -----------------------------------------------------------------------------------------------------

RUN: list[list[Pair]] = [
    [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)],
    [(0.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.0)],
    [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)],
    [(1.0, 1.0), (None, 1.0), (0.0, 0.0), (0.0, None)],
    [(None, None), (None, None), (1.0, 1.0), (None, None)],
]


def test_a_run_is_measured_by_its_own_groups(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", RUN)
    simulation = simulate_run(run)
    awm, baseline = simulation.arms
    assert (awm.n_groups, awm.n_too_small, awm.n_members, awm.n_unscored) == (4, 1, 15, 5)
    assert (baseline.n_groups, baseline.n_members, baseline.n_unscored) == (4, 16, 4)
    assert awm.zero_variance == 0.25
    assert awm.phantom == 0.25  # question 1: all wrong, yet one memory answers
    assert (baseline.zero_variance, baseline.phantom) == (0.5, 0.0)
    rewards = [2, 0, -0.1, -1, -1, -0.1, -1, -1, 2, 2, 2, 2, 2, None, -1, None, None, None, 2, None]
    labels = np.repeat(np.arange(5), 4)
    wanted = group_advantages(rewards, labels).values
    cells = {cell.cell: cell for cell in awm.cells}
    assert cells["10"].advantage == pytest.approx(wanted[1])
    assert cells["01"].advantage == pytest.approx((wanted[2] + wanted[5]) / 2)
    assert cells["11"].advantage == pytest.approx(wanted[[0, 8, 9, 10, 11, 12, 18]].mean())
    assert awm.mean_reward == pytest.approx(np.mean([reward for reward in rewards if reward is not None]))
    assert sum(cell.mass for cell in awm.cells) == pytest.approx(1)
    assert "0?" in {cell.cell for cell in baseline.cells}
    assert awm.margins[1].groups == 1
    for text in (simulation_text(simulation), simulation_markdown(simulation), simulation_svg(simulation)):
        assert "run" in text
    assert "Left out: up to 5 unscored" in simulation_text(simulation)


def test_unanswerable_prompts_of_a_run_earn_the_answer_reward(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", [[(1.0, 1.0), (0.0, 0.0)]], unanswerable=[0])
    assert simulate_run(run).arms[0].mean_reward == 0.5


def test_aldens_reward_on_a_run(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", RUN)
    (arm,) = simulate_run(run, [AldenReward()]).arms
    assert arm.mean_reward == 6.0  # every trajectory finds page 5 and answers 7
    assert arm.zero_variance == 1.0
    assert arm.phantom == 0.0


def test_runs_that_cannot_be_simulated(tmp_path: Path) -> None:
    lone = make_scored_run(tmp_path / "lone", [[(1.0, 1.0)], [(0.0, 0.0)]])
    with pytest.raises(RunError, match="two scored samples"):
        simulate_run(lone)
    unread = make_scored_run(tmp_path / "unread", [[(1.0, 1.0), (0.0, 0.0)]], memory_rows=False)
    with pytest.raises(RunError, match="--reader"):
        simulate_run(unread)
    assert simulate_run(unread, [BASELINE]).arms[0].n_groups == 1
    with pytest.raises(RunError, match="both answer and memory"):
        mixture_of_run(unread)
    with pytest.warns(RewardWarning):
        grounded = AWMReward(grounding_penalty=0.5)
    with pytest.raises(ConfigError, match="verdicts"):
        simulate_run(lone, [grounded])


def test_the_mixture_of_a_run_keeps_the_questions_apart(tmp_path: Path) -> None:
    mixture = mixture_of_run(make_scored_run(tmp_path / "run", RUN))
    assert (0.25, 0.25, 0.25, 0.25) in mixture.prompts
    assert sum(mixture.weights) == pytest.approx(1)
    assert mixture.weights[mixture.prompts.index((0.0, 0.0, 0.0, 1.0))] == pytest.approx(2 / 5)
    (arm,) = simulate([AWM], [mixture], groups=4000).arms
    for cell in arm.cells:
        assert cell.advantage == pytest.approx(cell.exact, abs=4 * (cell.standard_error or 0))


# -- sweep and command ----------------------------------------------------------------------------------------


def test_a_sweep_holds_every_valid_combination() -> None:
    grid = {"beta": (1.0, 2.0), "gamma": (-0.1, -1.5), "omega": (-1.0,), "G": (4.0, 8.0)}
    found = sweep(PAPER_MIXTURES[1], grid)
    assert len(found.points) == 4
    assert found.n_invalid == 4
    point = next(point for point in found.points if (point.beta, point.group_size) == (2.0, 8))
    assert point.advantages == pytest.approx((-0.6898, 0.0671, 0.1407, 1.3449), abs=1e-4)
    assert point.quantity("phantom") == pytest.approx(0.0151, abs=1e-4)
    assert point.quantity("zero-variance") == pytest.approx(0.0169, abs=1e-4)
    assert point.quantity("mean-reward") == pytest.approx(-0.005)
    assert point.quantity("margin:11-10") == point.margins[0]
    assert point.quantity("mass:00") == point.mass[0]


@pytest.mark.parametrize("quantity", sorted(QUANTITIES))
def test_a_sweep_is_one_picture(quantity: str) -> None:
    found = sweep(PAPER_MIXTURES[0])
    root = ElementTree.fromstring(sweep_svg(found, quantity))
    words = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "β = 2, G = 8" in words
    assert sum(bool(re.fullmatch(r"[+-]\d\.\d\d", word)) for word in words) >= len(found.points)
    for text in (sweep_text(found, quantity), sweep_markdown(found, quantity)):
        assert QUANTITIES[quantity] in text


@pytest.mark.parametrize(
    "grid",
    [{"alpha": (1.0,)}, {"beta": (-1.0,)}, {"G": (2.5,)}, {"beta": tuple(np.linspace(1, 2, 2000).tolist())}],
)
def test_grids_that_cannot_be_used_are_refused(grid: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(ConfigError):
        sweep(PAPER_MIXTURES[0], grid)


def test_the_command_writes_figure_and_numbers(tmp_path: Path) -> None:
    text = simulate_command(groups=500, out=tmp_path / "out", mixtures=["early=0.7,0.1,0.1,0.1"])
    assert "early" in text
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "simulation.json",
        "simulation.md",
        "simulation.svg",
    }
    assert json.loads(simulate_command(groups=500, form="json"))["groups"] == 500
    swept = simulate_command(sweeps=["beta=1,2", "G=8"], out=tmp_path / "out", quantity="phantom")
    assert "β" in swept
    assert (tmp_path / "out" / "sweep.svg").exists()
    assert simulate_command(sweeps=[], form="markdown").startswith("## ")


def test_the_command_on_a_run(tmp_path: Path) -> None:
    run = make_scored_run(tmp_path / "run", RUN)
    text = simulate_command(
        run=run.path,
        rewards=["awm", "awm:1,-0.2,-0.5", "cells:2,0,-1,-1", "answer-only", "alden:paper"],
        score_id=SCORE_ID,
        reading_id=READING_ID,
    )
    for label in ("awm(1, 0, -0.2, -0.5)", "cells(2, 0, -1, -1)", "alden(paper)", "r01 > r00"):
        assert label in text
    assert "run" in simulate_command(run=run.path, sweeps=[])


@pytest.mark.parametrize(
    "options",
    [
        {"rewards": ["awm:1"]},
        {"rewards": ["awm:2,0.5,-1"]},
        {"rewards": ["grpo"]},
        {"rewards": ["cells:a,b,c,d"]},
        {"rewards": ["alden"]},
        {"mixtures": ["0.5,0.5"]},
        {"mixtures": ["a,b,c,d"]},
        {"sweeps": ["beta=x"]},
        {"sweeps": [], "quantity": "fun"},
        {"form": "yaml"},
        {"sweeps": [], "scale": "std"},
        {"sweeps": [], "ddof": 2},
        {"eps": -1.0},
        {"run": Path("no-such-run")},
    ],
)
def test_misuse_of_the_command_is_one_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        simulate_command(**options)


def test_words_are_parsed() -> None:
    assert parse_reward("awm:1,-0.2,-0.5") == AWMReward.of_symbols(1, -0.2, -0.5)
    assert parse_reward("alden:released") == AldenReward()
    assert parse_mixture("0.6,0.05,0.05,0.3") == PAPER_MIXTURES[1]
    assert parse_sweep(["beta=1,2", "G=8"]) == {"beta": (1.0, 2.0), "G": (8.0,)}
