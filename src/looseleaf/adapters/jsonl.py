"""`looseleaf export jsonl`: a run as plain JSON lines, records that were superseded left out.

`trajectories.jsonl` and `questions.jsonl` are in our own format (`looseleaf/schemas`), so that `looseleaf import
trajectories` reads them again; `steps`, `findings`, `readings` and `scores` are the flat rows of the Parquet tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec

from looseleaf.adapters.exporter import Exporter
from looseleaf.adapters.run_rows import run_rows
from looseleaf.errors import RunError
from looseleaf.runstore import Run

__all__ = ["JSONL", "export_jsonl"]

WHOLE = ("questions", "trajectories")
FLAT = ("steps", "findings", "readings", "scores")


def export_jsonl(folder: Path, out: Path, options: Mapping[str, str] | None = None) -> list[str]:
    """Write a run as JSON lines.

    Args:
        folder: the RUN.
        out: new or empty folder.
        options: none are taken.

    Returns:
        Lines that say what was written.

    Raises:
        RunError: the run cannot be read, or `out` holds something or cannot be written.
    """
    run = Run.open(folder)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} holds something already; choose another --out.")
    counts = dict.fromkeys((*WHOLE, *FLAT), 0)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with ExitStack() as open_files:
            files = {table: open_files.enter_context((out / f"{table}.jsonl").open("wb")) for table in counts}
            for question in run.read_questions():
                _write(files["questions"], question)
                counts["questions"] += 1
            for trajectory in run.read_trajectories():
                _write(files["trajectories"], trajectory)
                counts["trajectories"] += 1
            for table, row in run_rows(run):
                if table in FLAT:
                    _write(files[table], row)
                    counts[table] += 1
    except OSError as problem:
        raise RunError(f"{out} cannot be written ({problem.strerror}); choose another --out.") from problem
    return [f"{count:>9,} rows in {out / table}.jsonl" for table, count in counts.items()]


def _write(file: IO[bytes], record: object) -> None:
    file.write(msgspec.json.encode(record) + b"\n")


JSONL = Exporter(name="jsonl", title="plain JSON lines, records in our own format", write=export_jsonl)
"""JSON lines of a run."""
