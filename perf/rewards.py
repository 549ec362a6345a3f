"""Cost of the reward laboratory. CPU time of this process; ratios come from one and the same run.

Run: `OMP_NUM_THREADS=1 python perf/rewards.py`. Exits with 1 if a bound is missed.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from looseleaf.reward import ADVANTAGE_EPS, group_advantages
from looseleaf.reward.simulation import (
    PAPER_MIXTURES,
    simulate,
    simulation_svg,
    simulation_text,
    sweep,
    sweep_svg,
)

FIGURE_SECONDS = 0.15
"""Bound on the paper's whole figure: 3 mixtures × 2 rewards × 15,000 × 8, exact numbers, tables and drawing."""
LOOP_RATIO = 50.0
"""Bound on a numpy loop over groups, relative to `group_advantages`."""
REPEATS = 9

Floats = NDArray[np.float64]


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def figure() -> None:
    """Everything that Figure 3 needs, from the generator to the picture."""
    simulation = simulate()
    simulation_text(simulation)
    simulation_svg(simulation)


def loop_over_slices(rewards: Floats, starts: NDArray[np.intp]) -> Floats:
    """The loop at its best: groups lie side by side and nothing is unscored."""
    advantages = np.zeros_like(rewards)
    for start, end in itertools.pairwise(starts):
        group = rewards[start:end]
        deviation = group.std()
        if deviation > 0:
            advantages[start:end] = (group - group.mean()) / (deviation + ADVANTAGE_EPS)
    return advantages


def loop_over_members(rewards: Floats, groups: NDArray[np.intp]) -> Floats:
    """The loop for groups in any order, with unscored members: indices of each group are known."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1, append=groups.max() + 1))
    advantages = np.zeros_like(rewards)
    for start, end in itertools.pairwise(starts):
        members = order[start:end]
        group = rewards[members]
        scored = ~np.isnan(group)
        known = group[scored]
        deviation = known.std() if len(known) > 1 else 0.0
        if deviation > 0:
            advantages[members[scored]] = (known - known.mean()) / (deviation + ADVANTAGE_EPS)
    return advantages


def compare(name: str, rewards: Floats, groups: NDArray[np.intp], loop: Callable[[], Floats]) -> float:
    """Print both times; the ratio of the loop's to ours."""
    ours = statistics.median(cpu(lambda: group_advantages(rewards, groups)) for _ in range(REPEATS))
    theirs = min(cpu(loop) for _ in range(2))
    np.testing.assert_allclose(group_advantages(rewards, groups).values, loop(), rtol=1e-6, atol=1e-6)
    print(f"{name:<44} {1e3 * ours:8.2f} ms   loop {1e3 * theirs:8.1f} ms   ratio {theirs / ours:6.0f}×")
    return theirs / ours


def main() -> int:
    """Measure and compare with the bounds."""
    first = cpu(figure)
    again = statistics.median(cpu(figure) for _ in range(REPEATS))
    print(f"whole figure: {first:.3f} s CPU the first time, {again:.3f} s after (bound {FIGURE_SECONDS} s)")
    print(f"default sweep with picture: {cpu(lambda: sweep_svg(sweep(PAPER_MIXTURES[1]))):.3f} s CPU")

    generator = np.random.default_rng(0)
    rewards = generator.choice([2.0, 0.0, -0.1, -1.0], 120_000)
    groups = np.repeat(np.arange(15_000), 8)
    starts = np.arange(0, len(rewards) + 1, 8)
    even = compare(
        "15,000 groups of 8, side by side", rewards, groups, lambda: loop_over_slices(rewards, starts)
    )

    sizes = generator.integers(2, 15, 15_000)
    ragged = generator.permutation(np.repeat(np.arange(15_000), sizes))
    values = generator.choice([2.0, 0.0, -0.1, -1.0, np.nan], len(ragged))
    uneven = compare(
        "15,000 ragged groups, shuffled, with unscored",
        values,
        ragged,
        lambda: loop_over_members(values, ragged),
    )
    return int(first > FIGURE_SECONDS or min(even, uneven) < LOOP_RATIO)


if __name__ == "__main__":
    sys.exit(main())
