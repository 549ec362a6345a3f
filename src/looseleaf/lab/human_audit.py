"""The human audit's sample: rows for people to label, drawn by outcome cell and by whether scorers disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from looseleaf.errors import ConfigError, RunError
from looseleaf.lab.human_audit_record import AuditDesign, AuditRow, StratumPlan
from looseleaf.lab.ledgers import chosen_ledgers
from looseleaf.metrics import Row
from looseleaf.metrics.memory import outcome_cell
from looseleaf.metrics.stored import stored_rows
from looseleaf.runstore import Run, config_id

__all__ = ["SAMPLE_SIZE", "allocate", "audit_rows", "by_stratum", "draw_sample"]

SAMPLE_SIZE = 100
"""Rows of the paper's manual audit (AWM, arXiv 2608.25618)."""
FEWEST_DRAWN = 5
"""Rows drawn from every stratum, or all of a smaller one: fewer could not show that a stratum varies."""
DISAGREEMENT_WEIGHT = 3.0
"""How many times likelier a row is drawn where scorers disagree. A judge that errs on 6 % of rows elsewhere and on
half of these has standard deviations of .24 and .50; the optimal ratio (Neyman 1934) is theirs, 2.1, and a little more
costs little while it teaches where the judge errs."""
DISAGREE = "scorers disagree"
UNSCORED = "unscored"


def draw_sample(
    run: Run,
    n: int = SAMPLE_SIZE,
    *,
    seed: int = 0,
    score_id: str | None = None,
    reading_id: str | None = None,
    others: Sequence[str] | None = None,
    threshold: str = ">0",
) -> AuditDesign:
    """Draw rows for people to label.

    Args:
        run: a scored run with readings.
        n: rows to draw.
        seed: of the draw.
        score_id: scores whose verdicts are audited; the last scoring by default.
        reading_id: readings whose verdicts are audited; the headline reader by default.
        others: other scores that are asked for disagreement; every other one of the run by default.
        threshold: name of the binarisation.

    Raises:
        RunError: the run is not scored or has no readings.
        ConfigError: `n` cannot be drawn.
    """
    score_id, found = chosen_ledgers(run, score_id, reading_id)
    if found is None:
        raise RunError(f"{run.path} has no readings of its memories; use `looseleaf score {run.path}`.")
    asked = sorted(set(run.sidecars("scores")) - {score_id}) if others is None else list(others)
    rows, left_out = audit_rows(run, score_id, found, asked, threshold)
    strata = by_stratum(rows)
    counts = allocate({name: len(members) for name, members in strata.items()}, n)
    generator = np.random.default_rng(seed)
    drawn = {
        members[place].trajectory_id: name
        for name, members in strata.items()
        for place in generator.choice(len(members), counts[name], replace=False)
    }
    settings = {
        "scores": score_id,
        "readings": found,
        "threshold": threshold,
        "others": asked,
        "seed": seed,
        "n": n,
    }
    return AuditDesign(
        audit_id=config_id("audit", settings),
        score_id=score_id,
        reading_id=found,
        threshold=threshold,
        others=asked,
        seed=seed,
        strata={name: StratumPlan(len(members), counts[name]) for name, members in strata.items()},
        drawn=drawn,
        left_out=left_out,
    )


def audit_rows(
    run: Run, score_id: str, reading_id: str, others: Sequence[str], threshold: str
) -> tuple[list[AuditRow], int]:
    """Rows that a person could label, with their strata, and how many nobody could."""
    rows = stored_rows(run, score_id, reading_id, threshold=threshold)
    second = [stored_rows(run, other, reading_id, threshold=threshold) for other in others]
    beside = list(zip(*second, strict=True)) if second else [()] * len(rows)
    found = [_audit_row(row, other) for row, other in zip(rows, beside, strict=True) if _can_be_labelled(row)]
    return found, len(rows) - len(found)


def _can_be_labelled(row: Row) -> bool:
    return row.ran is not None and bool(row.question.references)


def _audit_row(row: Row, others: Sequence[Row]) -> AuditRow:
    cell = outcome_cell(row)
    name = UNSCORED if cell is None else str(cell)
    return AuditRow(
        trajectory_id=row.key,
        stratum=f"{name}, {DISAGREE}" if any(_disagree(row, other) for other in others) else name,
        answerable=not row.question.unanswerable,
        final=row.answer_correct,
        memory=row.memory_correct,
    )


def _disagree(row: Row, other: Row) -> bool:
    verdicts = [(row.answer_correct, other.answer_correct), (row.memory_correct, other.memory_correct)]
    return any(None not in pair and pair[0] != pair[1] for pair in verdicts)


def by_stratum(rows: Sequence[AuditRow]) -> dict[str, list[AuditRow]]:
    """Rows of each stratum, by name."""
    strata: dict[str, list[AuditRow]] = {}
    for row in rows:
        strata.setdefault(row.stratum, []).append(row)
    return dict(sorted(strata.items()))


def allocate(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """How many rows to draw from each stratum: `FEWEST_DRAWN` of each, the rest by size, `DISAGREE` strata more.

    Raises:
        ConfigError: there are fewer rows than `n`, or `n` is too small for the strata.
    """
    counts = {name: min(FEWEST_DRAWN, size) for name, size in sizes.items()}
    if n > sum(sizes.values()):
        raise ConfigError(f"Only {sum(sizes.values())} rows can be labelled and not {n}; draw fewer with -n.")
    if n < sum(counts.values()):
        raise ConfigError(
            f"{len(sizes)} strata need at least {sum(counts.values())} rows and not {n}; draw more with -n."
        )
    weights = {
        name: size * (DISAGREEMENT_WEIGHT if DISAGREE in name else 1.0) for name, size in sizes.items()
    }
    while sum(counts.values()) < n:  # one row at a time to the stratum that is furthest behind its share
        open_strata = [name for name in sizes if counts[name] < sizes[name]]
        behind = max(open_strata, key=lambda name: weights[name] / (counts[name] + 1))
        counts[behind] += 1
    return counts
