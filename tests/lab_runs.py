"""Small stored runs for the lab: questions, trajectories with findings, and a reader that takes the last value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fakes import make_question
from looseleaf.lab.records import ScoredRun
from looseleaf.memory import Finding
from looseleaf.models.role_spec import RoleSpec
from looseleaf.question import Question
from looseleaf.roles import Action, Observation, Usage
from looseleaf.runner.config import ScoreConfig
from looseleaf.runner.lab import LabConfig, run_lab
from looseleaf.runner.lab.execute import LabOutcome
from looseleaf.runstore import Run
from looseleaf.trajectory import Step, StopReason, Trajectory

NO_EXTRACTOR = RoleSpec(backend="none")

LAST_VALUE = """
from looseleaf.models.chat.sampling import current_sample
from looseleaf.roles import Reading

asked = []

class LastValue:
    '''Answers with what stands behind the last "is" of the memory; says so where there is none.'''
    def read(self, question, memory):
        asked.append((question, memory.as_text(), current_sample()))
        values = [finding.text.split(" is ")[1].rstrip(".") for finding in memory if " is " in finding.text]
        return Reading(text=values[-1] if values else "Not answerable")

def make():
    return LastValue()
"""

FIRST_VALUE = LAST_VALUE.replace("values[-1]", "values[0]")


class Case(NamedTuple):
    """One row: its gold and final answer, and the findings with the turns that wrote them.

    Pages 1, 2, … are shown one turn before each finding, which cites it.
    """

    gold: str
    answer: str | None
    findings: Sequence[tuple[int, str]] = ()
    doc: str = "a.pdf"
    fields: dict[str, Any] = {}  # noqa: RUF012 - never changed
    stop: StopReason = StopReason.ANSWERED


def write_run(path: Path, cases: Iterable[Case], **protocol: Any) -> Run:
    """A run on disk that nobody has read yet."""
    run = Run.create(path)
    cases = list(cases)
    questions = [question_of(index, case) for index, case in enumerate(cases)]
    run.write_questions(questions)
    rules = {"name": "awm", "max_turns": 15, "memory": "mandatory", "validation": "reject"} | protocol
    run.write_config(
        {"protocol": rules, "roles": {"policy": {"backend": "python", "argument": "nobody:here"}}}
    )
    run.write_manifest({"run_id": "run-1", "counts": {"n_set": len(cases)}})
    for question, case in zip(questions, cases, strict=True):
        run.trajectory_ledger.append(trajectory_of(question, case))
    run.close()
    return run


def question_of(index: int, case: Case) -> Question:
    fields = {"references": (case.gold,), "answer_format": "Str", "doc_id": case.doc} | case.fields
    return make_question(index, **fields)


def trajectory_of(question: Question, case: Case) -> Trajectory:
    steps, memory = [], []
    last = max([turn for turn, _ in case.findings], default=0)
    for page, (turn, text) in enumerate(case.findings, start=1):
        steps.append(step(turn - 1, Action.search(f"look {page}"), shown=(page,), tokens=10))
        steps.append(step(turn, Action.note(text, page), tokens=5))
        memory.append(Finding(text, page))
    if case.answer is not None:
        steps.append(step(last + 1, Action.answer(case.answer), tokens=2))
    return Trajectory(
        trajectory_id=f"{question.question_id}#0",
        question_id=question.question_id,
        benchmark=question.benchmark,
        doc_id=question.doc_id,
        question=question.question,
        protocol="awm",
        steps=tuple(steps),
        memory=tuple(memory),
        answer=case.answer,
        stop_reason=case.stop,
    )


def step(turn: int, action: Action, *, shown: tuple[int, ...] = (), tokens: int = 0) -> Step:
    return Step(
        turn=turn,
        action=action,
        observation=Observation(text="", shown=shown),
        usage=Usage(prompt_tokens=tokens),
    )


def config_for(*readers: str, **changes: Any) -> LabConfig:
    """A lab with readers from modules, no extractor and no grounding."""
    specs = tuple(RoleSpec(backend="python", argument=f"{reader}:make") for reader in readers)
    given: dict[str, Any] = {
        "score": ScoreConfig(extractor=NO_EXTRACTOR, readers=specs),
        "grounding": RoleSpec(backend="none"),
    }
    return LabConfig(**(given | changes))


def examined(run: Run, config: LabConfig) -> tuple[ScoredRun, LabOutcome]:
    """The run after the lab has read it."""
    outcome = run_lab(run, config)
    return ScoredRun(run, outcome.score_id), outcome


def value_of(scored: ScoredRun, reading_id: str, name: str, key: str = "mini:0#0") -> float | None:
    """Score of one variant of one row; -1 where it is undefined."""
    item = next(item for item in scored.items if item.key == key)
    score = scored.memory_score(item, reading_id, name)
    return -1.0 if score is None else score.value
