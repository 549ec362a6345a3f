"""`steps.jsonl` of a training on verl: the numbers that the built-in engine logs of each step, from stored rollouts.

verl logs its own curves and knows nothing of memories. The workers' RUNs hold everything that is needed, so the file
can be written beside the training or after it: `python -m looseleaf.training.verl.steps OUT`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from looseleaf.errors import RunError, UserError
from looseleaf.reward import RewardRecord, group_advantages
from looseleaf.runstore import Ledger, Run
from looseleaf.score import Unscored
from looseleaf.training.config import TrainConfig
from looseleaf.training.config_file import load_config
from looseleaf.training.grpo import ROLLOUTS, STEPS
from looseleaf.training.rollout_rewards import Evidence
from looseleaf.training.telemetry import StepLog, TokenCounts, step_metrics
from looseleaf.trajectory import Trajectory

__all__ = ["write_steps"]


class _Stored(NamedTuple):
    """A rollout as a worker stored it."""

    trajectory: Trajectory
    record: RewardRecord
    why: Unscored | None


def write_steps(out: Path) -> int:
    """Write `OUT/steps.jsonl` anew; calls of roles are left out, which the RUNs' readings and scores count.

    Returns:
        How many steps there are.

    Raises:
        UserError: there is no training in the folder, or a record cannot be read.
    """
    config = load_config(out / "config.toml")
    steps: dict[int, list[_Stored]] = {}
    for stored in _rollouts(out):
        steps.setdefault(stored.trajectory.step_of_training or 0, []).append(stored)
    log = StepLog(out / STEPS)
    for step in sorted(steps):
        log.append(step + 1, _numbers(config, steps[step]))  # the step that learns from them
    return len(steps)


def _rollouts(out: Path) -> Iterable[_Stored]:
    """Rollouts of all workers; of one that was played again after a restart, the later counts."""
    workers = [path for path in (out / ROLLOUTS).glob("*") if (path / "trajectories.jsonl").is_file()]
    if not workers:
        raise RunError(f"{out} holds no rollouts of a training on verl; name its output folder.")
    found: dict[str, _Stored] = {}
    for worker in sorted(workers, key=lambda path: (path / "trajectories.jsonl").stat().st_mtime):
        found |= {stored.trajectory.trajectory_id: stored for stored in _of_worker(Run.open(worker))}
    return found.values()


def _of_worker(run: Run) -> Iterator[_Stored]:
    trajectories = run.trajectories()
    why = _reasons(run)
    for path in sorted((run.path / "rewards").glob("*.jsonl")):
        for record in Ledger(path, RewardRecord).read():
            name = record.trajectory_id
            if name in trajectories:
                yield _Stored(trajectories[name], record, why.get(name))


def _reasons(run: Run) -> dict[str, Unscored]:
    """The first reason for which a score of each rollout is missing."""
    found: dict[str, Unscored] = {}
    for ledger_id in run.sidecars("scores"):
        for row in run.scores(ledger_id).read():
            if row.unscored is not None:
                found.setdefault(row.trajectory_id, row.unscored)
    return found


def _numbers(config: TrainConfig, rollouts: list[_Stored]) -> dict[str, float]:
    reward = config.reward
    groups = [
        (each.trajectory.question_id, each.trajectory.sample_index // config.train.group_size)
        for each in rollouts
    ]
    values = [each.record.value for each in rollouts]
    advantages = group_advantages(values, groups, reward.eps, reward.ddof, reward.scale)
    return step_metrics(
        [each.trajectory for each in rollouts],
        [_evidence(each) for each in rollouts],
        [each.record for each in rollouts],
        advantages,
        _tokens([each.trajectory for each in rollouts]),
        threshold=reward.threshold,
    )


def _evidence(stored: _Stored) -> Evidence:
    seen = stored.record.cells if stored.record.cells is not None else stored.record.episode
    assert seen is not None
    return Evidence(trajectory_id=stored.trajectory.trajectory_id, seen=seen, why=stored.why)


def _tokens(trajectories: Iterable[Trajectory]) -> TokenCounts:
    """Tokens as the turns' usage counts them; what an ended rollout would have been shown next is in none."""
    opening = generated = observed = images = 0
    for trajectory in trajectories:
        usages = [step.usage for step in trajectory.steps if step.turn > 0]
        if usages:
            before = sum(usage.completion_tokens for usage in usages[:-1])
            opening += usages[0].prompt_tokens
            generated += before + usages[-1].completion_tokens
            observed += usages[-1].prompt_tokens - usages[0].prompt_tokens - before
        shown: list[int] = [len(step.observation.shown) for step in trajectory.steps if step.observation]
        images += sum(shown)
    return TokenCounts(opening, generated, observed, images)


def main(arguments: list[str]) -> int:
    """Write the file of the folder that is named."""
    if len(arguments) != 1:
        sys.stderr.write("Usage: python -m looseleaf.training.verl.steps OUT\n")
        return 2
    try:
        count = write_steps(Path(arguments[0]))
    except UserError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    sys.stdout.write(f"{Path(arguments[0]) / STEPS}: {count} steps\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
