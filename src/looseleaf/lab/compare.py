"""Comparing two stored runs: paired by question, clustered by document, fair or said not to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from looseleaf.errors import RunError
from looseleaf.lab.compare_bootstrap import Resample, resampled_ratios
from looseleaf.lab.compare_metrics import CORRECT, MEMORY_CORRECT, compare_metric
from looseleaf.lab.compare_pairs import PairedQuestion, Pairing, pair_questions, paired_sums
from looseleaf.lab.compare_record import Comparison, MetricComparison, Side, SliceTable
from looseleaf.lab.compare_settings import (
    SettingDifference,
    setting_differences,
    settings_of,
    unrecorded,
)
from looseleaf.lab.drift import drift_warning
from looseleaf.lab.ledgers import chosen_ledgers
from looseleaf.metrics import METRICS, Metric, Ratio, Row
from looseleaf.metrics.sources import source_category, source_names
from looseleaf.metrics.stored import StoredRun
from looseleaf.runstore import Run
from looseleaf.statistics import (
    MIN_CLUSTERS,
    Clusters,
    ConditionalSplit,
    SeedSummary,
    TestResult,
    holm,
    mcnemar_test,
    seed_summary,
    split_conditional_rate,
)

__all__ = ["COMPARED", "FAMILY", "compare_runs"]

COMPARED: tuple[Metric, ...] = (
    *(METRICS[name] for name in ("Acc", "Acc[answerable]", "Acc[unanswerable]", "F1")),
    CORRECT,
    *(METRICS[name] for name in ("MemAcc", "MemAcc[answerable]")),
    MEMORY_CORRECT,
    *(METRICS[name] for name in ("P_mmc[answerable]", "P_mmc", "Gap", "GradedLoss")),
    *(METRICS[name] for name in ("Cell11", "Cell10", "Cell01", "Cell00")),
    *(METRICS[name] for name in ("Rec", "Pre", "PageF1", "#UP", "Turns", "Findings")),
)
"""Metrics that are compared, in order."""
FAMILY = ("Acc", "MemAcc", "P_mmc[answerable]")
"""The family of Holm's adjustment: the three numbers that the paper's tables lead with (AWM, arXiv 2608.25618). It is
fixed here, before any run is looked at; every other p-value is exploratory."""
SLICED = ("Acc", "MemAcc", "P_mmc[answerable]")
"""Metrics of the breakdowns."""
NO_LABEL = "(none)"
FEW = f"Only {{}} documents: no intervals below {MIN_CLUSTERS}, and p-values are of document sign flips."


def compare_runs(
    first: Run,
    second: Run,
    *,
    score_ids: tuple[str | None, str | None] = (None, None),
    reading_ids: tuple[str | None, str | None] = (None, None),
    threshold: str = ">0",
    strict: bool = False,
    resample: Resample | None = None,
) -> Comparison:
    """Compare two stored runs; no agent, reader or judge is run.

    Args:
        first: run A.
        second: run B.
        score_ids: ledgers of the scores; each run's last scoring by default.
        reading_ids: readers of the memory metrics; each run's headline reader by default.
        threshold: name of the binarisation.
        strict: refuse where a setting of `FAIRNESS` differs.
        resample: where the bootstrap is computed, e.g. `looseleaf.runner.bootstrapping.fanned_ratios` on a cluster; in
            this process by default.

    Raises:
        RunError: a run is not scored, the two share no question, or they differ under `strict`.
    """
    a = _Opened(first, score_ids[0], reading_ids[0], threshold)
    b = _Opened(second, score_ids[1], reading_ids[1], threshold, like=a)
    pairing = pair_questions(a.rows, b.rows)
    if not pairing.pairs:
        raise RunError(
            f"{first.path} and {second.path} share no question; compare runs over the same question set."
        )
    sides = a.side([pair.first for pair in pairing.pairs]), b.side([pair.second for pair in pairing.pairs])
    differing = setting_differences(sides[0].settings, sides[1].settings)
    if strict and differing:
        raise RunError(_refusal(differing))
    return Comparison(
        first=sides[0],
        second=sides[1],
        threshold=threshold,
        differing=differing,
        notices=[*dict.fromkeys(a.drift_warning() + b.drift_warning()), *_notices(sides, pairing)],
        counts=_counts(pairing),
        family=FAMILY,
        metrics=_metrics(pairing.pairs, resample),
        split=_split(pairing.pairs),
        independent=_independent(pairing.pairs),
        slices=[_slices(pairing.pairs, name, overlapping, labels) for name, overlapping, labels in SLICES],
    )


class _Opened:
    """One run with its rows under the chosen scorer and reader."""

    def __init__(
        self,
        run: Run,
        score_id: str | None,
        reading_id: str | None,
        threshold: str,
        like: _Opened | None = None,
    ) -> None:
        self._run = run
        self._score_id, self._reading_id = chosen_ledgers(run, score_id, reading_id)
        self._stored: StoredRun = StoredRun(run, slim=True, like=None if like is None else like._stored)
        self.rows = self._stored.rows(self._score_id, self._reading_id, threshold=threshold)

    def drift_warning(self) -> list[str]:
        """What must be said about the extractor or judge of its scores."""
        return drift_warning(self._run, self._score_id)

    def side(self, rows: Sequence[tuple[Row, ...]]) -> Side:
        """The run as one side of the comparison, over the questions that are compared."""
        oracles = [row.trajectory.oracle for group in rows for row in group if row.trajectory]
        questions = [group[0].question for group in rows]
        return Side(
            name=self._run.path.resolve().name,
            policy=_policy(self._run.config),
            score_id=self._score_id,
            reading_id=self._reading_id,
            settings=settings_of(self._run, self._score_id, self._reading_id, questions, oracles),
            seeds=_seeds(rows),
        )


def _policy(config: Mapping[str, dict[str, dict[str, str]]]) -> str:
    spec = config.get("roles", {}).get("policy", {})
    return ":".join(filter(None, [spec.get("backend"), spec.get("argument")])) or "not recorded"


def _refusal(differing: Sequence[SettingDifference]) -> str:
    found = ", ".join(f"{each.name} ({each.first} against {each.second})" for each in differing)
    return (
        f"The runs differ in {found}; make them alike, or leave out --strict to compare them with a warning."
    )


def _notices(sides: tuple[Side, Side], pairing: Pairing) -> list[str]:
    missing = unrecorded(sides[0].settings, sides[1].settings)
    alone = pairing.only_first + pairing.only_second
    documents = len({pair.question.doc_id for pair in pairing.pairs})
    return [
        *([f"Neither run records {name}, so it may differ." for name in missing]),
        *([FEW.format(documents)] if documents < MIN_CLUSTERS else []),
        *([f"{alone} questions are in one run only and left out."] if alone else []),
        *(
            [f"{pairing.unlike} questions differ in text, document or gold answer and are left out."]
            if pairing.unlike
            else []
        ),
        *(
            ["Both sides are the same scores of the same run."]
            if (sides[0].name, sides[0].score_id, sides[0].reading_id)
            == (sides[1].name, sides[1].score_id, sides[1].reading_id)
            else []
        ),
    ]


def _counts(pairing: Pairing) -> dict[str, int]:
    return {
        "paired questions": len(pairing.pairs),
        "their documents": len({pair.question.doc_id for pair in pairing.pairs}),
        "only in the first run": pairing.only_first,
        "only in the second run": pairing.only_second,
        "unlike in the two runs (left out)": pairing.unlike,
    }


def _metrics(pairs: Sequence[PairedQuestion], resample: Resample | None) -> list[MetricComparison]:
    sums = [paired_sums(pairs, metric) for metric in COMPARED]
    resampled = resampled_ratios(pairs, sums, resample)
    lines = [
        compare_metric(pairs, metric, ratios=ratios, sums=each)
        for metric, each, ratios in zip(COMPARED, sums, resampled, strict=True)
    ]
    adjusted = holm({line.name: line.p_value for line in lines if line.name in FAMILY})
    return [msgspec.structs.replace(line, adjusted=adjusted.get(line.name)) for line in lines]


def _split(pairs: Sequence[PairedQuestion]) -> ConditionalSplit | None:
    """P_mmc on answerable questions; samples pair by their number."""
    verdicts = bytearray()
    documents: list[str] = []
    for pair in pairs:
        if pair.question.unanswerable:
            continue
        for a, b in zip(pair.first, pair.second, strict=False):
            found = (a.memory_correct, b.memory_correct, a.answer_correct, b.answer_correct)
            if None not in found:
                verdicts += bytes(map(bool, found))
                documents.append(pair.question.doc_id)
    if not documents:
        return None
    answers_a, answers_b, right_a, right_b = np.frombuffer(verdicts, dtype=bool).reshape(-1, 4).T
    return split_conditional_rate((~answers_a, ~answers_b), (right_a, right_b), Clusters(documents))


def _independent(pairs: Sequence[PairedQuestion]) -> dict[str, TestResult]:
    """McNemar as papers print it, on the first sample of each question."""
    judged = {"s_ans": lambda row: row.answer_correct, "s_mem": lambda row: row.memory_correct}
    return {name: _mcnemar(pairs, correct) for name, correct in judged.items()}


def _mcnemar(pairs: Sequence[PairedQuestion], correct: Callable[[Row], bool | None]) -> TestResult:
    both = [(correct(pair.first[0]), correct(pair.second[0])) for pair in pairs]
    return mcnemar_test(both.count((True, False)), both.count((False, True)))


def _seeds(rows: Sequence[tuple[Row, ...]]) -> dict[str, SeedSummary]:
    """The family's metrics over the samples of one run; nothing where there is only one."""
    if min(len(group) for group in rows) < 2:
        return {}
    return {name: _seed_summary(METRICS[name], rows) for name in FAMILY}


def _seed_summary(metric: Metric, rows: Sequence[tuple[Row, ...]]) -> SeedSummary:
    samples = min(len(group) for group in rows)
    x, y = np.full((2, len(rows), samples), np.nan)
    for place, group in enumerate(rows):
        for sample, row in enumerate(group[:samples]):
            outcome = metric.of(row)
            if isinstance(outcome, Ratio):
                x[place, sample], y[place, sample] = outcome
    return seed_summary(x, y)


Labels = Callable[[PairedQuestion], Iterable[str]]
SLICES: tuple[tuple[str, bool, Labels], ...] = (
    ("document type", False, lambda pair: [pair.question.doc_type or NO_LABEL]),
    ("answer format", False, lambda pair: [pair.question.answer_format or NO_LABEL]),
    (
        "evidence source, the paper's exclusive categories",
        False,
        lambda pair: [source_category(pair.question)],
    ),
    ("evidence source, every label", True, lambda pair: source_names(pair.question)),
)
"""Ways to cut the questions: name, whether lines overlap, labels of a question."""


def _slices(pairs: Sequence[PairedQuestion], name: str, overlapping: bool, labels: Labels) -> SliceTable:
    parts: dict[str, list[PairedQuestion]] = {}
    for pair in pairs:
        for label in dict.fromkeys(labels(pair)):
            parts.setdefault(label, []).append(pair)
    lines = {
        label: [compare_metric(part, METRICS[metric]) for metric in SLICED]
        for label, part in sorted(parts.items())
    }
    return SliceTable(name=name, overlapping=overlapping, lines=lines)
