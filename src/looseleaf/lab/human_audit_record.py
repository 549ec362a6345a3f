"""What a human audit consists of: rows, labels, the design of the sample and the result."""

from __future__ import annotations

import msgspec

from looseleaf.statistics import Estimate

__all__ = ["AuditDesign", "AuditResult", "AuditRow", "Confusion", "Label", "StratumPlan"]


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the run that a person could label.

    Attributes:
        trajectory_id: which row.
        stratum: outcome cell by the judge, and whether scorers disagree on it.
        answerable: whether the gold answer exists.
        final: whether the judge holds the final answer for right; `None` = unscored.
        memory: whether the judge holds the reader's answer from memory for right; `None` = unscored.
    """

    trajectory_id: str
    stratum: str
    answerable: bool
    final: bool | None
    memory: bool | None


class Label(msgspec.Struct, frozen=True):
    """What a person says of one row.

    Attributes:
        final_right: the final answer is right.
        memory_sufficient: the notes alone are enough to answer.
    """

    final_right: bool
    memory_sufficient: bool


class StratumPlan(msgspec.Struct, frozen=True):
    """Rows of a stratum, and how many of them were drawn."""

    size: int
    drawn: int


class AuditDesign(msgspec.Struct, frozen=True, kw_only=True):
    """How a sample was drawn; stored beside the run so that the estimate uses the same strata.

    Attributes:
        audit_id: name of the sample.
        score_id: scores whose verdicts are audited.
        reading_id: readings whose verdicts are audited.
        threshold: name of the binarisation.
        others: other scores that were asked for disagreement; empty = strata are the cells alone.
        seed: of the draw.
        strata: rows and drawn rows of each.
        drawn: stratum of each drawn row, by trajectory id.
        left_out: rows that nobody can label, because a fault left no answer or there is no gold answer.
    """

    audit_id: str
    score_id: str
    reading_id: str
    threshold: str
    others: list[str]
    seed: int
    strata: dict[str, StratumPlan]
    drawn: dict[str, str]
    left_out: int


class Confusion(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdicts against the human labels.

    Attributes:
        labelled: labelled rows by (judge, human), keys `right/right`, `right/wrong`, `wrong/right`, `wrong/wrong`.
        estimated: the same, weighted up to all rows that the judge scored.
        kappa: Cohen's κ of the estimated counts, or `None` where it is undefined.
        disagreement: share of rows on which judge and human differ.
    """

    labelled: dict[str, int]
    estimated: dict[str, float]
    kappa: float | None
    disagreement: Estimate


class AuditResult(msgspec.Struct, frozen=True, kw_only=True):
    """What people's labels say of the whole run.

    Attributes:
        design: how the sample was drawn.
        labelled: labelled rows by stratum.
        estimates: rates of the whole run as people would label it, by name.
        judges: confusion of the judge on final answers (`final`) and on the memory (`memory`).
    """

    design: AuditDesign
    labelled: dict[str, int]
    estimates: dict[str, Estimate]
    judges: dict[str, Confusion]
