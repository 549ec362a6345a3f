"""What people's labels of a sample say of the whole run.

People label few rows, the judge has a verdict on all. The estimate takes the judge on every row and corrects it by what
people found on the sample (`looseleaf.statistics.stratified`). It speaks of the rows of this run: what varies is which
of them were drawn, not which documents the benchmark has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from looseleaf.errors import DataError, RunError
from looseleaf.lab.human_audit import audit_rows, by_stratum
from looseleaf.lab.human_audit_record import AuditDesign, AuditResult, AuditRow, Confusion, Label
from looseleaf.runstore import Run
from looseleaf.statistics import Estimate, Stratum, stratified_ratio
from looseleaf.statistics.clusters import Floats

__all__ = ["ESTIMATED", "FEWEST_LABELS", "estimate_audit", "estimate_run"]

FEWEST_LABELS = 2
"""Labels without which a stratum has no variance."""

Pair = tuple[float, float]
"""What a row adds to numerator and denominator."""
Rate = Callable[[Label, bool], Pair]
"""The pair of a row from (final answer right, memory sufficient) and whether it is answerable."""

ESTIMATED: dict[str, Rate] = {
    "final answer right": lambda said, _: (float(said.final_right), 1.0),
    "memory sufficient": lambda said, _: (float(said.memory_sufficient), 1.0),
    "P_mmc[answerable]": lambda said, answerable: _missing(said, answerable),
    "P_mmc": lambda said, _: _missing(said, True),
    "Cell11": lambda said, _: (float(said.final_right and said.memory_sufficient), 1.0),
    "Cell10": lambda said, _: (float(said.final_right and not said.memory_sufficient), 1.0),
    "Cell01": lambda said, _: (float(not said.final_right and said.memory_sufficient), 1.0),
    "Cell00": lambda said, _: (float(not said.final_right and not said.memory_sufficient), 1.0),
}
"""The rates that are estimated, by name."""
NO_VERDICT: Pair = (0.0, 0.0)
"""What the judge adds where it has no verdict: such a row rests on people alone and is no wrong one of the judge's."""
TARGETS = ("final", "memory")
VERDICTS = {True: "right", False: "wrong"}
SAYINGS = [Label(final, memory) for final in (True, False) for memory in (True, False)]


def _missing(said: Label, counts: bool) -> Pair:
    right = said.final_right and counts
    return float(right and not said.memory_sufficient), float(right)


def estimate_run(run: Run, design: AuditDesign, labels: Mapping[str, Label]) -> AuditResult:
    """What the labels say of the whole run.

    Raises:
        DataError: a label is of a row that was not drawn, or a stratum has too few labels.
        RunError: the run's scores are not those that the sample was drawn from.
    """
    rows, _ = audit_rows(run, design.score_id, design.reading_id, design.others, design.threshold)
    if not _as_drawn(rows, design):
        raise RunError(
            f"The scores of {run.path} are not those that {design.audit_id} was drawn from; draw a new sample."
        )
    strangers = sorted(set(labels) - set(design.drawn))
    if strangers:
        raise DataError(f"{strangers[0]} is not a row of {design.audit_id}; label the rows that were drawn.")
    return estimate_audit(rows, design, labels)


def _as_drawn(rows: Sequence[AuditRow], design: AuditDesign) -> bool:
    now = {row.trajectory_id: row.stratum for row in rows}
    sizes = Counter(row.stratum for row in rows)
    return sizes == {name: plan.size for name, plan in design.strata.items()} and all(
        now.get(trajectory_id) == stratum for trajectory_id, stratum in design.drawn.items()
    )


def estimate_audit(rows: Sequence[AuditRow], design: AuditDesign, labels: Mapping[str, Label]) -> AuditResult:
    """The estimates, from all rows and the labels of some.

    Raises:
        DataError: a stratum has too few labels.
    """
    strata = by_stratum(rows)
    labelled = {name: sum(row.trajectory_id in labels for row in members) for name, members in strata.items()}
    for name, members in strata.items():
        if labelled[name] < min(FEWEST_LABELS, len(members)):
            raise DataError(
                f"The stratum “{name}” of {len(members)} rows has {labelled[name]} labels, so nothing can be said of "
                f"the run; label at least {FEWEST_LABELS} of its rows."
            )
    return AuditResult(
        design=design,
        labelled=labelled,
        estimates={name: _estimate(strata, labels, rate) for name, rate in ESTIMATED.items()},
        judges={target: _confusion(rows, strata, labels, target) for target in TARGETS},
    )


def _estimate(strata: Mapping[str, Sequence[AuditRow]], labels: Mapping[str, Label], rate: Rate) -> Estimate:
    parts = {name: _stratum(members, labels, rate) for name, members in strata.items()}
    return stratified_ratio(parts, [rate(said, counts) for said in SAYINGS for counts in (True, False)])


def _stratum(members: Sequence[AuditRow], labels: Mapping[str, Label], rate: Rate) -> Stratum:
    seen = [row for row in members if row.trajectory_id in labels]
    return Stratum(
        predicted=_pairs(_judged(row, rate) for row in members),
        predicted_labelled=_pairs(_judged(row, rate) for row in seen),
        human=_pairs(rate(labels[row.trajectory_id], row.answerable) for row in seen),
    )


def _pairs(pairs: Iterable[Pair]) -> Floats:
    return np.array(list(pairs), dtype=np.float64).reshape(-1, 2)


def _judged(row: AuditRow, rate: Rate) -> Pair:
    if row.final is None or row.memory is None:
        return NO_VERDICT
    return rate(Label(row.final, row.memory), row.answerable)


# -- the judge against people -----------------------------------------------------------------------------------


def _confusion(
    rows: Sequence[AuditRow],
    strata: Mapping[str, Sequence[AuditRow]],
    labels: Mapping[str, Label],
    target: str,
) -> Confusion:
    weights = _weights(strata, labels)
    labelled: Counter[str] = Counter({f"{a}/{b}": 0 for a in VERDICTS.values() for b in VERDICTS.values()})
    estimated = dict.fromkeys(labelled, 0.0)
    for row in rows:
        verdict = _verdict(row, target)
        if verdict is None or row.trajectory_id not in labels:
            continue
        cell = f"{VERDICTS[verdict]}/{VERDICTS[_said(labels[row.trajectory_id], target)]}"
        labelled[cell] += 1
        estimated[cell] += weights[row.stratum]
    return Confusion(
        labelled=dict(labelled),
        estimated=estimated,
        kappa=_kappa(estimated),
        disagreement=_disagreement(strata, labels, target),
    )


def _weights(strata: Mapping[str, Sequence[AuditRow]], labels: Mapping[str, Label]) -> dict[str, float]:
    """Rows that each labelled row of a stratum stands for."""
    return {
        name: len(members) / sum(row.trajectory_id in labels for row in members)
        for name, members in strata.items()
    }


def _verdict(row: AuditRow, target: str) -> bool | None:
    return row.final if target == "final" else row.memory


def _said(label: Label, target: str) -> bool:
    return label.final_right if target == "final" else label.memory_sufficient


def _kappa(cells: Mapping[str, float]) -> float | None:
    """Cohen's κ (1960, Educ. Psychol. Meas. 20, 37–46); `None` where one of the two always says the same."""
    total = sum(cells.values())
    if not total:
        return None
    agree = (cells["right/right"] + cells["wrong/wrong"]) / total
    judge = (cells["right/right"] + cells["right/wrong"]) / total
    human = (cells["right/right"] + cells["wrong/right"]) / total
    chance = judge * human + (1 - judge) * (1 - human)
    return (agree - chance) / (1 - chance) if chance < 1 else None


def _disagreement(
    strata: Mapping[str, Sequence[AuditRow]], labels: Mapping[str, Label], target: str
) -> Estimate:
    """Share of the rows with a verdict on which people say otherwise."""
    parts = {name: _differing(members, labels, target) for name, members in strata.items()}
    return stratified_ratio(parts, [(0.0, 1.0), (1.0, 1.0)])


def _differing(members: Sequence[AuditRow], labels: Mapping[str, Label], target: str) -> Stratum:
    def judged(row: AuditRow) -> Pair:
        return NO_VERDICT if _verdict(row, target) is None else (0.0, 1.0)

    def human(row: AuditRow) -> Pair:
        verdict = _verdict(row, target)
        return (
            NO_VERDICT
            if verdict is None
            else (float(verdict != _said(labels[row.trajectory_id], target)), 1.0)
        )

    seen = [row for row in members if row.trajectory_id in labels]
    return Stratum(
        predicted=_pairs(map(judged, members)),
        predicted_labelled=_pairs(map(judged, seen)),
        human=_pairs(map(human, seen)),
    )
