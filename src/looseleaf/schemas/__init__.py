"""JSON Schemas of the records of a RUN, so that anybody's agent can write these files.

The schemas are made from the record types; the shipped files are what `python -m looseleaf.schemas` writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from looseleaf.question import Question
from looseleaf.runstore import ExtractionRow, ReadingRow, ScoreRow
from looseleaf.trajectory import Trajectory

__all__ = ["RECORDS", "SCHEMA_FOLDER", "schema_of", "write_schemas"]

RECORDS: dict[str, type[msgspec.Struct]] = {
    "trajectory": Trajectory,
    "question": Question,
    "reading": ReadingRow,
    "extraction": ExtractionRow,
    "score": ScoreRow,
}
"""Record types by the name of their schema file."""
SCHEMA_FOLDER = Path(__file__).parent
DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The JSON Schema dialect that msgspec writes."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a record type, e.g. `schema_of("trajectory")`."""
    return {"$schema": DIALECT, "title": f"looseleaf {name}", **msgspec.json.schema(RECORDS[name])}


def write_schemas(folder: Path = SCHEMA_FOLDER) -> None:
    """Write every schema as `<name>.schema.json`."""
    for name in RECORDS:
        content = json.dumps(schema_of(name), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        (folder / f"{name}.schema.json").write_text(content, encoding="utf-8")
