"""Corrections to a source's rows: a readable file that the user supplies, never applied unasked.

```toml
name = "my corrections"
benchmark = "mmlongbench-doc"
source_sha256 = "4ffadad6…"        # optional: the annotation file that the corrections were written for

[[row]]
index = 704                        # position in the annotation file, from 0
doc_id = "manual.pdf"              # guard: what the row must say, any field of the source
set = { evidence_pages = "[14, 18]" }
reason = "two page numbers are written as one"

[[row]]
index = 12
drop = true
reason = "the document ships under a wrong name"
```

The same as JSON: an object with `name`, `benchmark`, `source_sha256` and a list `row`. Values under `set` stand
in the source's own notation and page base, so that a corrected row is read by the same rules as any other.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from looseleaf.benchmarks.question_set import AppliedOverlay
from looseleaf.benchmarks.rows import Annotation, Row, readable
from looseleaf.errors import DataError

__all__ = ["apply_overlay"]

_CONTROL = frozenset({"index", "set", "drop", "reason"})
"""Keys of a correction that are not guards."""


def apply_overlay(
    annotation: Annotation, path: Path | str | None, benchmark: str
) -> tuple[Annotation, AppliedOverlay | None]:
    """The annotation with the corrections of the file at `path`; unchanged and `None` where no path is given.

    Args:
        annotation: the rows as the source has them.
        path: corrections, TOML or JSON.
        benchmark: canonical name that the file must be written for.

    Raises:
        DataError: the file cannot be read, was written for something else, or a guard does not hold.
    """
    if path is None:
        return annotation, None
    path = Path(path)
    raw, content = _read(path)
    name = readable(path.name)
    _check_target(content, annotation, benchmark, name)
    rows = {row.index: row for row in annotation.rows}
    changed, dropped = [], []
    for number, correction in enumerate(content["row"], start=1):
        row = _target(correction, rows, f"{name}, correction {number}")
        if correction.get("drop"):
            dropped.append(row.index)
            del rows[row.index]
        else:
            changed.append(row.index)
            rows[row.index] = _corrected(row, correction)
    applied = AppliedOverlay(
        name=str(content.get("name", path.stem)),
        sha256=hashlib.sha256(raw).hexdigest(),
        changed=tuple(changed),
        dropped=tuple(dropped),
    )
    return replace(annotation, rows=tuple(rows.values())), applied


def _read(path: Path) -> tuple[bytes, dict[str, Any]]:
    name = readable(path.name)
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except OSError as error:
        raise DataError(
            f"the corrections file {name} cannot be read ({error.strerror}); check the path."
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"the corrections file {name} is broken ({error}); repair it.") from error
    if not isinstance(content, dict) or not isinstance(content.get("row"), list):
        raise DataError(
            f'the corrections file {name} has no list "row"; see the format in the documentation.'
        )
    return raw, content


def _check_target(content: Mapping[str, Any], annotation: Annotation, benchmark: str, name: str) -> None:
    if content.get("benchmark", benchmark) != benchmark:
        raise DataError(
            f"{name} corrects {content['benchmark']}, not {benchmark}; give the file for {benchmark}."
        )
    wanted = content.get("source_sha256", annotation.sha256)
    if wanted != annotation.sha256:
        raise DataError(
            f"{name} was written for an annotation file with sha256 {str(wanted)[:12]}…, not "
            f"{annotation.sha256[:12]}…; use the matching release, or remove source_sha256."
        )


def _target(correction: Any, rows: Mapping[int, Row], where: str) -> Row:
    if not isinstance(correction, dict) or not isinstance(correction.get("index"), int):
        raise DataError(f'{where}: it has no whole number "index"; add the row\'s position, counted from 0.')
    if correction["index"] not in rows:
        raise DataError(f"{where}: there is no row {correction['index']}; check the index.")
    if bool(correction.get("drop")) == bool(correction.get("set")):
        raise DataError(f'{where}: it needs either "set" with at least one field, or "drop = true".')
    row = rows[correction["index"]]
    for key in correction.keys() - _CONTROL:
        if row.fields.get(key) != correction[key]:
            raise DataError(f'{where}: row {row.index} says something else under "{key}"; check the index.')
    return row


def _corrected(row: Row, correction: Mapping[str, Any]) -> Row:
    source = row.fields if row.source is None else row.source
    return replace(row, fields={**row.fields, **correction["set"]}, source=source)
