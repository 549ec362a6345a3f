"""Marks on metric names: an embedded-model number never stands under a published metric's bare name."""

from __future__ import annotations

from looseleaf.metrics import METRICS
from looseleaf.metrics.memory import MEMORY_METRICS
from looseleaf.runstore import Run
from looseleaf.scoring.extraction import NOT_OFFICIAL

__all__ = ["EXTRACTOR_MARK", "READER_MARK", "backend_of", "labels_of", "marks_of"]

EXTRACTOR_MARK = "†"
READER_MARK = "‡"
EMBEDDED_READER = "embedded reader: an extractive text reader, not an LLM"
UNMARKED = frozenset({"Findings", "Turns", "Invalid", "#UP"})
"""Counts that rest on no score."""


def marks_of(run: Run, score_id: str, reading_id: str | None) -> dict[str, str]:
    """The marks in force, with what they mean."""
    extraction_id = str(run.sidecars("scores").get(score_id, {}).get("extraction_id") or "")
    marks = {}
    if backend_of(run.sidecars("extractions").get(extraction_id, {}).get("extractor")) == "embedded":
        marks[EXTRACTOR_MARK] = NOT_OFFICIAL
    if backend_of(run.sidecars("readings").get(reading_id or "", {}).get("reader")) == "embedded":
        marks[READER_MARK] = EMBEDDED_READER
    return marks


def labels_of(marks: dict[str, str]) -> dict[str, str]:
    """Printed label of every metric under these marks."""
    of_memory = {metric.name for metric in MEMORY_METRICS} - UNMARKED
    of_scores = {name for name in METRICS if name.startswith(("Acc", "F1"))} | of_memory
    signs = dict.fromkeys(of_scores, EXTRACTOR_MARK * (EXTRACTOR_MARK in marks))
    for name in of_memory:
        signs[name] += READER_MARK * (READER_MARK in marks)
    return {name: f"{name} {signs.get(name, '')}".rstrip() for name in METRICS}


def backend_of(spec: dict[str, object] | None) -> str:
    """Backend of a stored role, or an empty text."""
    return str(spec.get("backend", "")) if spec else ""
