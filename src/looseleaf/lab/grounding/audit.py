"""The grounding audit of a run: verdicts on findings, and memories that answer ungrounded or are grounded in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from looseleaf.lab.carriers import row_carriers
from looseleaf.lab.grounding.record import ClaimVerdict, Grounding, Verdict
from looseleaf.lab.measure import measured
from looseleaf.lab.records import Item, ScoredRun
from looseleaf.metrics import UNDEFINED, UNSCORED, MetricValue, Ratio
from looseleaf.roles import Usage
from looseleaf.score import Unscored
from looseleaf.scoring.thresholds import binarise

__all__ = ["GroundingAudit", "GroundingRow", "audit_grounding"]

NO_USAGE = Usage()


class GroundingRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The stored verdict on one finding.

    Attributes:
        trajectory_id: whose memory.
        finding: its 1-based number in the terminal memory.
        source_page: physical page that it cites.
        verdict: what the page says, or `None` where the check failed.
        claims: the claims that were checked, for the embedded check.
        elsewhere: page that says it, where the cited one does not.
        reason: why nothing was checked, or the judge's words.
        unscored: why there is no verdict.
        error: the sentence of the fault.
        usage: what a judge took.
    """

    trajectory_id: str
    finding: int
    source_page: int
    verdict: Verdict | None = None
    claims: tuple[ClaimVerdict, ...] = ()
    elsewhere: int | None = None
    reason: str = ""
    unscored: Unscored | None = None
    error: str | None = None
    usage: Usage = Usage()

    @property
    def key(self) -> str:
        """Identity of the row inside its ledger."""
        return f"{self.trajectory_id}|{self.finding}"

    @classmethod
    def of(
        cls, trajectory_id: str, finding: int, page: int, grounding: Grounding, usage: Usage = NO_USAGE
    ) -> GroundingRow:
        """The row of a verdict."""
        return cls(
            trajectory_id=trajectory_id,
            finding=finding,
            source_page=page,
            verdict=grounding.verdict,
            claims=grounding.claims,
            elsewhere=grounding.elsewhere,
            reason=grounding.reason,
            usage=usage,
        )


class GroundingAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Grounding of a run's findings under one check.

    Attributes:
        checker: printable name of the check.
        verdicts: findings by verdict; failed checks under `unscored`.
        grounded: share of the checked findings that are grounded.
        contradicted: share that is contradicted.
        not_found: share that is not found.
        unchecked: why findings were not checked, with counts.
        claims: wrong claims by kind.
        elsewhere: findings that another page of the document says.
        answerable_ungrounded: share of answerable rows where the memory answers and no finding that carries the answer
            is grounded.
        grounded_insufficient: share of answerable rows where the memory does not answer although every finding of it
            that was checked is grounded.
    """

    checker: str
    verdicts: dict[str, int]
    grounded: MetricValue
    contradicted: MetricValue
    not_found: MetricValue
    unchecked: dict[str, int]
    claims: dict[str, int]
    elsewhere: int
    answerable_ungrounded: MetricValue
    grounded_insufficient: MetricValue


def audit_grounding(
    scored: ScoredRun,
    rows: Mapping[str, Sequence[GroundingRow]],
    reading_id: str | None,
    threshold: str,
    checker: str,
) -> GroundingAudit:
    """Summarise stored verdicts.

    Args:
        scored: the run.
        rows: verdicts by trajectory id, in the order of the findings.
        reading_id: reader that says which memories answer; without one the last two shares are unscored.
        threshold: when a graded score counts as correct.
        checker: printable name of the check.
    """
    pairs = [(item, row) for item in scored.items if item.noted is not None for row in rows.get(item.key, ())]
    found = [row for _, row in pairs]
    answerable = [item for item in scored.items if item.noted is not None and not item.question.unanswerable]
    states = [
        (item, _state(scored, rows.get(item.key, ()), item, reading_id, threshold)) for item in answerable
    ]
    return GroundingAudit(
        checker=checker,
        verdicts=dict(Counter(str(row.verdict or "unscored") for row in found)),
        grounded=_share("grounded", pairs, Verdict.GROUNDED),
        contradicted=_share("contradicted", pairs, Verdict.CONTRADICTED),
        not_found=_share("not found", pairs, Verdict.NOT_FOUND),
        unchecked=dict(Counter(row.reason for row in found if row.verdict is Verdict.UNCHECKED)),
        claims=_wrong_claims(found),
        elsewhere=sum(row.elsewhere is not None for row in found),
        answerable_ungrounded=_rows_that("answerable but ungrounded", states, ANSWERS_UNGROUNDED),
        grounded_insufficient=_rows_that("grounded but insufficient", states, GROUNDED_INSUFFICIENT),
    )


def _share(name: str, pairs: Iterable[tuple[Item, GroundingRow]], verdict: Verdict) -> MetricValue:
    def outcome(row: GroundingRow) -> Ratio | None:
        return None if row.verdict is Verdict.UNCHECKED else Ratio(float(row.verdict is verdict))

    return measured(
        name,
        [
            (UNSCORED if row.verdict is None else outcome(row) or UNDEFINED, item.question.doc_id)
            for item, row in pairs
        ],
    )


def _wrong_claims(rows: Iterable[GroundingRow]) -> dict[str, int]:
    wrong = (Verdict.CONTRADICTED, Verdict.NOT_FOUND)
    return dict(Counter(f"{c.kind}, {c.verdict}" for row in rows for c in row.claims if c.verdict in wrong))


ANSWERS_UNGROUNDED = "answers, ungrounded"
GROUNDED_INSUFFICIENT = "grounded, does not answer"
OTHER = "other"
UNKNOWN = "unknown"
"""The memory is unread or unscored, or a verdict that matters is missing."""


def _state(
    scored: ScoredRun,
    verdicts: Sequence[GroundingRow],
    item: Item,
    reading_id: str | None,
    threshold: str,
) -> str:
    score = None if reading_id is None else scored.memory_score(item, reading_id)
    if reading_id is None or score is None or score.value is None or any(v.verdict is None for v in verdicts):
        return UNKNOWN
    checked = [row for row in verdicts if row.verdict is not Verdict.UNCHECKED]
    if not binarise(score.value, threshold):
        all_grounded = bool(checked) and all(row.verdict is Verdict.GROUNDED for row in checked)
        return GROUNDED_INSUFFICIENT if all_grounded else OTHER
    carrying = row_carriers(scored, reading_id, item, threshold).sufficient
    that_carry = [row for row in checked if not carrying or row.finding in carrying]
    ungrounded = bool(that_carry) and all(row.verdict is not Verdict.GROUNDED for row in that_carry)
    return ANSWERS_UNGROUNDED if ungrounded else OTHER


def _rows_that(name: str, states: Iterable[tuple[Item, str]], state: str) -> MetricValue:
    return measured(
        name,
        [
            (UNSCORED if found == UNKNOWN else Ratio(float(found == state)), item.question.doc_id)
            for item, found in states
        ],
    )
