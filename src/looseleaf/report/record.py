"""`Report`: what a stored run says, as data that every output format prints."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from looseleaf.metrics import MetricTable
from looseleaf.report.scoring import ScoringDetails

__all__ = ["Report", "TrainingPoint", "report_differences"]

SETTINGS_OF_THE_AGENT = frozenset({"policy", "score ledger"})
"""Settings that runs are compared across on purpose."""


class TrainingPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where in a training a run's policy stands.

    Attributes:
        step: optimiser step.
        series: which training: its output folder, or the folder of its runs.
    """

    step: int
    series: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One run under one scorer and one reader, other scorers beside it.

    Attributes:
        title: name of the run folder.
        settings: what the numbers depend on, as printable pairs.
        notices: what a reader of the numbers must know (oracle settings, embedded models, unscored rows).
        counts: selected, run, scored and excluded questions.
        labels: printed label of every metric, marks included.
        marks: what the marks on labels mean.
        headline: the first table.
        cells: shares of the four outcome cells.
        breakdowns: tables by answer format, evidence source, document type and answerability.
        stop_reasons: trajectories by stop reason.
        scoring: scorers beside each other, official aggregates, drift.
        training: where in a training the policy stands, if it is in one.
    """

    title: str
    settings: dict[str, str]
    notices: list[str]
    counts: dict[str, int]
    labels: dict[str, str]
    marks: dict[str, str]
    headline: MetricTable
    cells: MetricTable
    breakdowns: dict[str, list[MetricTable]]
    stop_reasons: dict[str, int]
    scoring: ScoringDetails
    training: TrainingPoint | None = None


def report_differences(reports: Sequence[Report]) -> list[str]:
    """Names of settings in which the reports differ, so that their numbers may not compare."""
    names = dict.fromkeys(
        name for report in reports for name in report.settings if name not in SETTINGS_OF_THE_AGENT
    )
    return [name for name in names if len({report.settings.get(name) for report in reports}) > 1]
