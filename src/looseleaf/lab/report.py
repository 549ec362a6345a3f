"""`LabReport`: everything that the lab found in one stored run, as data. Nothing is read, asked or run here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from looseleaf.lab.answerability import Answerability, answerability
from looseleaf.lab.anytime import Anytime, anytime
from looseleaf.lab.carriers import Carriers, carriers
from looseleaf.lab.controls import Control, controls
from looseleaf.lab.echoes import EchoAudit, audit_echoes
from looseleaf.lab.findings import FindingAudit, audit_findings
from looseleaf.lab.grounding.audit import GroundingAudit, GroundingRow, audit_grounding
from looseleaf.lab.intervention import Intervention, intervention
from looseleaf.lab.records import ScoredRun
from looseleaf.lab.robustness import (
    Agreement,
    Knowledge,
    Sampled,
    agreements,
    knowledge,
    sampled,
)
from looseleaf.lab.twins import CausalScore
from looseleaf.runstore import Ledger, Run

__all__ = ["LabLedgers", "LabReport", "ReaderControls", "build_lab_report"]


class LabLedgers(msgspec.Struct, frozen=True, kw_only=True):
    """Which stored records to look at.

    Attributes:
        score_id: ledger of the scores.
        reading_ids: ledgers of the readers, headline reader first.
        sampled_ids: ledgers of the sampled readers.
        answer_id: ledger of answers under swapped memories, or empty.
        answerer: printable name of who gave them.
        grounding_id: ledger of grounding verdicts, or empty.
        checker: printable name of the grounding check.
    """

    score_id: str
    reading_ids: tuple[str, ...]
    sampled_ids: tuple[str, ...] = ()
    answer_id: str = ""
    answerer: str = ""
    grounding_id: str = ""
    checker: str = ""


class ReaderControls(msgspec.Struct, frozen=True, kw_only=True):
    """The controls of one reader."""

    reading_id: str
    controls: list[Control]


class LabReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the lab found; parts that nothing was stored for are empty or `None`.

    Attributes:
        title: name of the run folder.
        threshold: when a graded score counts as correct.
        ledgers: the stored records behind it.
        readers: memory-only answerability of each reader.
        agreements: every pair of readers.
        samples: repeated samples of each sampled reader.
        knowledge: what each reader answers without a memory.
        controls: other memories, reader by reader.
        carriers: which findings carry the answer.
        anytime: what the memory answered over time.
        intervention: the controlled intervention under the headline reader.
        findings: audit of findings without the documents.
        echoes: audit of memories that say the answer.
        grounding: audit of findings against their cited pages.
        twins: causal memory score, where twin runs were given.
    """

    title: str
    threshold: str
    ledgers: LabLedgers
    readers: list[Answerability]
    agreements: list[Agreement]
    samples: list[Sampled]
    knowledge: list[Knowledge]
    controls: list[ReaderControls]
    carriers: list[Carriers]
    anytime: list[Anytime]
    intervention: Intervention | None
    findings: FindingAudit
    echoes: EchoAudit
    grounding: GroundingAudit | None
    twins: CausalScore | None


def build_lab_report(
    run: Run, ledgers: LabLedgers, threshold: str, twins: CausalScore | None = None
) -> LabReport:
    """Compute the report from what is stored.

    Raises:
        RunError: there are no such scores.
    """
    scored = ScoredRun(run, ledgers.score_id)
    headline = ledgers.reading_ids[0]
    reading_ids = ledgers.reading_ids
    return LabReport(
        title=run.path.resolve().name,
        threshold=threshold,
        ledgers=ledgers,
        readers=[answerability(scored, reading_id, threshold) for reading_id in reading_ids],
        agreements=agreements(scored, reading_ids, threshold),
        samples=_present([sampled(scored, reading_id, threshold) for reading_id in ledgers.sampled_ids]),
        knowledge=_present([knowledge(scored, reading_id, threshold) for reading_id in reading_ids]),
        controls=[
            ReaderControls(reading_id=reading_id, controls=controls(scored, reading_id, threshold))
            for reading_id in reading_ids
        ],
        carriers=_present([carriers(scored, reading_id, threshold) for reading_id in reading_ids]),
        anytime=_present([anytime(scored, reading_id, threshold) for reading_id in reading_ids]),
        intervention=intervention(scored, headline, threshold, ledgers.answer_id or None, ledgers.answerer),
        findings=audit_findings(scored),
        echoes=audit_echoes(scored, headline, threshold),
        grounding=_grounding(scored, ledgers, threshold),
        twins=twins,
    )


Part = TypeVar("Part")


def _present(parts: Sequence[Part | None]) -> list[Part]:
    return [part for part in parts if part is not None]


def _grounding(scored: ScoredRun, ledgers: LabLedgers, threshold: str) -> GroundingAudit | None:
    if not ledgers.grounding_id:
        return None
    path = scored.run.path / "audits" / f"{ledgers.grounding_id}.jsonl"
    by_finding = {row.key: row for row in Ledger(path, GroundingRow).read()}
    rows: dict[str, list[GroundingRow]] = {}
    for row in by_finding.values():
        rows.setdefault(row.trajectory_id, []).append(row)
    ordered = {key: sorted(found, key=lambda row: row.finding) for key, found in rows.items()}
    return audit_grounding(scored, ordered, ledgers.reading_ids[0], threshold, ledgers.checker)
