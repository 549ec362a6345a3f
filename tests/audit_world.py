"""A made-up run whose human labels are known on every row, and a judge that errs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from looseleaf.lab.human_audit import allocate, by_stratum
from looseleaf.lab.human_audit_record import AuditDesign, AuditRow, Label, StratumPlan

ROWS = 1_082
CELLS = {(True, True): 0.36, (True, False): 0.08, (False, True): 0.06, (False, False): 0.50}
"""Cells as people would label them, about those of AWM-GRPO (AWM, arXiv 2608.25618, Table 5)."""
ANSWERABLE = 0.79
EASY, HARD = 0.02, 0.30
"""Chance of an error of the judge, per verdict: on most rows, and on the hard ones."""
HARD_SHARE = 0.12


class AuditWorld(NamedTuple):
    """All rows with the judge's verdicts, and what people would say of each."""

    rows: list[AuditRow]
    truth: dict[str, Label]

    def design(self, counts: Mapping[str, int]) -> AuditDesign:
        return AuditDesign(
            audit_id="audit-00000000",
            score_id="s",
            reading_id="r",
            threshold=">0",
            others=["t"],
            seed=0,
            strata={
                name: StratumPlan(len(rows), counts[name]) for name, rows in by_stratum(self.rows).items()
            },
            drawn={},
            left_out=0,
        )

    def rate(self, name: str) -> float:
        """The true rate over all rows."""
        said = [(self.truth[row.trajectory_id], row.answerable) for row in self.rows]
        if name == "P_mmc[answerable]":
            right = [label for label, answerable in said if answerable and label.final_right]
            return sum(not label.memory_sufficient for label in right) / len(right)
        attribute = {"final answer right": "final_right", "memory sufficient": "memory_sufficient"}[name]
        return sum(getattr(label, attribute) for label, _ in said) / len(said)


def make_world(seed: int = 0, *, easy: float = EASY, hard: float = HARD) -> AuditWorld:
    """Two scorers that err independently, more on hard rows; the first is the judge."""
    generator = np.random.default_rng(seed)
    cells = list(CELLS)
    rows, truth = [], {}
    for number in range(ROWS):
        key = f"mini:{number}#0"
        final, memory = cells[generator.choice(len(cells), p=list(CELLS.values()))]
        chance = hard if generator.random() < HARD_SHARE else easy
        wrong = generator.random((2, 2)) < chance
        verdicts = [(final ^ bool(of[0]), memory ^ bool(of[1])) for of in wrong]
        cell = f"{int(verdicts[0][0])}{int(verdicts[0][1])}"
        rows.append(
            AuditRow(
                trajectory_id=key,
                stratum=cell if verdicts[0] == verdicts[1] else f"{cell}, scorers disagree",
                answerable=bool(generator.random() < ANSWERABLE),
                final=verdicts[0][0],
                memory=verdicts[0][1],
            )
        )
        truth[key] = Label(final, memory)
    return AuditWorld(rows, truth)


def draw_labels(world: AuditWorld, n: int, generator: np.random.Generator) -> dict[str, Label]:
    """Labels of a stratified sample, drawn as `draw_sample` draws."""
    strata = by_stratum(world.rows)
    counts = allocate({name: len(rows) for name, rows in strata.items()}, n)
    drawn = [
        rows[place].trajectory_id
        for name, rows in strata.items()
        for place in generator.choice(len(rows), counts[name], replace=False)
    ]
    return {key: world.truth[key] for key in drawn}
