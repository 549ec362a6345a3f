"""`Comparison`: what two stored runs say about each other, as data that every output format prints."""

from __future__ import annotations

import msgspec

from looseleaf.lab.compare_settings import Setting, SettingDifference
from looseleaf.statistics import (
    BootstrapInterval,
    ConditionalSplit,
    Difference,
    Interval,
    SampleSize,
    SeedSummary,
    TestResult,
)

__all__ = ["Comparison", "MetricComparison", "Side", "SliceTable"]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two runs.

    Attributes:
        name: name of its folder.
        policy: who acted.
        score_id: ledger of the scores.
        reading_id: ledger of the readings, or `None`.
        settings: what its numbers depend on besides the policy.
        seeds: by metric, over the run's samples; empty for a run with one sample.
    """

    name: str
    policy: str
    score_id: str
    reading_id: str | None
    settings: dict[str, Setting]
    seeds: dict[str, SeedSummary]


class MetricComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of both runs over the questions that both scored.

    Attributes:
        name: canonical name of the metric.
        percent: whether it is printed in percent.
        first: A's value.
        second: B's value.
        n: questions that count.
        n_applies: questions to which it applies; the rest of these is unscored in one run and left out of both.
        documents: documents of the questions that count.
        difference: A − B, with the document-clustered interval.
        lowest: A − B if every unscored row turned out to lower it.
        highest: A − B if every unscored row turned out to raise it.
        bootstrap: clustered percentile interval of A − B.
        first_interval: A's own document-clustered interval.
        second_interval: B's.
        test: Obuchowski's clustered test, where rows pair one to one.
        sign_flip: document sign-flip test; of linearised influences where rows do not pair.
        p_value: the p-value that goes into the family: Obuchowski's, else the difference's, else (below `MIN_CLUSTERS`
            documents, where there is neither) the sign-flip test's.
        adjusted: Holm-adjusted p-value, for members of the family.
        sample_size: what it would take to see two points.
    """

    name: str
    percent: bool
    first: float | None
    second: float | None
    n: int
    n_applies: int
    documents: int
    difference: Difference
    lowest: float | None
    highest: float | None
    bootstrap: BootstrapInterval | None
    first_interval: Interval | None
    second_interval: Interval | None
    test: TestResult | None
    sign_flip: TestResult | None
    p_value: float | None
    adjusted: float | None = None
    sample_size: SampleSize | None


class SliceTable(msgspec.Struct, frozen=True, kw_only=True):
    """One way to cut the questions.

    Attributes:
        name: by what.
        overlapping: whether a question may stand in several lines, so that lines must not be added up.
        lines: metrics by label; their p-values are not adjusted and belong to no family.
    """

    name: str
    overlapping: bool
    lines: dict[str, list[MetricComparison]]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two stored runs.

    Attributes:
        first: run A.
        second: run B.
        threshold: name of the binarisation.
        differing: settings besides the policy in which the runs differ.
        notices: what else a reader of the numbers must know.
        counts: paired, unpaired and unlike questions, documents.
        family: metrics whose p-values are adjusted together; fixed in the code, before any run is looked at.
        metrics: the headline metrics, in order.
        split: P_mmc on answerable questions, split into the same rows and the change of rows.
        independent: tests as papers print them, which assume independent questions.
        slices: breakdowns.
    """

    first: Side
    second: Side
    threshold: str
    differing: list[SettingDifference]
    notices: list[str]
    counts: dict[str, int]
    family: tuple[str, ...]
    metrics: list[MetricComparison]
    split: ConditionalSplit | None
    independent: dict[str, TestResult]
    slices: list[SliceTable]

    def metric(self, name: str) -> MetricComparison:
        """The metric of that canonical name."""
        return next(line for line in self.metrics if line.name == name)
