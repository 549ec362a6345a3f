"""From our scores of one trajectory to a score of Inspect, and from a sample back to question and trajectory.

A value that is unscored is NaN, which Inspect leaves out of metrics and counts apart; it is never 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from inspect_ai.scorer import Score

from looseleaf.adapters.judging import Judged
from looseleaf.question import Question
from looseleaf.reward import AnswerOnlyReward, AWMReward, Outcome
from looseleaf.score import Unscored
from looseleaf.scoring.thresholds import threshold_named
from looseleaf.trajectory import Trajectory

__all__ = ["SCORE_NAME", "TRAJECTORY_KEY", "inspect_score", "question_of", "trajectory_of"]

TRAJECTORY_KEY = "looseleaf_trajectory"
"""Name of the trajectory in a sample's store: the record as a RUN has it, so that nothing is lost in a log."""
SCORE_NAME = "looseleaf"
"""Name of the scorer, and so of the score of a sample."""


def inspect_score(
    question: Question,
    trajectory: Trajectory | None,
    judged: Judged,
    *,
    has_memory: bool,
    threshold: str,
    settings: Mapping[str, Any],
) -> Score:
    """Both scores as Inspect's, with memory-only answerability, outcome cell, rewards and settings as metadata.

    Args:
        question: the question.
        trajectory: what was run, or `None`.
        judged: the scores.
        has_memory: whether the protocol has a memory; without one there is no value `memory`.
        threshold: above what a graded score counts as correct in the cell.
        settings: what the result depends on, by name.
    """
    answer, memory = judged.answer, judged.memory
    evidence = Outcome(
        answer=answer.value,
        memory=() if memory is None else (memory.value,),
        unanswerable=question.unanswerable,
    )
    value = {"answer": _number(answer.value)}
    if has_memory:
        value["memory"] = _number(memory.value if memory is not None else None)
    return Score(
        value=value,
        answer=None if trajectory is None else trajectory.answer,
        explanation=_explanation(trajectory, judged),
        reason=_reason(judged),
        metadata={
            "memory_answers": _correct(memory.value if memory is not None else None, threshold),
            "outcome_cell": _cell(evidence, threshold),
            "reading": None if judged.reading is None else judged.reading.text,
            "stop_reason": None if trajectory is None else str(trajectory.stop_reason),
            "rewards": {reward.label: reward.value(evidence) for reward in (AWMReward(), AnswerOnlyReward())},
            "scores": {
                "answer": msgspec.to_builtins(answer),
                "memory": None if memory is None else msgspec.to_builtins(memory),
            },
            "settings": {**settings, "threshold": threshold},
        },
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _correct(value: float | None, threshold: str) -> bool | None:
    return None if value is None else threshold_named(threshold)(value)


def _cell(evidence: Outcome, threshold: str) -> str | None:
    """(s_ans, s_mem) as two digits, e.g. `10`: right, and the memory alone does not give it."""
    answer = _correct(evidence.answer, threshold)
    memory = _correct(evidence.memory[0] if evidence.memory else None, threshold)
    return None if answer is None or memory is None else f"{int(answer)}{int(memory)}"


def _reason(judged: Judged) -> Unscored | None:
    """Why a value is missing; the answer's reason before the memory's."""
    reasons = (row.unscored for row in (judged.answer, judged.memory) if row is not None)
    return next((reason for reason in reasons if reason is not None), None)


def _explanation(trajectory: Trajectory | None, judged: Judged) -> str:
    """What went wrong, the memory, and what a reader makes of it, for people who look at a log."""
    reason = _reason(judged)
    lines = [] if reason is None else [f"Unscored: {reason}."]
    lines += [row.error for row in (judged.answer, judged.memory) if row is not None and row.error]
    if trajectory is not None and trajectory.memory:
        lines.append(f"Memory:\n{trajectory.working_memory.as_text()}")
    if judged.reading is not None and judged.reading.text is not None:
        lines.append(f"From the memory alone: {judged.reading.text}")
    return "\n\n".join(lines)


def question_of(metadata: Mapping[str, Any]) -> Question:
    """The question that a sample's metadata spell out; what stands beside its fields is passed over."""
    fields = {name: value for name, value in metadata.items() if name in Question.__struct_fields__}
    return msgspec.convert(fields, Question)


def trajectory_of(stored: Any) -> Trajectory | None:
    """The trajectory of a sample's store, or `None` where nothing was run."""
    return None if stored is None else msgspec.convert(stored, Trajectory)
