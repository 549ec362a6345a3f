"""`Report`: what a stored run says, as data that every output format prints."""

from __future__ import annotations

import msgspec

from looseleaf.metrics import MetricTable

__all__ = ["Report"]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One run under one scorer and one reader.

    Attributes:
        title: name of the run folder.
        settings: what the numbers depend on, as printable pairs.
        notices: what a reader of the numbers must know (oracle settings, embedded models, unscored rows).
        counts: selected, run, scored and excluded questions.
        headline: the first table.
        cells: shares of the four outcome cells.
        breakdowns: tables by answer format, evidence source, document type and answerability.
        stop_reasons: trajectories by stop reason.
    """

    title: str
    settings: dict[str, str]
    notices: list[str]
    counts: dict[str, int]
    headline: MetricTable
    cells: MetricTable
    breakdowns: dict[str, list[MetricTable]]
    stop_reasons: dict[str, int]
