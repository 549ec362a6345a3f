"""Small scored runs on disk, made from outcome cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fakes import make_question
from looseleaf.memory import Finding
from looseleaf.roles import Action, Observation, Returned
from looseleaf.runstore import Run, ScoreRow, config_id
from looseleaf.score import Unscored
from looseleaf.trajectory import Step, StopReason, Trajectory

SCORER = {"scorer": "exact", "extraction_id": None}
SCORE_ID = config_id("exact", SCORER)
READING_ID = "reader-00000000"

Pair = tuple[float | None, float | None]


def make_trajectory(trajectory_id: str, **fields: Any) -> Trajectory:
    """A search that shows pages 2, 5 and 9, a note, and an answer."""
    question_id, _, sample = trajectory_id.partition("#")
    given: dict[str, Any] = {
        "trajectory_id": trajectory_id,
        "question_id": question_id,
        "benchmark": "mini",
        "doc_id": "fake.pdf",
        "question": "What is number 0?",
        "sample_index": int(sample or 0),
        "steps": (
            make_step(1, Action.search("number zero"), shown=(2, 5, 9), returned=(2, 5, 9, 1, 3)),
            make_step(2, Action.note("Number 0 is 7.", 5)),
            make_step(3, Action.answer("7")),
        ),
        "memory": (Finding("Number 0 is 7.", 5),),
        "answer": "7",
        "stop_reason": StopReason.ANSWERED,
    }
    return Trajectory(**(given | fields))


def make_step(
    turn: int,
    action: Action | None,
    *,
    shown: Sequence[int] = (),
    returned: Sequence[int] = (),
    invalid: str | None = None,
    model_text: str = "",
) -> Step:
    """One turn."""
    observation = Observation(
        text="", shown=tuple(shown), returned=tuple(Returned(page, 1.0) for page in returned)
    )
    return Step(turn=turn, action=action, observation=observation, invalid=invalid, model_text=model_text)


def make_scored_run(
    path: Path,
    samples: Sequence[Sequence[Pair]],
    *,
    unanswerable: Sequence[int] = (),
    readings: int = 1,
    memory_rows: bool = True,
    question_fields: Mapping[str, Any] | None = None,
) -> Run:
    """A run with `samples[question][sample]` = (answer score, memory score)."""
    run = Run.create(path)
    fields = {"evidence_pages": (5,), **(question_fields or {})}
    questions = [
        make_question(index, unanswerable=index in unanswerable, **fields) for index in range(len(samples))
    ]
    run.write_questions(questions)
    run.write_config({"run": {"samples": max(map(len, samples))}})
    run.write_manifest({"run_id": "run-12345678"})
    run.write_sidecar("scores", SCORE_ID, SCORER)
    ledger = run.scores(SCORE_ID)
    with run.writing():
        for question, pairs in zip(questions, samples, strict=True):
            for sample, (answer, memory) in enumerate(pairs):
                key = f"{question.question_id}#{sample}"
                run.trajectory_ledger.append(make_trajectory(key))
                ledger.append(score_row(key, "answer", answer))
                for reading in range(readings if memory_rows else 0):
                    ledger.append(score_row(key, "memory", memory, reading))
    return run


def score_row(trajectory_id: str, target: str, value: float | None, sample: int = 0) -> ScoreRow:
    """A score, or an unscored row."""
    return ScoreRow(
        trajectory_id=trajectory_id,
        target=target,
        reading_id=READING_ID if target == "memory" else None,
        sample_index=sample,
        value=value,
        unscored=Unscored.JUDGE_FAULT if value is None else None,
    )
