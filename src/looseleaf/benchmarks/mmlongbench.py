"""MMLongBench-Doc: 1,082 questions on 135 documents (Ma et al., arXiv 2407.01523)."""

from __future__ import annotations

from collections.abc import Mapping

from looseleaf.benchmarks.benchmark import Benchmark, Conversion, Request
from looseleaf.benchmarks.literals import page_list, text_list
from looseleaf.benchmarks.rows import Annotation, Row
from looseleaf.question import NOT_ANSWERABLE, Question

__all__ = ["BENCHMARK", "RELEASES", "convert_row", "version_of"]

RELEASES: Mapping[str, str] = {
    "4ffadad60b18cd7ede864155f3e8a366fe4deec2189b3d0a25691b7df4b839e8": "v1-1082 (2025-09-24)",
    "32879fb5ce06fa085c052f5a2cd03c4c93c84f4bf301fbe89f55e69dbfbf618a": "v1-1082 (2024-07-15)",
    "ed771241fa1916659ded272997011e0496cf3ca86ed339bc6a1ace1447b51529": "v2-1071 (3aba3c6)",
    "35ff1e81ed4b598ae5966652eb698f78ac4b1bdffcaf9285b55e87c925f43d57": "v1-1091 (2024-07-09)",
}
"""Names of the known `data/samples.json` by sha256: mayubo2333/MMLongBench-Doc at a5cf967, 88b5f09 and 04524e7,
and VectifyAI/MMLongBench-Doc-V2 (arXiv 2608.03397) at 3aba3c6."""

_BY_ROWS: Mapping[int, str] = {
    1071: "v2-1071 (other bytes)",
    1073: "v1-1073 (MDocAgent's copy)",
    1082: "v1-1082 (other bytes)",
    1091: "v1-1091 (other bytes)",
}
"""Releases that are recognised by their row count where the file was written anew by another tool; MDocAgent's
copy lacks the nine rows of one document."""


def version_of(annotation: Annotation) -> str:
    """Which release the file is, by its digest, else by its number of rows."""
    count = len(annotation.rows)
    return RELEASES.get(annotation.sha256) or _BY_ROWS.get(count, f"unrecognised ({count} rows)")


def convert_row(row: Row, benchmark: str, split: str) -> Question:
    """One row in MMLongBench-Doc's shape; its page numbers are physical and 1-based already.

    A row is unanswerable if its answer is text that starts with "Not answerable": in v1 these are the rows whose
    answer is exactly that (mayubo2333/MMLongBench-Doc@d73f0dc eval/eval_score.py); V2 has "Not answerable or 0 or
    none" as well (VectifyAI/MMLongBench-Doc-V2@3aba3c6 eval/metrics.py).

    Args:
        row: the row of the annotation file.
        benchmark: canonical name, the first part of the question's id.
        split: name of the split.

    Raises:
        DataError: a field is missing or of the wrong type; the message names the row.
    """
    answer = row.require("answer")
    if answer is None:
        row.fail('"answer" must not be null; write "Not answerable" for an unanswerable question.')
    return Question(
        question_id=f"{benchmark}:{row.index}",
        native_id=row.optional_text("question_id") or str(row.index),
        benchmark=benchmark,
        split=split,
        doc_id=row.text("doc_id"),
        question=row.text("question"),
        references=(answer,),
        answer_format=row.text("answer_format"),
        evidence_pages=page_list(row, "evidence_pages"),
        raw_evidence=row.raw("evidence_pages"),
        sources=text_list(row, "evidence_sources"),
        doc_type=row.optional_text("doc_type"),
        unanswerable=isinstance(answer, str) and answer.startswith(NOT_ANSWERABLE),
    )


def _convert(request: Request) -> Conversion:
    version = version_of(request.annotation)
    notes: tuple[str, ...] = ()
    if version not in RELEASES.values():
        notes = ("The annotation file is none of the official releases; numbers may not compare.",)
    return Conversion(
        questions=tuple(convert_row(row, "mmlongbench-doc", "test") for row in request.annotation.rows),
        places=tuple(row.where for row in request.annotation.rows),
        version=version,
        split="test",
        notes=notes,
    )


BENCHMARK = Benchmark(
    name="mmlongbench-doc",
    title="MMLongBench-Doc",
    origin="mayubo2333/MMLongBench-Doc@d73f0dc, arXiv 2407.01523; code Apache-2.0, data CC BY-NC 4.0",
    patterns=("samples.json", "samples*.json"),
    convert=_convert,
)
"""MMLongBench-Doc in its official shape: `samples.json` and `documents/`."""
