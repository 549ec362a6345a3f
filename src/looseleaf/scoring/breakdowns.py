"""Breakdowns of scored samples: MMLongBench-Doc's official one, and partitions whose slices do not overlap.

Source: MMLongBench-Doc `eval/eval_score.py` (`show_results`) @ d73f0dc. The partitions are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from looseleaf.errors import DataError
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.scoring.aggregates import Sample, Slice, acc_and_f1
from looseleaf.scoring.literals import UnevaluatedError, UpstreamError, evaluate

__all__ = ["breakdown", "by_label", "page_class", "partition", "source_class"]


def breakdown(samples: Iterable[Sample]) -> list[Slice]:
    """The official breakdown, line by line in its order.

    The slices overlap: "Single-page" has the unanswerable questions with one evidence page, and "Cross-page" the
    answerable ones without any, so that the three page slices sum to 1,089 on the 1,082 questions; a question with
    several evidence sources is in each of them. See `partition` for slices that do not overlap.

    Args:
        samples: rows with `answer`, `pred`, `doc_type`, `evidence_pages` and `evidence_sources` (lists, or lists
            spelled as text), and `score` where there is one.

    Raises:
        DataError: an evidence field is not a list.
    """
    rows = [_with_evidence(sample) for sample in samples]
    overall = acc_and_f1(rows)
    return [
        Slice("Overall Acc", overall.acc, len(rows)),
        Slice("Overall F1-score", overall.f1, len(rows)),
        _slice("Single-page", [row for row in rows if _is_single_page(row)]),
        _slice("Cross-page", [row for row in rows if not (_is_single_page(row) or _is_unanswerable(row))]),
        _slice("Unanswerable", [row for row in rows if _is_unanswerable(row)]),
        *by_label("Evidence Sources", rows, lambda row: row["evidence_sources"]),
        *by_label("Document Type", rows, lambda row: [row["doc_type"]]),
    ]


def partition(samples: Iterable[Sample]) -> list[Slice]:
    """A breakdown of MMLongBench-Doc in which every question is in exactly one slice of each group.

    The groups are pages (unanswerable; answerable with no, one or several evidence pages), sources (none, each one by
    itself, several) and document type.

    Raises:
        DataError: an evidence field is not a list.
    """
    rows = [_with_evidence(sample) for sample in samples]
    return [
        *by_label("Pages", rows, lambda row: [page_class(row)]),
        *by_label("Source", rows, lambda row: [source_class(row)]),
        *by_label("Document Type", rows, lambda row: [row["doc_type"]]),
    ]


def by_label(group: str, rows: Sequence[Sample], labels: Callable[[Sample], Iterable[str]]) -> list[Slice]:
    """One slice for each label, in order of first appearance; a row counts once for every label that it has."""
    members: dict[str, list[Sample]] = {}
    for row in rows:
        for label in labels(row):
            members.setdefault(label, []).append(row)
    return [_slice(f"{group}: {label}", chosen) for label, chosen in members.items()]


def page_class(row: Sample) -> str:
    """Which page slice of a partition the row belongs to."""
    if _is_unanswerable(row):
        return "unanswerable"
    pages = len(set(row["evidence_pages"]))
    return {0: "no page given", 1: "single page"}.get(pages, "several pages")


def source_class(row: Sample) -> str:
    """Which source slice of a partition the row belongs to."""
    sources: dict[str, None] = dict.fromkeys(row["evidence_sources"])
    if len(sources) == 1:
        return next(iter(sources))
    return "several" if sources else "none given"


def _slice(label: str, rows: Sequence[Sample]) -> Slice:
    return Slice(label, acc_and_f1(rows).acc, len(rows))


def _is_single_page(row: Sample) -> bool:
    return len(row["evidence_pages"]) == 1


def _is_unanswerable(row: Sample) -> bool:
    return bool(row["answer"] == NOT_ANSWERABLE)


def _with_evidence(sample: Sample) -> Sample:
    """The sample with its evidence as lists; itself where it has them, since there may be a million of them."""
    if "doc_type" in sample and all(isinstance(sample.get(key), (list, tuple)) for key in EVIDENCE):
        return sample
    return {
        "doc_type": "",
        **sample,
        "evidence_pages": _listed(sample, "evidence_pages"),
        "evidence_sources": _listed(sample, "evidence_sources"),
    }


EVIDENCE = ("evidence_pages", "evidence_sources")


def _listed(sample: Sample, key: str) -> list[Any]:
    value = sample.get(key)
    if isinstance(value, str):
        try:
            value = evaluate(value, {})
        except (UpstreamError, UnevaluatedError):
            value = None
    if not isinstance(value, (list, tuple)):
        raise DataError(
            f"{key} of a sample is {sample.get(key)!a:.60}, which is not a list; correct that row."
        )
    return list(value)
