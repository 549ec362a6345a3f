"""Generated documents: MMLongBench-Doc's shape, with exact gold answers and pages by construction."""

from __future__ import annotations

import msgspec

from looseleaf.benchmarks.benchmark import Benchmark, Conversion, Request
from looseleaf.benchmarks.mmlongbench import convert_row
from looseleaf.benchmarks.rows import Row
from looseleaf.question import Question

__all__ = ["BENCHMARK"]

_NAME = "procedural"

_OFFICIAL_KEYS = frozenset(
    {
        *("doc_id", "doc_type", "question", "answer", "evidence_pages", "evidence_sources", "answer_format"),
        *("question_id", "split"),
    }
)


def _convert(request: Request) -> Conversion:
    rows = request.annotation.rows
    questions = tuple(_question(row) for row in rows)
    splits = sorted({question.split for question in questions})
    return Conversion(
        questions=questions,
        places=tuple(row.where for row in rows),
        version=f"generated ({len(rows)} rows)",
        split="+".join(splits),
    )


def _question(row: Row) -> Question:
    question = convert_row(row, _NAME, row.optional_text("split") or "all")
    extra = {key: value for key, value in row.fields.items() if key not in _OFFICIAL_KEYS}
    return msgspec.structs.replace(question, tags=extra)


BENCHMARK = Benchmark(
    name=_NAME,
    title="the generated documents",
    origin="looseleaf data make",
    patterns=("samples.json", "samples*.json"),
    convert=_convert,
)
"""Generated documents; fields beyond MMLongBench-Doc's become tags."""
