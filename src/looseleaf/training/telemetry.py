"""What every step of GRPO says about its rollouts, in the engine's own log and in `OUT/steps.jsonl`."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from looseleaf.reward import CELLS, GroupAdvantages, Outcome, RewardRecord
from looseleaf.runstore import write_atomically
from looseleaf.scoring.thresholds import threshold_named
from looseleaf.training.rollout_rewards import Evidence
from looseleaf.trajectory import StopReason, Trajectory

__all__ = ["StepLog", "TokenCounts", "phantom_groups", "step_metrics"]


class TokenCounts(NamedTuple):
    """Tokens of a step's rollouts, all processes together."""

    opening: int
    generated: int
    observed: int
    images: int


def step_metrics(
    trajectories: Sequence[Trajectory],
    evidence: Sequence[Evidence],
    records: Sequence[RewardRecord],
    advantages: GroupAdvantages,
    tokens: TokenCounts,
    *,
    threshold: str = ">0",
) -> dict[str, float]:
    """Numbers of one step, by name.

    Args:
        trajectories: the rollouts `[n]`.
        evidence: what they were rewarded for `[n]`.
        records: their rewards `[n]`.
        advantages: their advantages.
        tokens: their tokens.
        threshold: when a graded score counts as correct.
    """
    rewards = [record.value for record in records if record.value is not None]
    return {
        "rollouts": float(len(trajectories)),
        "rollouts/unscored": float(advantages.n_unscored),
        "rewards_mean": float(np.mean(rewards)) if rewards else math.nan,
        "rewards_std": float(np.std(rewards)) if rewards else math.nan,
        "groups": float(advantages.n_groups),
        "groups/too_small": float(advantages.n_too_small),
        "groups/zero_variance": float(advantages.n_zero_variance),
        "groups/phantom": float(phantom_groups(evidence, advantages, threshold)),
        "turns": _mean([trajectory.turns for trajectory in trajectories]),
        "invalid_rate": _ratio(trajectories, lambda t: t.invalid_turns, lambda t: t.turns),
        "echo_share": _echo_share(evidence),
        "findings": _mean([len(trajectory.memory) for trajectory in trajectories]),
        "tokens/opening": float(tokens.opening),
        "tokens/generated": float(tokens.generated),
        "tokens/observed": float(tokens.observed),
        "images": float(tokens.images),
        **_cells([each.seen for each in evidence if isinstance(each.seen, Outcome)], threshold),
        **_calls(evidence),
        **_reasons(trajectories, evidence),
    }


def phantom_groups(evidence: Sequence[Evidence], advantages: GroupAdvantages, threshold: str) -> int:
    """Groups of wrong answers alone whose rewards differ all the same (AWM, simulation)."""
    correct = threshold_named(threshold)
    right: set[int] = set()
    for each, group, scored in zip(evidence, advantages.group, advantages.scored, strict=True):
        answer = each.seen.answer if isinstance(each.seen, Outcome) else None
        if scored and (answer is None or correct(answer)):
            right.add(int(group))
    return sum(bool(varied) and group not in right for group, varied in enumerate(advantages.varied))


def _cells(outcomes: Sequence[Outcome], threshold: str) -> dict[str, float]:
    """Shares of the four cells among rollouts with both scores, and of right answers among those with the first."""
    correct = threshold_named(threshold)
    answers = [outcome.answer for outcome in outcomes if outcome.answer is not None]
    found: dict[str, float] = {}
    if answers:
        found["s_ans"] = _mean([float(correct(answer)) for answer in answers])
    cells = Counter(cell for outcome in outcomes if (cell := outcome.cell(threshold)) is not None)
    total = cells.total()
    if total:
        found |= {f"cells/{name}": cells[index] / total for index, name in enumerate(CELLS)}
        found["s_mem"] = found["cells/01"] + found["cells/11"]
        right = cells[2] + cells[3]
        found |= {"p_mmc": cells[2] / right} if right else {}
    return found


def _calls(evidence: Sequence[Evidence]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for each in evidence:
        total.update(each.calls)
    return {f"calls/{what}": float(count) for what, count in sorted(total.items())}


def _reasons(trajectories: Sequence[Trajectory], evidence: Sequence[Evidence]) -> dict[str, float]:
    stopped = Counter(trajectory.stop_reason for trajectory in trajectories)
    unscored = Counter(each.why for each in evidence if each.why is not None)
    return {
        **{f"stopped/{reason}": float(stopped[reason]) for reason in StopReason if stopped[reason]},
        **{f"unscored/{reason}": float(count) for reason, count in sorted(unscored.items())},
    }


def _echo_share(evidence: Sequence[Evidence]) -> float:
    """Share of findings that say nothing but the answer."""
    flags = [flag for each in evidence if isinstance(each.seen, Outcome) for flag in each.seen.echoed or ()]
    return _mean([float(flag) for flag in flags])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _ratio(trajectories: Sequence[Trajectory], over: Any, under: Any) -> float:
    total = sum(map(under, trajectories))
    return sum(map(over, trajectories)) / total if total else math.nan


class StepLog:
    """`steps.jsonl`: one line an optimiser step; a training that is continued drops the lines it does again.

    Args:
        path: the file.
        after: step that the training continues from; later lines are dropped.
    """

    def __init__(self, path: Path, after: int = 0) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = [line for line in self.read() if line["step"] <= after]
        write_atomically(path, b"".join(_line(line) for line in kept))

    def read(self) -> list[dict[str, Any]]:
        """All whole lines."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def append(self, step: int, numbers: Mapping[str, Any]) -> None:
        """Add the line of a step; what is no finite number is left out."""
        kept = {name: value for name, value in numbers.items() if _is_number(value)}
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, _line({"step": step, **kept}))
        finally:
            os.close(descriptor)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _line(numbers: Mapping[str, Any]) -> bytes:
    return json.dumps(numbers).encode() + b"\n"
