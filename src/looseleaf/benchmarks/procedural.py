"""Generated documents: MMLongBench-Doc's shape, with exact gold answers and pages by construction."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from looseleaf.benchmarks.benchmark import Benchmark, Conversion, Request
from looseleaf.benchmarks.mmlongbench import convert_row
from looseleaf.benchmarks.rows import Row
from looseleaf.errors import DataError
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
    split, made = _provenance(request.data)
    questions = tuple(_question(row, split) for row in rows)
    return Conversion(
        questions=questions,
        places=tuple(row.where for row in rows),
        version=f"{made} ({len(rows)} rows)",
        split="+".join(sorted({question.split for question in questions})),
    )


def _provenance(data: Path) -> tuple[str, str]:
    """Split and version from the generator's `truth.json`, where the folder has one."""
    path = data / "truth.json"
    if not path.is_file():
        return "all", "generated"
    try:
        truth = json.loads(path.read_bytes())
        return str(truth["split"]), f"generated, {truth['split']} split, seed {truth['seed']}"
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"truth.json in {data} is broken ({error}); make the documents again.") from error


def _question(row: Row, split: str) -> Question:
    question = convert_row(row, _NAME, row.optional_text("split") or split)
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
