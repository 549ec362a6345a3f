"""`looseleaf export parquet`: the records of a run as Parquet, one folder a table, partitioned by benchmark and run.

`OUT/<table>/benchmark=<name>/run_id=<id>/part-0.parquet` is Hive's layout, which DuckDB, polars, pandas, Spark and
Ray read as one table with the columns `benchmark` and `run_id`. Several runs go into one OUT. The schemas are
`SCHEMAS`; what they mean is written in the records themselves (`looseleaf.trajectory`, `looseleaf.runstore`,
`looseleaf.question`).

Rows are written in batches as they are read, so that memory does not grow with the run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from looseleaf.adapters.exporter import Exporter
from looseleaf.adapters.run_rows import Row, as_json, run_rows
from looseleaf.errors import RunError
from looseleaf.runstore import Run

if TYPE_CHECKING:
    import pyarrow

__all__ = ["PARQUET", "SCHEMAS", "export_parquet"]

BATCH_ROWS = 4096
"""Rows that are collected before they are written: a row group of some MB, be the steps long or short."""
COMPRESSION = "zstd"

TEXT, WHOLE, NUMBER = "text", "whole", "number"
PAGES, TEXTS = "pages", "texts"
TOKENS = {"prompt_tokens": WHOLE, "completion_tokens": WHOLE, "calls": WHOLE, "cost": NUMBER}

SCHEMAS: dict[str, dict[str, str]] = {
    "runs": {"path": TEXT, "config": TEXT, "manifest": TEXT},
    "questions": {
        **dict.fromkeys(("question_id", "native_id", "split", "doc_id", "question", "references"), TEXT),
        "answer_format": TEXT,
        "evidence_pages": PAGES,
        "raw_evidence": TEXT,
        "sources": TEXTS,
        "doc_type": TEXT,
        "tags": TEXT,
        "unanswerable": "flag",
        "window": PAGES,
    },
    "trajectories": {
        **dict.fromkeys(
            ("trajectory_id", "question_id", "doc_id", "doc_sha256", "question", "protocol"), TEXT
        ),
        "seed": WHOLE,
        "sample_index": WHOLE,
        "step_of_training": WHOLE,
        "answer": TEXT,
        "seconds": NUMBER,
        "error": TEXT,
        "version": WHOLE,
        "oracle": TEXT,
        "stop_reason": TEXT,
        "turns": WHOLE,
        "invalid_turns": WHOLE,
        "shown_pages": PAGES,
        "findings": WHOLE,
        "undefined": TEXTS,
        **TOKENS,
    },
    "steps": {
        "trajectory_id": TEXT,
        "question_id": TEXT,
        "position": WHOLE,
        "turn": WHOLE,
        "thought": TEXT,
        "action": TEXT,
        "arguments": TEXT,
        "notes": "notes",
        "observation": TEXT,
        "returned": "returned",
        "shown": PAGES,
        "model_text": TEXT,
        "invalid": TEXT,
        "seconds": NUMBER,
        **TOKENS,
    },
    "findings": {
        "trajectory_id": TEXT,
        "question_id": TEXT,
        "number": WHOLE,
        "text": TEXT,
        "source_page": WHOLE,
        "words": WHOLE,
        "flags": TEXTS,
    },
    "readings": {
        **dict.fromkeys(("reading_id", "reader", "trajectory_id", "variant"), TEXT),
        "sample_index": WHOLE,
        **dict.fromkeys(("text", "unscored", "error"), TEXT),
        **TOKENS,
    },
    "scores": {
        **dict.fromkeys(
            ("score_id", "scorer", "trajectory_id", "target", "reading_id", "extraction_id"), TEXT
        ),
        "variant": TEXT,
        "sample_index": WHOLE,
        "prediction": TEXT,
        "value": NUMBER,
        "unscored": TEXT,
        "upstream_raises": TEXT,
        "upstream_value": NUMBER,
        "error": TEXT,
        **TOKENS,
    },
}
"""Columns of each table with their kinds: text (UTF-8), whole (int64), number (float64), flag (bool), pages (list of
int64), texts (list of text), notes (list of text and source_page), returned (list of page and score). `references`,
`raw_evidence`, `tags`, `oracle`, `arguments`, `prediction`, `reader`, `config` and `manifest` are JSON text."""


def export_parquet(folder: Path, out: Path, options: Mapping[str, str] | None = None) -> list[str]:
    """Write the tables of a run.

    Args:
        folder: the RUN.
        out: folder of the tables, new or with other runs in it.
        options: `run-id`, a name in place of the run's own.

    Returns:
        Lines that say what was written.

    Raises:
        RunError: the run cannot be read, is in `out` already, or `out` cannot be written.
    """
    run = Run.open(folder)
    run_id = (options or {}).get("run-id") or str(run.manifest.get("run_id") or run.path.resolve().name)
    waiting = out / f".writing-{os.getpid()}"
    try:
        waiting.mkdir(parents=True)
        tables = _Tables(run, run_id, waiting)
        counts = tables.write()
        _move(waiting, out, folder)
    except OSError as problem:
        raise RunError(f"{out} cannot be written ({problem.strerror}); choose another --out.") from problem
    finally:
        shutil.rmtree(waiting, ignore_errors=True)
    return [f"{count:>9,} rows in {out / table}" for table, count in counts.items()]


def _move(waiting: Path, out: Path, folder: Path) -> None:
    """Put the partitions in their places, all or none."""
    parts = sorted(waiting.glob("*/benchmark=*/run_id=*"))
    places = [(part, out / part.relative_to(waiting)) for part in parts]
    taken = next((place for _, place in places if place.exists()), None)
    if taken is not None:
        raise RunError(
            f"{out} holds {taken.name} already; remove it, or name the run of {folder} with --set run-id=NAME."
        )
    for part, place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        part.replace(place)


class _Tables:
    """Open Parquet files of one run, by table and benchmark."""

    def __init__(self, run: Run, run_id: str, folder: Path) -> None:
        self._run = run
        self._run_id = run_id
        self._folder = folder
        self._parts: dict[tuple[str, str], _Part] = {}
        self._benchmarks: dict[str, str] = {}
        self._usual = "unknown"

    def write(self) -> dict[str, int]:
        """All rows; how many there are in each table."""
        counts = dict.fromkeys(SCHEMAS, 0)
        try:
            for table, row in run_rows(self._run):
                counts[table] += 1
                self._part(table, self._benchmark(table, row)).add(row)
            about = {
                "path": str(self._run.path),
                "config": as_json(self._run.config),
                "manifest": as_json(self._run.manifest),
            }
            self._part("runs", self._usual).add(about)
            counts["runs"] += 1
        finally:
            for part in self._parts.values():
                part.close()
        return counts

    def _benchmark(self, table: str, row: Row) -> str:
        """The benchmark of a row; only questions and trajectories say it, so others look their question up."""
        if "benchmark" in row:
            name = str(row.pop("benchmark"))
            if self._usual == "unknown":
                self._usual = name
            if name != self._usual:
                self._benchmarks[row["question_id"]] = name
            return name
        question_id = row.get("question_id") or row["trajectory_id"].rpartition("#")[0]
        return self._benchmarks.get(question_id, self._usual)

    def _part(self, table: str, benchmark: str) -> _Part:
        if (table, benchmark) not in self._parts:
            place = (
                self._folder
                / table
                / f"benchmark={quote(benchmark, safe='')}"
                / f"run_id={quote(self._run_id, safe='')}"
            )
            place.mkdir(parents=True)
            self._parts[table, benchmark] = _Part(place / "part-0.parquet", _schema(SCHEMAS[table]))
        return self._parts[table, benchmark]


class _Part:
    """One file, written in batches."""

    def __init__(self, path: Path, schema: pyarrow.Schema) -> None:
        from pyarrow import parquet

        self._schema = schema
        self._writer = parquet.ParquetWriter(path, schema, compression=COMPRESSION)
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._rows:
            self._writer.write_batch(pyarrow.RecordBatch.from_pylist(self._rows, schema=self._schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


def _schema(columns: Mapping[str, str]) -> pyarrow.Schema:
    import pyarrow as pa

    kinds: dict[str, Callable[[], Any]] = {
        TEXT: pa.string,
        WHOLE: pa.int64,
        NUMBER: pa.float64,
        "flag": pa.bool_,
        PAGES: lambda: pa.list_(pa.int64()),
        TEXTS: lambda: pa.list_(pa.string()),
        "notes": lambda: pa.list_(pa.struct([("text", pa.string()), ("source_page", pa.int64())])),
        "returned": lambda: pa.list_(pa.struct([("page", pa.int64()), ("score", pa.float64())])),
    }
    return pa.schema([(name, kinds[kind]()) for name, kind in columns.items()])


PARQUET = Exporter(
    name="parquet",
    title="Parquet tables by benchmark and run (DuckDB, polars, pandas, Spark, Ray)",
    write=export_parquet,
    options={"run-id": "name of the run in the tables, in place of its own"},
    needs="pyarrow",
    extra="export",
)
"""Parquet tables of a run."""
