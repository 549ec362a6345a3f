"""Measuring a policy of the demonstration on held-out questions, by the ordinary bench."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from looseleaf.document import PageStore
from looseleaf.memory import Finding
from looseleaf.models.role_spec import RoleSpec
from looseleaf.reward import Outcome, stored_outcomes
from looseleaf.runner.config import DataConfig, RunConfig, ScoreConfig
from looseleaf.runner.execute import execute
from looseleaf.runner.score import score_run
from looseleaf.runstore import Run
from looseleaf.scoring.thresholds import threshold_named
from looseleaf.training.demo.warm_start import PROTOCOL
from looseleaf.training.demo.world import DemoQuestion, read_world
from looseleaf.trajectory import Trajectory

__all__ = ["TRAINING_READER", "UNSEEN_READER", "Measured", "measure"]

TRAINING_READER = RoleSpec(backend="python", argument="looseleaf.training.demo.readers:count_reader")
UNSEEN_READER = RoleSpec(backend="embedded")
"""The bench's own extractive reader, which shares no code with the reader of training."""
IN_FLIGHT = 50
"""Questions whose turns are generated together."""
TEMPERATURE = 0.7
"""As in training (precursor of AWM: .7): what is measured is how often the policy writes which note, not which one is
likelier. At 1.0 a model of this size slips in one of thirty turns, in letters of no meaning, whatever its reward."""
MAX_TURN_TOKENS = 24
NUMBER = re.compile(r"\d+")


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Rates over held-out questions.

    Attributes:
        n: questions.
        s_ans: right answers.
        s_mem: memories from which the reader of training answers right.
        s_mem_unseen: memories from which the unseen reader does.
        p_mmc: share of the right answers whose memory misses, under the reader of training.
        p_mmc_unseen: the same under the unseen reader.
        grounded: memories that answer and whose every number stands on the page that the finding names.
        echo: findings that say nothing but the answer.
        invalid: refused or malformed turns.
        turns: mean turns.
    """

    n: int
    s_ans: float
    s_mem: float
    s_mem_unseen: float
    p_mmc: float
    p_mmc_unseen: float
    grounded: float
    echo: float
    invalid: float
    turns: float


def measure(model: Path, world: Path, name: str, out: Path, *, seed: int, step: int) -> Measured:
    """Run the policy over the questions of a set, score it, and count.

    Args:
        model: the checkpoint.
        world: has the documents and the question file.
        name: of the question set.
        out: the RUN folder.
        seed: of the policy's samples.
        step: optimiser step of the checkpoint, for the record.
    """
    config = RunConfig(
        data=DataConfig(benchmark=str(world / f"{name}.jsonl"), path=str(world / "documents")),
        policy=RoleSpec(
            backend="python",
            argument="looseleaf.training.local_policy:local_policy",
            options={
                "model": str(model),
                "temperature": TEMPERATURE,
                "max_turn_tokens": MAX_TURN_TOKENS,
            },
        ),
        protocol=PROTOCOL,
        seed=seed,
        concurrency=IN_FLIGHT,
        step_of_training=step,
    )
    run = execute(config, out, store=PageStore()).run
    scored = score_run(run, ScoreConfig(readers=(TRAINING_READER, UNSEEN_READER)))
    seen, unseen = (stored_outcomes(run, scored.score_id, reading) for reading in scored.reading_ids)
    return _counted(run, read_world(world, name), seen, unseen)


def _counted(
    run: Run, asked: list[DemoQuestion], seen: dict[str, Outcome], unseen: dict[str, Outcome]
) -> Measured:
    correct = threshold_named(">0")
    trajectories = run.trajectories()
    numbers = {(question.doc_id, question.page): question.answer for question in asked}

    def right(score: float | None) -> bool:
        return score is not None and bool(correct(score))

    answers = {key: right(outcome.answer) for key, outcome in seen.items()}
    memory = {key: right(outcome.memory[0]) for key, outcome in seen.items()}
    other = {key: right(outcome.memory[0]) for key, outcome in unseen.items()}
    grounded = [memory[key] and _is_grounded(trajectories[key], numbers) for key in seen]
    echoes = [flag for outcome in seen.values() for flag in outcome.echoed or ()]
    turns = sum(trajectory.turns for trajectory in trajectories.values())
    n_right = sum(answers.values())
    return Measured(
        n=len(seen),
        s_ans=n_right / len(seen),
        s_mem=sum(memory.values()) / len(seen),
        s_mem_unseen=sum(other.values()) / len(seen),
        p_mmc=_missing(answers, memory),
        p_mmc_unseen=_missing(answers, other),
        grounded=sum(grounded) / len(seen),
        echo=sum(echoes) / max(len(echoes), 1),
        invalid=sum(trajectory.invalid_turns for trajectory in trajectories.values()) / turns,
        turns=turns / len(seen),
    )


def _missing(answers: dict[str, bool], memory: dict[str, bool]) -> float:
    right = [key for key, is_right in answers.items() if is_right]
    return sum(not memory[key] for key in right) / len(right) if right else 0.0


def _is_grounded(trajectory: Trajectory, numbers: dict[tuple[str, int], int]) -> bool:
    """Whether every number of every finding, besides page numbers, is the one on the page that it names."""
    return all(_stands_there(finding, trajectory.doc_id, numbers) for finding in trajectory.memory)


def _stands_there(finding: Finding, doc_id: str, numbers: dict[tuple[str, int], int]) -> bool:
    said = finding.text.removeprefix(f"page {finding.source_page} ")
    on_page = numbers.get((doc_id, finding.source_page))
    return all(int(number) == on_page for number in NUMBER.findall(said))
