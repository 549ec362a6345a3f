"""Made-up judges that change, or not: how often the drift ledger flags them.

`PYTHONPATH=tests python tests/drift_trials.py` prints the table of `docs/design/scoring.md`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

from looseleaf.scoring import SCORERS
from looseleaf.scoring.drift import PairedChange, drift_items, item_value, paired_change

SEED = 11
TRIALS = 1_000
FIVE_PERCENT = 15
"""5 % of the 300 items."""
ACCURACY = 0.9
JUDGE_SCORER = SCORERS["judge.binary"]

Trial = Callable[[random.Random, int], PairedChange]


def verdict(value: int) -> str:
    """What a judge replies."""
    return json.dumps({"binary_correctness": value})


READ = [item_value(JUDGE_SCORER, drift_items()[0], verdict(value)) for value in (0, 1)]
"""What the scorer makes of both verdicts, whatever the item."""


def drifted(then: Sequence[int], now: Sequence[int]) -> PairedChange:
    """Two replays of the items, as verdicts."""
    return paired_change([READ[value] for value in then], [READ[value] for value in now])


def a_judge(chance: random.Random) -> list[int]:
    """Verdicts of a judge that is right on nine items in ten."""
    return [int(item.right if chance.random() < ACCURACY else not item.right) for item in drift_items()]


def one_way(verdicts: Sequence[int], to: int, chance: random.Random) -> list[int]:
    """15 verdicts turned in one direction."""
    able = [place for place, value in enumerate(verdicts) if value != to]
    chosen = set(chance.sample(able, FIVE_PERCENT))
    return [to if place in chosen else value for place, value in enumerate(verdicts)]


def noisy(verdicts: Sequence[int], noise: float, chance: random.Random) -> list[int]:
    """Every verdict turned with this chance."""
    return [value ^ (chance.random() < noise) for value in verdicts]


def unchanged(noise: float = 0.0) -> Trial:
    def trial(chance: random.Random, number: int) -> PairedChange:
        verdicts = a_judge(chance)
        return drifted(noisy(verdicts, noise, chance), noisy(verdicts, noise, chance))

    return trial


def flipped(noise: float = 0.0) -> Trial:
    def trial(chance: random.Random, number: int) -> PairedChange:
        then = a_judge(chance)
        now = one_way(then, number % 2, chance)
        return drifted(noisy(then, noise, chance), noisy(now, noise, chance))

    return trial


def at_random(rate: float) -> Trial:
    """Each verdict of one kind turns with this chance."""

    def trial(chance: random.Random, number: int) -> PairedChange:
        then, to = a_judge(chance), number % 2
        return drifted(then, [to if value != to and chance.random() < rate else value for value in then])

    return trial


SCENARIOS: dict[str, Trial] = {
    "nothing, deterministic judge": unchanged(),
    "15 of 300 verdicts, one way": flipped(),
    "every verdict of one kind with 10 %": at_random(0.10),
    "every verdict of one kind with 5 %": at_random(0.05),
    **{f"nothing, noise of {noise:.0%}": unchanged(noise) for noise in (0.01, 0.02, 0.05)},
    **{f"15 verdicts one way, noise of {noise:.0%}": flipped(noise) for noise in (0.01, 0.02, 0.05)},
}


def flagged(name: str) -> int:
    """Trials of a scenario in which the interval excludes 0."""
    chance = random.Random(SEED)
    return sum(SCENARIOS[name](chance, number).excludes_zero for number in range(TRIALS))


if __name__ == "__main__":
    for scenario in SCENARIOS:
        print(f"{scenario}: {flagged(scenario)} of {TRIALS}", flush=True)
