"""Whether training's scorer and reader agree with the official scorer and with readers that training does not use.

A reward that rises while this agreement falls is a policy learning what its reader likes (AWM, arXiv 2608.25618, names
a second reader as future work). Pairs without a score on either side are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from looseleaf.lab.records import ScoredRun
from looseleaf.lab.robustness import cohens_kappa
from looseleaf.metrics import Row
from looseleaf.runstore import Run

__all__ = ["PairAgreement", "Side", "StepAgreement", "step_agreement"]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Who scored and who read.

    Attributes:
        score_id: ledger of the scores.
        reading_id: ledger of the readings; `None` where no memory was read.
    """

    score_id: str
    reading_id: str | None


class PairAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Two verdicts on the same rows.

    Attributes:
        target: `answer` or `memory`.
        training: who gave the first verdict.
        evaluation: who gave the second one.
        n_rows: selected rows.
        n: rows with both verdicts.
        both: correct for both.
        only_training: correct in training only: what training rewards and evaluation does not.
        only_evaluation: correct in evaluation only.
        neither: wrong for both.
        kappa: Cohen's κ; `None` where chance agreement is 1.
    """

    target: str
    training: Side
    evaluation: Side
    n_rows: int
    n: int
    both: int
    only_training: int
    only_evaluation: int
    neither: int
    kappa: float | None


class StepAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs of one checkpoint.

    Attributes:
        step: optimiser step.
        threshold: when a graded score counts as correct.
        pairs: the answer under both scorers; the memory, training's reader and scorer against each reader of
            evaluation under its scorer.
    """

    step: int
    threshold: str
    pairs: list[PairAgreement]


def step_agreement(
    run: Run, step: int, training: Side, evaluation: Sequence[Side], threshold: str
) -> StepAgreement:
    """Compare the verdicts that a scored run holds.

    Args:
        run: scored with both.
        step: optimiser step of its policy.
        training: scorer and reader of training.
        evaluation: scorer of evaluation, with each of its readers; at least one entry.
        threshold: when a graded score counts as correct.

    Raises:
        RunError: the run has no such ledger.
    """
    ours = _rows(run, training, threshold)
    pairs = [_pair("answer", training, evaluation[0], ours, _rows(run, evaluation[0], threshold))]
    pairs += [
        _pair("memory", training, side, ours, _rows(run, side, threshold))
        for side in evaluation
        if side.reading_id is not None and training.reading_id is not None
    ]
    return StepAgreement(step=step, threshold=threshold, pairs=pairs)


def _rows(run: Run, side: Side, threshold: str) -> list[Row]:
    return ScoredRun(run, side.score_id).rows(side.reading_id, threshold=threshold)


def _pair(
    target: str, training: Side, evaluation: Side, ours: Sequence[Row], theirs: Sequence[Row]
) -> PairAgreement:
    verdicts = [(_verdict(a, target), _verdict(b, target)) for a, b in zip(ours, theirs, strict=True)]
    known = [(a, b) for a, b in verdicts if a is not None and b is not None]
    return PairAgreement(
        target=target,
        training=training,
        evaluation=evaluation,
        n_rows=len(verdicts),
        n=len(known),
        both=sum(a and b for a, b in known),
        only_training=sum(a and not b for a, b in known),
        only_evaluation=sum(b and not a for a, b in known),
        neither=sum(not a and not b for a, b in known),
        kappa=cohens_kappa(known),
    )


def _verdict(row: Row, target: str) -> bool | None:
    return row.answer_correct if target == "answer" else row.memory_correct
