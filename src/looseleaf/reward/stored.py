"""Outcomes of a stored run, from the score rows of one scorer and one reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from looseleaf.errors import RunError
from looseleaf.question import Question
from looseleaf.reward.findings import echoes_answer
from looseleaf.reward.outcome import Outcome
from looseleaf.runstore import Run, ScoreRow
from looseleaf.trajectory import Trajectory

__all__ = ["pick_reading", "pick_scores", "score_rows", "selected", "stored_outcomes"]

OWN_MEMORY = "own"
"""Memory variant that training reads: the agent's own terminal memory."""

Verdicts = Mapping[str, tuple[bool | None, ...]]


def pick_scores(run: Run, score_id: str | None = None) -> str:
    """The named ledger of scores, or the only one there is.

    Raises:
        RunError: nothing is scored, there are several, or there is none of that name.
    """
    known = sorted(path.stem for path in (run.path / "scores").glob("*.jsonl"))
    if not known:
        raise RunError(f"{run.path} is not scored yet; use `looseleaf score {run.path}`.")
    return _pick("scores", known, score_id, run)


def pick_reading(run: Run, rows: Iterable[ScoreRow], reading_id: str | None = None) -> str | None:
    """The named reader's ledger, or the only one that these scores have; `None` where no memory was read.

    Args:
        run: for the sentence of the error.
        rows: rows of one ledger of scores.
        reading_id: the one that is wanted, if any.

    Raises:
        RunError: there are several, or there is none of that name.
    """
    known = sorted({row.reading_id for row in rows if row.target == "memory" and row.reading_id is not None})
    return None if not known and reading_id is None else _pick("readings", known, reading_id, run)


def _pick(kind: str, known: list[str], wanted: str | None, run: Run) -> str:
    if wanted is None and len(known) == 1:
        return known[0]
    if wanted is None:
        raise RunError(f"{run.path} has several {kind}: {', '.join(known)}; name the ones to use.")
    if wanted not in known:
        raise RunError(f"{run.path} has no {kind} {wanted!r}; it has {', '.join(known) or 'none'}.")
    return wanted


def score_rows(run: Run, score_id: str) -> list[ScoreRow]:
    """The last row of each key of a ledger of scores.

    Raises:
        RunError: there is no such ledger.
    """
    pick_scores(run, score_id)
    return list({row.key: row for row in run.scores(score_id).read()}.values())


def stored_outcomes(
    run: Run,
    score_id: str | None = None,
    reading_id: str | None = None,
    *,
    readers: int = 1,
    grounded: Verdicts | None = None,
) -> dict[str, Outcome]:
    """One outcome for every selected question and sample, by trajectory id, whether or not anything came of it.

    Args:
        run: the run.
        score_id: ledger of the scores; the only one by default.
        reading_id: reader whose answers count as the memory's; the only one by default.
        readers: samples of the reader to take.
        grounded: verdicts on the findings by trajectory id, for rewards with a grounding penalty.

    Raises:
        RunError: the ledgers cannot be read, or have to be named.
    """
    score_id = pick_scores(run, score_id)
    rows = score_rows(run, score_id)
    reading_id = pick_reading(run, rows, reading_id)
    answers = {row.trajectory_id: row.value for row in rows if row.target == "answer"}
    memories = {
        (row.trajectory_id, row.sample_index): row.value
        for row in rows
        if row.target == "memory" and row.reading_id == reading_id and row.variant == OWN_MEMORY
    }
    trajectories = run.trajectories()
    return {
        key: Outcome(
            answer=answers.get(key),
            memory=tuple(memories.get((key, sample)) for sample in range(readers)) if reading_id else (),
            unanswerable=question.unanswerable,
            grounded=None if grounded is None else grounded.get(key),
            echoed=_echoed(trajectories.get(key)),
        )
        for key, question in selected(run).items()
    }


def _echoed(trajectory: Trajectory | None) -> tuple[bool, ...] | None:
    return None if trajectory is None else echoes_answer(trajectory.memory, trajectory.answer)


def selected(run: Run) -> dict[str, Question]:
    """Every trajectory that the run was to have, by id, with its question; the denominator."""
    configured = run.samples
    samples = max([configured, *(found.sample_index + 1 for found in run.trajectories().values())])
    return {
        f"{question.question_id}#{sample}": question
        for question in run.questions()
        for sample in range(samples)
    }
