"""Time and memory of `report` and `compare` on large stored runs.

Makes a RUN of synthetic trajectories of about 1 kB each, eight samples a question and six questions a document, with
one scorer and one reader over them, and runs the commands on it in processes of their own:

    python perf/stored_runs.py                     10^4 and 10^5 trajectories
    python perf/stored_runs.py 100000 1000000      the sizes of the claim

It prints CPU seconds, peak resident memory (VmHWM of the process itself; `ru_maxrss` of a child starts at its
parent's) and microseconds a trajectory, and exits with 1 where a command on the largest run took 1 GB or more, or where
its time grew by more than `LINEAR` times the growth of the run.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

from looseleaf.memory import Finding
from looseleaf.question import Question
from looseleaf.roles import Action, Observation, Returned, Usage
from looseleaf.runstore import Ledger, ReadingRow, Run, ScoreRow, config_id
from looseleaf.trajectory import Step, StopReason, Trajectory

SAMPLES = 8
QUESTIONS_PER_DOCUMENT = 6
SOURCES = ("Table", "Chart", "Figure", "Pure-text (Plain-text)")
FORMATS = ("Int", "Str", "Float", "List")
LIMIT_MB = 1000
LINEAR = 1.35
"""Most that time a trajectory may grow from the smallest run to the largest."""
WORDS = (
    "stations",
    "revenue",
    "table",
    "page",
    "section",
    "report",
    "total",
    "city",
    "growth",
    "share",
    "units",
    "plan",
)

CHILD = """
import sys, time
from looseleaf.cli import main
started = time.process_time()
sys.argv = ["looseleaf", *sys.argv[1:]]
code = 0
try:
    main()
except SystemExit as stop:
    code = stop.code or 0
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(f"\\n{time.process_time() - started} {peak} {code}", file=sys.stderr)
"""


class Measured(NamedTuple):
    """One command on one run."""

    command: str
    trajectories: int
    seconds: float
    peak_mb: float


def make_run(path: Path, trajectories: int, seed: int = 0) -> None:
    """Write a scored run of so many trajectories."""
    run = Run.create(path)
    asked = random.Random(0)  # all runs are over the same questions
    questions = [_question(number, asked) for number in range(max(1, trajectories // SAMPLES))]
    dice = random.Random(seed)
    run.write_questions(questions)
    reader, scorer = {"backend": "openai", "argument": "a-reader"}, "mmlongbench"
    reading_id = config_id("openai-a-reader", {"reader": reader})
    score_id = config_id(scorer, {"scorer": scorer, "extraction_id": None})
    with run.writing():
        made = Ledger(path / "trajectories.jsonl", Trajectory)
        readings, scores = run.readings(reading_id), run.scores(score_id)
        for question in questions:
            for sample in range(SAMPLES):
                _write(question, sample, dice, made, readings, scores, reading_id)
        made.close()
    run.write_sidecar("readings", reading_id, {"reader": reader, "variant": "own"})
    run.write_sidecar(
        "scores", score_id, {"scorer": scorer, "extraction_id": None, "judge": {"backend": "none"}}
    )
    run.write_config(
        {
            "protocol": {"name": "awm", "max_turns": 15, "memory": "mandatory", "validation": "reject"},
            "roles": {"policy": {"backend": "openai", "argument": "a-policy"}},
            "run": {"samples": SAMPLES},
        }
    )
    run.write_manifest(
        {
            "run_id": f"synthetic-{seed}",
            "data": {"name": "synthetic", "version": "1", "sha256": "0"},
            "score": {"score_id": score_id, "also": [], "reading_ids": [reading_id], "threshold": ">0"},
        }
    )


def _question(number: int, dice: random.Random) -> Question:
    unanswerable = dice.random() < 0.2
    return Question(
        question_id=f"synthetic:{number}",
        native_id=str(number),
        benchmark="synthetic",
        split="test",
        doc_id=f"document-{number // QUESTIONS_PER_DOCUMENT:06}.pdf",
        question=f"What is the {' '.join(dice.choices(WORDS, k=8))} of number {number}?",
        references=("Not answerable" if unanswerable else str(number % 997),),
        answer_format="None" if unanswerable else dice.choice(FORMATS),
        evidence_pages=() if unanswerable else tuple(sorted(dice.sample(range(1, 60), 2))),
        sources=() if unanswerable else (dice.choice(SOURCES),),
        doc_type=f"type {number % 7}",
        unanswerable=unanswerable,
    )


def _write(
    question: Question,
    sample: int,
    dice: random.Random,
    made: Ledger[Trajectory],
    readings: Ledger[ReadingRow],
    scores: Ledger[ScoreRow],
    reading_id: str,
) -> None:
    trajectory = _trajectory(question, sample, dice)
    made.append(trajectory)
    key = trajectory.trajectory_id
    right, kept = dice.random() < 0.5, dice.random() < 0.6
    reading = trajectory.answer if kept else "Not answerable"
    readings.append(ReadingRow(trajectory_id=key, text=reading))
    for target, value, text in (("answer", right, trajectory.answer), ("memory", right and kept, reading)):
        scores.append(
            ScoreRow(
                trajectory_id=key,
                target=target,
                reading_id=reading_id if target == "memory" else None,
                prediction=text,
                value=float(value),
                upstream_value=float(value),
            )
        )


def _trajectory(question: Question, sample: int, dice: random.Random) -> Trajectory:
    """About 1 kB as JSON: a search that shows three pages, a note, an answer."""
    pages = dice.sample(range(1, 60), 3)
    answer = str(dice.randrange(997))
    finding = f"The {' '.join(dice.choices(WORDS, k=6))} is {answer}."
    shown = Observation(text="", returned=tuple(Returned(page, 1.5) for page in pages), shown=tuple(pages))
    return Trajectory(
        run_id="synthetic",
        trajectory_id=f"{question.question_id}#{sample}",
        question_id=question.question_id,
        benchmark="synthetic",
        doc_id=question.doc_id,
        question=question.question,
        protocol="awm",
        sample_index=sample,
        seed=sample,
        steps=(
            Step(turn=1, action=Action.search(question.question[:30]), observation=shown),
            Step(turn=2, action=Action.note(finding, pages[0]), observation=Observation(text="Noted.")),
            Step(turn=3, action=Action.answer(answer), observation=Observation(text="")),
        ),
        memory=(Finding(finding, pages[0]),),
        answer=answer,
        stop_reason=StopReason.ANSWERED,
        usage=Usage(prompt_tokens=dice.randrange(5000), completion_tokens=dice.randrange(500), calls=3),
        seconds=1.25,
    )


def measure(command: str, trajectories: int, *runs: Path) -> Measured:
    """Run a command in a process of its own.

    Raises:
        RuntimeError: it failed.
    """
    arguments = [sys.executable, "-c", CHILD, command, *map(str, runs)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    seconds, peak, code = done.stderr.split()[-3:]
    if code != "0":
        raise RuntimeError(done.stderr)
    return Measured(command, trajectories, float(seconds), int(peak) / 1024)


def main(sizes: list[int]) -> int:
    """Print the table; 1 where a claim does not hold."""
    found: list[Measured] = []
    folder = Path(tempfile.mkdtemp(prefix="stored-runs-"))
    print("command   trajectories   bytes each   CPU s     peak MB   µs each")
    try:
        for size in sizes:
            started = time.perf_counter()
            first, second = folder / f"a-{size}", folder / f"b-{size}"
            for seed, path in enumerate((first, second)):
                make_run(path, size, seed)
            each = (first / "trajectories.jsonl").stat().st_size / size
            print(f"(made in {time.perf_counter() - started:.0f} s)", file=sys.stderr)
            for command, runs in (("report", (first,)), ("compare", (first, second))):
                line = measure(command, size, *runs)
                found.append(line)
                print(
                    f"{command:9} {size:12,} {each:12.0f} {line.seconds:9.1f} {line.peak_mb:9.0f} "
                    f"{1e6 * line.seconds / size:9.1f}",
                    flush=True,
                )
            shutil.rmtree(first)
            shutil.rmtree(second)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return int(any(_fails(command, found) for command in ("report", "compare")))


def _fails(command: str, found: list[Measured]) -> bool:
    lines = [line for line in found if line.command == command]
    growth = (lines[-1].seconds / lines[-1].trajectories) / (lines[0].seconds / lines[0].trajectories)
    too_large = max(line.peak_mb for line in lines) >= LIMIT_MB
    if too_large or growth > LINEAR:
        print(
            json.dumps({"fails": command, "growth": growth, "peak": msgspec.to_builtins(lines[-1].peak_mb)})
        )
    return too_large or growth > LINEAR


if __name__ == "__main__":
    sys.exit(main([int(word) for word in sys.argv[1:]] or [10_000, 100_000]))
