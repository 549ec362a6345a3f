"""What a report says of scoring itself: scorers beside each other, official aggregates, and drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from looseleaf.lab.drift import Drift, drift_of
from looseleaf.metrics import Row
from looseleaf.metrics.stored import StoredRun
from looseleaf.report.agreement import (
    SafeDifferences,
    ScorerAgreement,
    agreement_blocks,
    safe_block,
    safe_differences,
    scorer_agreements,
)
from looseleaf.report.blocks import Block
from looseleaf.report.marks import EXTRACTOR_MARK, marks_of
from looseleaf.report.official import OfficialAggregates, official_aggregates, official_blocks
from looseleaf.report.scorers import ScorerLine, scorer_lines, scorers_block, short_names

__all__ = ["ScoringDetails", "scoring_details"]


class ScoringDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about the scorers of one run.

    Attributes:
        threshold: the binarisation in force.
        marks: what the marks on its numbers mean.
        scorers: scorer × {answer, memory}.
        agreements: every pair of scorers under every named threshold.
        safe: the rows on which official and safe rule differ, for a benchmark that has both.
        official: official aggregates of the first scorer that has them, by target.
        drift: replays of the drift items through the extractors and judges.
    """

    threshold: str
    marks: dict[str, str]
    scorers: list[ScorerLine]
    agreements: list[ScorerAgreement]
    safe: SafeDifferences | None
    official: list[OfficialAggregates]
    drift: list[Drift]

    def blocks(self) -> list[Block]:
        """The printed parts, in order."""
        signs = {line.target: line.marks for line in self.scorers if self._is_official(line)}
        return [
            scorers_block(self.scorers, self.marks),
            *agreement_blocks(self.agreements, self.threshold),
            *official_blocks(self.official, signs),
            *([safe_block(self.safe)] if self.safe else []),
            *([_drift_block(self.drift)] if self.drift else []),
        ]

    def _is_official(self, line: ScorerLine) -> bool:
        return bool(self.official) and line.scorer == self.official[0].scorer

    def warnings(self) -> list[str]:
        """What a reader must know before the numbers."""
        return [warning for each in self.drift if (warning := each.warning())]


def scoring_details(
    stored: StoredRun, score_ids: Sequence[str], reading_id: str | None, threshold: str
) -> ScoringDetails:
    """Compute them from stored records; nobody is asked.

    Args:
        stored: the run.
        score_ids: ledgers of scores, each once, the headline one first.
        reading_id: reader whose readings are the memory's answers, or `None`.
        threshold: the binarisation in force.

    Raises:
        RunError: there is no such ledger.
    """
    targets = ["answer"] if reading_id is None else ["answer", "memory"]
    run = stored.run
    rows = {score_id: stored.rows(score_id, reading_id, threshold=threshold) for score_id in score_ids}
    names = short_names(run, score_ids)
    marks = {score_id: marks_of(run, score_id, reading_id) for score_id in score_ids}
    signs = {score_id: EXTRACTOR_MARK * (EXTRACTOR_MARK in found) for score_id, found in marks.items()}
    marked = {f"{names[score_id]} {signs[score_id]}".rstrip(): found for score_id, found in rows.items()}
    scorers = {
        score_id: str(run.sidecars("scores").get(score_id, {}).get("scorer")) for score_id in score_ids
    }
    safe = (safe_differences(scorers[key], rows[key], targets, signs[key]) for key in score_ids)
    return ScoringDetails(
        threshold=threshold,
        marks={sign: meaning for found in marks.values() for sign, meaning in found.items()},
        scorers=scorer_lines(run, rows, reading_id),
        agreements=scorer_agreements(marked, targets, threshold),
        safe=next((found for found in safe if found is not None), None),
        official=_official(scorers, rows, targets),
        drift=[found for score_id in score_ids if (found := drift_of(run, score_id))],
    )


def _official(
    scorers: Mapping[str, str], rows: Mapping[str, Sequence[Row]], targets: Sequence[str]
) -> list[OfficialAggregates]:
    for score_id, scorer in scorers.items():
        found = [official_aggregates(scorer, rows[score_id], target) for target in targets]
        if any(found):
            return [each for each in found if each is not None]
    return []


def _drift_block(drift: Sequence[Drift]) -> Block:
    return Block(title="Scorer drift", sentences=tuple(dict.fromkeys(each.text() for each in drift)))
