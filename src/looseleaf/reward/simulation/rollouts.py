"""`simulate_run`: what a reward would have done to one's own rollouts, from stored scores only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from looseleaf.errors import ConfigError, RunError
from looseleaf.reward.advantages import ADVANTAGE_EPS, Scale, group_advantages
from looseleaf.reward.alden import AldenReward, alden_episode
from looseleaf.reward.cells import AnswerOnlyReward, AWMReward, CellReward
from looseleaf.reward.outcome import CELLS, Outcome
from looseleaf.reward.record import Reward
from looseleaf.reward.simulation.measure import CELL_LABELS, Measured
from looseleaf.reward.simulation.mixture import Mixture, Probabilities
from looseleaf.reward.simulation.result import Simulation
from looseleaf.reward.simulation.sample import summed_up
from looseleaf.reward.stored import Verdicts, selected, stored_outcomes
from looseleaf.runstore import Run
from looseleaf.scoring.thresholds import threshold_named

__all__ = ["mixture_of_run", "simulate_run"]


def simulate_run(
    run: Run,
    rewards: Sequence[Reward] = (),
    *,
    score_id: str | None = None,
    reading_id: str | None = None,
    threshold: str = ">0",
    eps: float = ADVANTAGE_EPS,
    ddof: Literal[0, 1] = 0,
    scale: Scale = "group",
    grounded: Verdicts | None = None,
) -> Simulation:
    """Measure what each reward's advantages do, with the samples of a question as a group.

    Args:
        run: several samples a question, scored; the agent is not run.
        rewards: AWM's and the answer-only reward by default; ALDEN's too, if the questions have evidence pages.
        score_id: ledger of the scores; the only one by default.
        reading_id: reader of the memories; the only one by default.
        threshold: name of the binarisation that tells the cells apart (a reward has its own).
        eps: as in `group_advantages`.
        ddof: as in `group_advantages`.
        scale: as in `group_advantages`.
        grounded: verdicts on the findings by trajectory id, for rewards with a grounding penalty.

    Raises:
        UserError: the run is not scored, a ledger has to be named, or no question has two scored samples.
    """
    rewards = rewards or (AWMReward(), AnswerOnlyReward())
    readers = max((reward.readers for reward in rewards if isinstance(reward, CellReward)), default=1)
    outcomes = stored_outcomes(run, score_id, reading_id, readers=readers, grounded=grounded)
    _check_verdicts(rewards, grounded)
    questions = [question.question_id for question in selected(run).values()]
    cells = np.array([_cell(outcome, threshold) for outcome in outcomes.values()], dtype=np.intp)
    found = []
    for reward in rewards:
        values = np.array(_values(reward, run, outcomes), dtype=np.float64)
        advantages = group_advantages(values, questions, eps, ddof, scale)
        found.append(Measured(run.path.name, reward.label, values, cells, advantages, None))
    _check_groups(run, found)
    sizes = set(found[0].advantages.sizes.tolist())
    return summed_up(
        found,
        source="run",
        title=f"{len(set(questions)):,} questions of {run.path.name}",
        groups=len(set(questions)),
        group_size=sizes.pop() if len(sizes) == 1 else None,
        eps=eps,
        ddof=ddof,
        scale=scale,
        seed=None,
        notes=tuple(f"{reward.label}: {problem}" for reward in rewards for problem in reward.problems),
    )


def mixture_of_run(
    run: Run, score_id: str | None = None, reading_id: str | None = None, *, threshold: str = ">0"
) -> Mixture:
    """Each question's own cell shares as one kind of prompt, for expectations at other group sizes and rewards.

    With few samples a question the shares are coarse, and groups drawn from them vary less than real ones.

    Args:
        run: a scored run with several samples a question.
        score_id: ledger of the scores; the only one by default.
        reading_id: reader of the memories; the only one by default.
        threshold: name of the binarisation that tells the cells apart.

    Raises:
        RunError: no sample has both scores.
    """
    outcomes = stored_outcomes(run, score_id, reading_id)
    counts: dict[str, list[int]] = {}
    for key, question in selected(run).items():
        cell = outcomes[key].cell(threshold)
        if cell is not None:
            counts.setdefault(question.question_id, [0] * len(CELLS))[cell] += 1
    if not counts:
        raise RunError(
            f"No sample of {run.path} has scores of both answer and memory; score it with a --reader first."
        )
    return Mixture.of_prompts(run.path.name, [_shares(row) for row in counts.values()])


def _shares(counts: Sequence[int]) -> Probabilities:
    total = sum(counts)
    p00, p01, p10, p11 = (count / total for count in counts)
    return p00, p01, p10, p11


def _cell(outcome: Outcome, threshold: str) -> int:
    """Index into `CELL_LABELS`."""
    cell = outcome.cell(threshold)
    if cell is not None:
        return cell
    if outcome.answer is None:
        return CELL_LABELS.index("??")
    return CELL_LABELS.index("1?" if threshold_named(threshold)(outcome.answer) else "0?")


def _values(reward: Reward, run: Run, outcomes: Mapping[str, Outcome]) -> list[float | None]:
    if not isinstance(reward, AldenReward):
        return [reward.value(outcome) for outcome in outcomes.values()]
    trajectories = run.trajectories()
    values: list[float | None] = []
    for key, question in selected(run).items():
        found = trajectories.get(key)
        values.append(None if found is None else reward.value(alden_episode(reward, found, question)))
    return values


def _check_verdicts(rewards: Sequence[Reward], grounded: Verdicts | None) -> None:
    for reward in rewards:
        if isinstance(reward, CellReward) and reward.grounding_penalty and grounded is None:
            raise ConfigError(
                f"The reward {reward.label} needs verdicts on findings; "
                "pass them as grounded, or set grounding_penalty = 0."
            )


def _check_groups(run: Run, found: Sequence[Measured]) -> None:
    for measured in found:
        if measured.advantages.n_groups == 0:
            raise RunError(
                f"Under {measured.reward} no question of {run.path} has two scored samples, so there are no groups; "
                "run it with --samples 8, and score it with a --reader."
            )
