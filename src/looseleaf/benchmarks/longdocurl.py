"""LongDocURL: 2,325 questions on 396 documents of 51–149 pages (Deng et al., arXiv 2412.18424).

Three shapes of the annotations are read, told apart by their fields:

* `official`: `LongDocURL_public.jsonl` of the authors. Gold answers are JSON values, evidence pages 1-based.
* `mdocagent`: the same fields with a `page_ids` list, as MDocAgent and its descendants write them; evidence
  pages are 0-based there (a row of it and the official row of the same id differ by one).
* `molorag`: `id`, `doc_id`, `task_type` and every value spelled as text; evidence pages 1-based.

The official input of a question is not its document but 30 page images around the span `start_end_idx` that the
question was made from. `pages="official-30"` asks for that window; the default is the whole document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from looseleaf.benchmarks.benchmark import Benchmark, Conversion, Request
from looseleaf.benchmarks.literals import list_literal, page_list, text_list
from looseleaf.benchmarks.rows import Row
from looseleaf.errors import ConfigError
from looseleaf.question import NOT_ANSWERABLE, Question

__all__ = ["BENCHMARK", "WINDOW_PAGES", "Shape", "shape_of", "typed_gold", "window_around"]

WINDOW_PAGES = 30
"""Page images in the official input: the length of `images` in every official row that we have seen."""

OFFICIAL_ROWS = 2325
"""Rows of the full set (arXiv 2412.18424, Table 2)."""

_NAME = "longdocurl"
_SPLIT = "test"

_SPAN_IN_ID = re.compile(r"_(\d+)_(\d+)_\d+(?:-\d+)?$")
"""The span [start, end] and the running number at the end of a question id, e.g. `…_42_71_8`, `…_99_112_9-2`."""

_IMAGE_NUMBER = re.compile(r"_(\d+)\.\w+$")
"""The 0-based page number in the name of a page image, e.g. `4055915_41.png`."""

_OFFICIAL_LABELS: Mapping[str, str] = {"Str": "String", "Int": "Integer"}
"""Answer formats of the third-party shape in the words of the official scorer, where they differ."""

_TAGS = ("task_tag", "question_type", "subTask", "total_pages", "start_end_idx", "detailed_evidences")


class Shape(StrEnum):
    """Who wrote the annotation file."""

    OFFICIAL = "official"
    MDOCAGENT = "mdocagent"
    MOLORAG = "molorag"


def shape_of(row: Row) -> Shape:
    """The shape of a row, by its fields.

    Raises:
        DataError: it is none of the three.
    """
    if "page_ids" in row.fields and "doc_no" in row.fields:
        return Shape.MDOCAGENT
    if "doc_no" in row.fields:
        return Shape.OFFICIAL
    if "doc_id" in row.fields and "id" in row.fields:
        return Shape.MOLORAG
    return row.fail('this is no LongDocURL row; it needs "doc_no" (official) or "id" and "doc_id".')


def typed_gold(text: str, label: str) -> Any:
    """The JSON value that an official row would hold where a third party spelled it as text.

    A whole number, number or list is recovered only if spelling it again gives the same text; everything else
    (`16.3%`, `$80.5 million`, `£35217`) is text in the official rows as well and stays so.

    Args:
        text: the gold answer as spelled.
        label: the official answer format (`Integer`, `Float`, `List`, `String`, `None`).
    """
    if label == "Integer" and re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", text):
        return int(text)
    if label == "Float" and _spells_float(text):
        return float(text)
    if label == "List" and (listed := list_literal(text)) is not None:
        return listed
    return text


def window_around(span: tuple[int, int], total_pages: int | None) -> tuple[int, int]:
    """The official window of `WINDOW_PAGES` pages around a span (inclusive, physical, 1-based).

    The missing pages are added half before and half after, one more after; at either end of the document the
    window is moved inside. Derived from published rows: [105, 121] of 135 pages has the images 99–128, [5, 9] has
    1–30. Where `total_pages` is unknown the window may reach past the last page.
    """
    first, last = span
    missing = max(0, WINDOW_PAGES - (last - first + 1))
    start = max(1, first - missing // 2)
    end = max(last, start + WINDOW_PAGES - 1)
    if total_pages is not None and end > total_pages:
        start = max(1, min(first, start - (end - total_pages)))
        end = max(last, total_pages)
    return start, end


def _convert(request: Request) -> Conversion:
    rows = request.annotation.rows
    shapes = {row.index: shape_of(row) for row in rows}
    wanted = request.options.get("pages", "document")
    if wanted not in ("document", "official-30"):
        raise ConfigError(f'pages is {wanted!r}; choose "document" or "official-30".')
    questions = tuple(_question(row, shapes[row.index]) for row in rows)
    return Conversion(
        questions=questions,
        places=tuple(row.where for row in rows),
        version=f"{'+'.join(sorted(set(shapes.values())))} ({len(rows)} rows)",
        split=_SPLIT,
        notes=_notes(questions, set(shapes.values()), wanted),
        oracle={"page_window": wanted} if wanted == "official-30" else {},
    )


def _notes(questions: Sequence[Question], shapes: set[Shape], wanted: str) -> tuple[str, ...]:
    notes = []
    if Shape.MOLORAG in shapes:
        notes.append(
            "Third-party annotations (molorag shape): answers are spelled as text, question types are absent, and "
            "windows are computed from the ids."
        )
    if Shape.MDOCAGENT in shapes:
        notes.append(
            "Third-party annotations (mdocagent shape): evidence pages are 0-based and were moved by one."
        )
    if len(questions) != OFFICIAL_ROWS:
        notes.append(
            f"{len(questions)} of the {OFFICIAL_ROWS} official rows; official denominators do not apply."
        )
    without = sum(question.window is None for question in questions)
    if wanted == "official-30" and without:
        notes.append(f"{without} questions have no window in this file and get the whole document.")
    return tuple(notes)


def _question(row: Row, shape: Shape) -> Question:
    label = row.text("answer_format")
    answer = row.require("answer")
    if answer is None:
        row.fail('"answer" must not be null; write "Not answerable" for an unanswerable question.')
    if shape is Shape.MOLORAG:
        label = _OFFICIAL_LABELS.get(label, label)
        answer = typed_gold(row.optional_text("answer"), label)
    return Question(
        question_id=f"{_NAME}:{row.index}",
        native_id=row.text("question_id", "id"),
        benchmark=_NAME,
        split=_SPLIT,
        doc_id=_doc_id(row),
        question=row.text("question"),
        references=(answer,),
        answer_format=label,
        evidence_pages=page_list(row, "evidence_pages", base=0 if shape is Shape.MDOCAGENT else 1),
        raw_evidence=row.raw("evidence_pages"),
        sources=text_list(row, "evidence_sources"),
        tags=_tags(row, shape),
        unanswerable=answer == NOT_ANSWERABLE,
        window=_window(row),
    )


def _doc_id(row: Row) -> str:
    """The 7-digit number of the document, the same in every shape."""
    value = row.require("doc_no", "doc_id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return row.text("doc_no", "doc_id").removesuffix(".pdf")


def _tags(row: Row, shape: Shape) -> dict[str, Any]:
    tags = {key: row.fields[key] for key in _TAGS if row.fields.get(key) not in (None, "")}
    if shape is Shape.MOLORAG and "task_type" in row.fields:
        tags["task_tag"] = row.fields["task_type"]
    return tags


def _window(row: Row) -> tuple[int, int] | None:
    """The official input's pages: those of `images` if listed, else computed from the span."""
    images = row.fields.get("images")
    listed = list_literal(images) if isinstance(images, str) else images
    if isinstance(listed, list) and listed:
        numbers = [_image_page(row, item) for item in listed]
        return min(numbers), max(numbers)
    span = _span(row)
    total = row.fields.get("total_pages")
    return None if span is None else window_around(span, total if isinstance(total, int) else None)


def _image_page(row: Row, item: Any) -> int:
    match = _IMAGE_NUMBER.search(PurePosixPath(item).name) if isinstance(item, str) else None
    if match is None:
        row.fail(f'"images" holds {ascii(item)[:60]}, whose name ends in no page number.')
    return int(match[1]) + 1


def _span(row: Row) -> tuple[int, int] | None:
    given = row.fields.get("start_end_idx")
    if isinstance(given, list) and len(given) == 2 and all(isinstance(page, int) for page in given):
        return given[0], given[1]
    match = _SPAN_IN_ID.search(row.text("question_id", "id"))
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        return None
    return int(match[1]), int(match[2])


def _spells_float(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,18}\.[0-9]{1,18}", text) is not None and repr(float(text)) == text


BENCHMARK = Benchmark(
    name=_NAME,
    title="LongDocURL",
    origin="dengc2023/LongDocURL@3807c0e, dengchao/LongDocURL (Apache-2.0), arXiv 2412.18424",
    patterns=("*.jsonl|samples*.json",),
    convert=_convert,
    options={"pages": '"document" (default) or "official-30", the 30 page images of the official input'},
    first_index=0,
)
"""LongDocURL in the three shapes; page images are named `<document>_<0-based page>.png`."""
