"""Corrections files made from a corrected copy of an annotation file."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from looseleaf.benchmarks.rows import Row, read_annotation, readable

__all__ = ["overlay_between"]

LEAST_LIKENESS = 0.3
"""Likeness of two questions (difflib ratio) below which one is not taken for a rewording of the other."""


def overlay_between(source: Path, corrected: Path, benchmark: str, doc_key: str = "doc_id") -> dict[str, Any]:
    """The corrections that turn `source` into `corrected`, in the shape of a corrections file.

    Rows are matched within a document: equal questions first, in order, then the most alike of those that remain
    between them. Source rows without a match are dropped. Write the value as JSON to keep it.

    Args:
        source: annotation file that the corrections are for.
        corrected: the same rows corrected, some perhaps removed (MMLongBench-Doc-V2's `data/samples.json`).
        benchmark: name of the benchmark.
        doc_key: field that names the document.

    Raises:
        DataError: a file cannot be read, or `corrected` has a row that `source` lacks.
    """
    before, after = read_annotation(Path(source)), read_annotation(Path(corrected))
    pairs = _pairs(before.rows, after.rows, doc_key)
    corrections = [_correction(row, pairs.get(row.index), doc_key) for row in before.rows]
    return {
        "name": readable(Path(corrected).name),
        "benchmark": benchmark,
        "source_sha256": before.sha256,
        "row": [correction for correction in corrections if correction is not None],
    }


def _correction(row: Row, match: Row | None, doc_key: str) -> dict[str, Any] | None:
    guard = {"index": row.index, doc_key: row.fields[doc_key], "question": row.fields["question"]}
    if match is None:
        return {**guard, "drop": True}
    changed = {key: value for key, value in match.fields.items() if row.fields.get(key) != value}
    return {**guard, "set": changed} if changed else None


def _pairs(before: Sequence[Row], after: Sequence[Row], doc_key: str) -> dict[int, Row]:
    """Row index of the source to the corrected row."""
    sources, targets = _by_document(before, doc_key), _by_document(after, doc_key)
    found: dict[int, Row] = {}
    for document, rows in targets.items():
        for source, target in _matched(sources.get(document, []), rows):
            if source is None:
                target.fail("the source has no such row; corrections cannot add rows.")
            found[source.index] = target
    return found


def _by_document(rows: Sequence[Row], doc_key: str) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        row.text("question")
        grouped[row.text(doc_key)].append(row)
    return grouped


def _matched(sources: Sequence[Row], targets: Sequence[Row]) -> Iterator[tuple[Row | None, Row]]:
    asked = [[row.fields["question"] for row in rows] for rows in (sources, targets)]
    matcher = difflib.SequenceMatcher(a=asked[0], b=asked[1], autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(sources[first:last], targets[start:end], strict=True)
        else:
            yield from _most_alike(list(sources[first:last]), targets[start:end])


def _most_alike(free: list[Row], targets: Sequence[Row]) -> Iterator[tuple[Row | None, Row]]:
    for target in targets:
        best = max(free, key=lambda row: _likeness(row, target), default=None)
        if best is None or _likeness(best, target) < LEAST_LIKENESS:
            yield None, target
        else:
            free.remove(best)
            yield best, target


def _likeness(row: Row, other: Row) -> float:
    return difflib.SequenceMatcher(
        a=row.fields["question"], b=other.fields["question"], autojunk=False
    ).ratio()
