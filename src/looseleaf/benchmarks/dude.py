"""DUDE and DUDE-sub: questions on multi-page documents of every industry (Van Landeghem et al., arXiv 2305.08455).

The public ground-truth format (Jordy-VL/DUDEeval@8bd6dea): one object with a list `data`; pages of
`answers_page_bounding_boxes` are 0-based. A row is unanswerable if its `answer_type` says so, spelled with a hyphen
or a blank; its only reference is then the empty text, which the official ANLS expects as the prediction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from looseleaf.benchmarks.benchmark import Benchmark, Conversion, Request
from looseleaf.benchmarks.rows import Row, readable
from looseleaf.errors import ConfigError, DataError
from looseleaf.question import Question

__all__ = ["DUDE", "DUDE_SUB"]

PAGE_BASE = 0
"""Number of the first page in DUDE's bounding boxes."""

_ORIGIN = "Jordy-VL/DUDEeval@8bd6dea, jordyvl/DUDE_loader (CC BY 4.0), arXiv 2305.08455"
_PATTERNS = ("*gt.json", "*gt*.json", "dude*.json")
_SPLIT_OPTION = {"split": 'only the rows of this "data_split" (train, val, test); default all'}


def _convert(request: Request) -> Conversion:
    return _conversion(request, "dude", request.annotation.rows)


def _convert_subset(request: Request) -> Conversion:
    path = request.options.get("ids")
    if path is None:
        raise ConfigError(
            "dude-sub needs the option ids: a file with one questionId a line, or a JSON list of them; "
            "the ids of the published 960-row subset are not public."
        )
    ids, sha256 = _read_ids(Path(path))
    rows = [row for row in request.annotation.rows if row.text("questionId") in ids]
    if absent := ids - {row.text("questionId") for row in rows}:
        raise DataError(
            f"{readable(Path(path).name)} names {len(absent)} questions that the ground truth lacks, e.g. "
            f"{sorted(absent)[0]!r}; use the ground truth that the ids belong to."
        )
    return _conversion(request, "dude-sub", rows, used={readable(Path(path).name): sha256})


def _conversion(
    request: Request, name: str, rows: Sequence[Row], used: dict[str, str] | None = None
) -> Conversion:
    split = request.options.get("split")
    kept = [row for row in rows if split is None or row.optional_text("data_split") == split]
    if not kept:
        raise DataError(f"no row of {readable(request.annotation.path.name)} is in the split {split!r}.")
    edition = request.annotation.header.get("dataset_version", "unnamed")
    return Conversion(
        questions=tuple(_question(row, name) for row in kept),
        places=tuple(row.where for row in kept),
        version=f"{edition} ({len(kept)} rows)",
        split=split or "all",
        used=used or {},
    )


def _question(row: Row, name: str) -> Question:
    answers = _answers(row)
    kind = row.text("answer_type")
    unanswerable = kind.replace("-", " ") == "not answerable"
    pages = tuple(dict.fromkeys(_pages(row)))
    return Question(
        question_id=f"{name}:{row.index}",
        native_id=row.text("questionId"),
        benchmark=name,
        split=row.optional_text("data_split"),
        doc_id=row.text("docId"),
        question=row.text("question"),
        references=("",) if unanswerable and not answers else answers,
        answer_format=kind,
        # Boxes are given for extractive answers only; an answerable row without any has unknown pages.
        evidence_pages=pages if pages or unanswerable else None,
        raw_evidence=row.raw("answers_page_bounding_boxes"),
        tags=_tags(row),
        unanswerable=unanswerable,
    )


def _answers(row: Row) -> tuple[str, ...]:
    # The test split is published without answers; such rows run and stay unscored.
    value = row.fields.get("answers")
    listed = [] if value is None else value
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        row.fail('"answers" must be a list of texts.')
    return tuple(listed)


def _tags(row: Row) -> dict[str, Any]:
    variants = row.fields.get("answers_variants")
    return {"answers_variants": variants} if variants else {}


def _pages(row: Row) -> Iterator[int]:
    for box in _boxes(row, row.fields.get("answers_page_bounding_boxes") or []):
        page = box.get("page")
        if isinstance(page, bool) or not isinstance(page, int):
            row.fail(f'"answers_page_bounding_boxes" holds the page {ascii(page)[:40]}, which is no number.')
        yield page + 1 - PAGE_BASE


def _boxes(row: Row, value: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(value, list):
        row.fail('"answers_page_bounding_boxes" must be a list.')
    for item in value:
        if isinstance(item, dict):
            yield item
        elif isinstance(item, list) and all(isinstance(box, dict) for box in item):
            yield from item
        else:
            row.fail('"answers_page_bounding_boxes" must hold boxes, or lists of boxes.')


def _read_ids(path: Path) -> tuple[frozenset[str], str]:
    name = readable(path.name)
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
        listed = json.loads(text) if text.lstrip().startswith("[") else text.split()
    except OSError as error:
        raise DataError(f"the id file {name} cannot be read ({error.strerror}); check the path.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"the id file {name} is broken ({error}); write one id a line.") from error
    if not listed or not all(isinstance(item, str) for item in listed):
        raise DataError(f"the id file {name} holds no list of ids; write one id a line.")
    return frozenset(listed), hashlib.sha256(raw).hexdigest()


DUDE = Benchmark(
    name="dude", title="DUDE", origin=_ORIGIN, patterns=_PATTERNS, convert=_convert, options=_SPLIT_OPTION
)
"""DUDE in the public ground-truth format."""

DUDE_SUB = Benchmark(
    name="dude-sub",
    title="DUDE-sub",
    origin=f"{_ORIGIN}; the subset of 960 validation questions used by ALDEN (arXiv 2510.25668)",
    patterns=_PATTERNS,
    convert=_convert_subset,
    options={**_SPLIT_OPTION, "ids": "file of the questionIds that make the subset"},
)
"""The rows of DUDE that an id file names."""
