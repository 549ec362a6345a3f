"""What must stand beside the numbers: oracle settings, embedded models, unscored rows, exclusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from looseleaf.metrics import Row
from looseleaf.report.marks import backend_of
from looseleaf.runstore import Run

__all__ = ["notices_of"]

EMBEDDED_POLICY = "Policy embedded: a text-and-OCR extractive baseline, not a VLM."
EMBEDDED_READER = (
    "Reader embedded: an extractive text reader, not an LLM; not comparable with published numbers."
)
EMBEDDED_EXTRACTOR = "Scores are not official: rule extractor (the official extractor is an LLM)."
SAME_EXTRACTOR = (
    "Policy and reader are one extractor here, so a finding that carries its evidence gives the reader the very answer "
    "that the policy gave: P_mmc near 0 says that the two are the same model, not that the memory is good. "
    "Use a reader of another kind, or the other note styles, to see P_mmc move."
)
SHOWN_NOTHING = 0.1
"""From which share of trajectories on it is said that they were shown no page: scans without OCR, not single misses."""


def notices_of(run: Run, rows: Sequence[Row], score_id: str, reading_id: str | None) -> list[str]:
    """The notices of a run, most important first."""
    return [
        *_oracle(rows),
        *_imported(run),
        *_embedded(run, score_id, reading_id),
        *_shown_nothing(run, rows),
        *_unscored(rows),
        *_excluded(run),
        *_upstream(rows),
        *run.manifest.get("data", {}).get("notes", []),
    ]


def _oracle(rows: Sequence[Row]) -> list[str]:
    names = sorted({name for row in rows if row.trajectory for name in row.trajectory.oracle})
    return [f"Oracle setting in force: {name}." for name in names]


def _imported(run: Run) -> list[str]:
    """Where an imported run comes from, and what its source does not record."""
    found = run.manifest.get("import")
    if not found:
        return []
    rejected = f"; {found['rejected']} could not be used" if found.get("rejected") else ""
    return [
        f"Imported from {found['format']} files ({found['upstream']}): {found['imported']} of {found['rows']} rows are "
        f"trajectories{rejected}.",
        *found.get("notices", []),
    ]


def _embedded(run: Run, score_id: str, reading_id: str | None) -> list[str]:
    policy = backend_of(run.config.get("roles", {}).get("policy"))
    reader = backend_of(run.sidecars("readings").get(reading_id or "", {}).get("reader"))
    extraction_id = str(run.sidecars("scores").get(score_id, {}).get("extraction_id") or "")
    extractor = backend_of(run.sidecars("extractions").get(extraction_id, {}).get("extractor"))
    return [
        *([EMBEDDED_POLICY] if policy == "embedded" else []),
        *([EMBEDDED_READER] if reader == "embedded" else []),
        *([EMBEDDED_EXTRACTOR] if extractor == "embedded" else []),
        *([SAME_EXTRACTOR] if policy == reader == "embedded" else []),
    ]


def _shown_nothing(run: Run, rows: Sequence[Row]) -> list[str]:
    """Says that searches stayed empty, which one does not see in the numbers: "not answerable" is right by chance."""
    ran = [row for row in rows if row.ran is not None and not row.lacks("pages")]
    empty = sum(1 for row in ran if not row.shown_pages)
    if not empty or empty < SHOWN_NOTHING * len(ran):
        return []
    said = f"{empty} of {len(ran)} trajectories were shown no page."
    if run.config.get("pages", {}).get("ocr") != "none":
        return [said]
    return [
        f"{said} Pages without a text layer cannot be found by their words; --ocr reads them, in a new RUN."
    ]


def _unscored(rows: Sequence[Row]) -> list[str]:
    answers = Counter(str(row.answer.unscored) for row in rows if row.answer.unscored)
    memories = Counter(str(row.memory.unscored) for row in rows if row.memory and row.memory.unscored)
    return [
        f"{count} {one if count == 1 else several} unscored ({reason}): left out of means, kept in n, "
        "bounded by the range in brackets."
        for one, several, found in (("answer", "answers", answers), ("memory", "memories", memories))
        for reason, count in sorted(found.items())
    ]


def _excluded(run: Run) -> list[str]:
    missing = run.manifest.get("counts", {}).get("n_without_document", 0)
    total = run.manifest.get("counts", {}).get("n_set", 0)
    without_gold = run.manifest.get("counts", {}).get("n_without_gold_pages", 0)
    return [
        *([f"{missing} of {total} rows have no document here: excluded and counted."] if missing else []),
        *(
            [f"{without_gold} rows are unanswerable or without gold pages: not in EP-given."]
            if without_gold
            else []
        ),
    ]


def _upstream(rows: Sequence[Row]) -> list[str]:
    raised = sum(1 for row in rows if row.answer.upstream_raises)
    return (
        [f"On {raised} answers the official scorer raises; they score 0, as a run of it would at best."]
        if raised
        else []
    )
