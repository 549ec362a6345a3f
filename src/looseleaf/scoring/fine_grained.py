"""LongDocURL's fine-grained table: sums of scores by task, evidence element and pages, and the official denominators.

Source: dengc2023/LongDocURL @ 3807c0e, `utils/calculate_metrics_fine_grained.py` (sums) and
`evaluation_results/scores_sample_fine_grained.json` (counts of the full set).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from looseleaf.scoring.aggregates import Sample

__all__ = ["OFFICIAL_COUNTS", "Table", "divided", "score_sums"]

Table = dict[str, Any]
"""Nested tables of numbers, keyed as upstream keys them."""

ELEMENTS: Final = ("Text", "Layout", "Figure", "Table")
"""Evidence elements that are counted; `Others` is not."""

TITLES: Final[Mapping[str, str]] = {
    "topic2title": "Cross_Title",
    "summary2tab": "Cross_Table",
    "summary2title": "Para_Title",
    "extract_fig2tab": "Figure_Table",
}
"""Columns of the locating task by question type."""

OFFICIAL_COUNTS: Final[Mapping[str, Any]] = {
    "Main_Task": {"Understanding": 1243, "Reasoning": 387, "Locating": 695},
    "Element_Type": {"Text": 994, "Layout": 779, "Figure": 556, "Table": 871},
    "Evidence_Pages": {"Single_Page": 1093, "Multi_Page": 1230},
    "Num_of_Element_Types": {"Cross_Element": 862},
    "Fine_Grained": {
        "Understanding": {
            "Single_Page": {"Text": 259, "Layout": 91, "Figure": 94, "Table": 263},
            "Multi_Page": {"Text": 443, "Layout": 172, "Figure": 174, "Table": 115},
        },
        "Reasoning": {
            "Single_Page": {"Text": 40, "Layout": 12, "Figure": 28, "Table": 98},
            "Multi_Page": {"Text": 115, "Layout": 40, "Figure": 85, "Table": 69},
        },
        "Locating": {
            "Cross_Element": {"Cross_Title": 201, "Cross_Table": 126, "Para_Title": 137, "Figure_Table": 231}
        },
    },
}
"""Denominators of the official table: counts of all 2,325 questions. (Two have no evidence page, and `Figure` seems to
include the eight questions of `Others`.)"""


def score_sums(scored: Iterable[tuple[Sample, float]]) -> tuple[Table, int]:
    """The official sums of scores, and how many samples upstream's script would not have got past.

    A sample of the understanding or reasoning task without evidence pages is added to the page bucket of the sample
    before it, as upstream does (a variable keeps its old value). Where that ends upstream's script - no sample before
    it, or one of the locating task - the sample is left out of `Fine_Grained` and counted.

    Args:
        scored: rows with `task_tag`, `question_type`, `evidence_pages`, `evidence_sources`, each with its score.
    """
    sums: Table = _zeros(OFFICIAL_COUNTS)
    bucket: Table = {}
    fatal = 0
    for sample, value in scored:
        try:
            _add_to_margins(sums, sample, value)
            bucket = _bucket(sums["Fine_Grained"][sample["task_tag"]], sample, bucket)
            for column in _columns(sample):
                bucket[column] += value
        except LookupError:
            fatal += 1
    return sums, fatal


def divided(sums: Table, counts: Mapping[str, Any] = OFFICIAL_COUNTS) -> Table:
    """Every sum over its count. With the official counts this is only valid for all 2,325 questions."""
    return {
        key: divided(value, counts[key]) if isinstance(value, dict) else value / counts[key]
        for key, value in sums.items()
    }


def _zeros(table: Mapping[str, Any]) -> Table:
    return {key: _zeros(value) if isinstance(value, Mapping) else 0.0 for key, value in table.items()}


def _add_to_margins(sums: Table, sample: Sample, value: float) -> None:
    sums["Main_Task"][sample["task_tag"]] += value
    for element in sample["evidence_sources"]:
        if element in ELEMENTS:
            sums["Element_Type"][element] += value
    if page_bucket := _page_bucket(sample):
        sums["Evidence_Pages"][page_bucket] += value
    if len(sample["evidence_sources"]) > 1:
        sums["Num_of_Element_Types"]["Cross_Element"] += value


def _page_bucket(sample: Sample) -> str:
    pages = len(sample["evidence_pages"])
    return "Multi_Page" if pages > 1 else "Single_Page" if pages == 1 else ""


def _bucket(task: Table, sample: Sample, before: Table) -> Table:
    bucket = "Cross_Element" if sample["task_tag"] == "Locating" else _page_bucket(sample)
    return task[bucket] if bucket else before


def _columns(sample: Sample) -> list[str]:
    if sample["task_tag"] == "Locating":
        return [TITLES[kind] for kind in (sample["question_type"],) if kind in TITLES]
    return [element for element in sample["evidence_sources"] if element in ELEMENTS]
