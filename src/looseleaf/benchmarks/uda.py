"""What PaperTab, PaperText and FetaTab share: UDA's rows, and the JSON copies of them.

Shapes, told apart by their fields:

* UDA's own csv (qinchuanhui/UDA-Benchmark@fca5237 `dataset/qa`): `doc_name` without suffix, `q_uid`, `question`,
  `answer_1` … `answer_3` or `answer`;
* MDocAgent's json: `doc_id`, `q_uid`, `question`, `answer`, `answer_2`, `answer_3`;
* MoLoRAG's json: `id`, `doc_id`, `question`, `answer`, `answer_format`; several references are one list literal
  with the format `Multiple`.

A blank reference means that there is none. None of the sets has evidence pages: navigation is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence

from looseleaf.benchmarks.benchmark import Benchmark, Conversion, Request
from looseleaf.benchmarks.literals import list_literal
from looseleaf.benchmarks.rows import Row
from looseleaf.question import Question

__all__ = ["uda_benchmark"]

_SPLIT = "test"

_ORIGIN = (
    "qinchuanhui/UDA-Benchmark@fca5237 (arXiv 2406.15187, CC BY-SA 4.0); json copies of MDocAgent "
    "(Lillianwei/Mdocagent-dataset) and MoLoRAG"
)

_REFERENCE_KEYS = ("answer", "answer_1", "answer_2", "answer_3")


def uda_benchmark(name: str, title: str, stems: tuple[str, ...], rows: int, text_format: str) -> Benchmark:
    """A benchmark in UDA's shapes.

    Args:
        name: canonical name.
        title: name in running text.
        stems: beginnings of the annotation files' names, in lower case without `_` and `-`.
        rows: number of rows of the full set.
        text_format: answer format of rows that name none.
    """

    def convert(request: Request) -> Conversion:
        listed = request.annotation.rows
        return Conversion(
            questions=tuple(_question(row, name, text_format) for row in listed),
            places=tuple(row.where for row in listed),
            version=f"{_shape(listed[0]) if listed else 'empty'} ({len(listed)} rows)",
            split=_SPLIT,
            notes=_notes(listed, rows),
        )

    return Benchmark(
        name=name,
        title=title,
        origin=_ORIGIN,
        patterns=(*(f"{stem}*.json" for stem in stems), *(f"{stem}*.csv" for stem in stems), "samples.json"),
        convert=convert,
    )


def _notes(listed: Sequence[Row], rows: int) -> tuple[str, ...]:
    notes = []
    if len(listed) != rows:
        notes.append(f"{len(listed)} rows; MDocAgent's evaluation set has {rows}.")
    if any(row.fields.get("answer_format") == "Multiple" for row in listed):
        notes.append(
            "This copy does not keep UDA's order of references; a judge of the first one sees another."
        )
    return tuple(notes)


def _shape(row: Row) -> str:
    if "doc_name" in row.fields:
        return "uda"
    return "mdocagent" if "q_uid" in row.fields else "molorag"


def _question(row: Row, name: str, text_format: str) -> Question:
    return Question(
        question_id=f"{name}:{row.index}",
        native_id=row.text("q_uid", "id"),
        benchmark=name,
        split=_SPLIT,
        doc_id=row.text("doc_id", "doc_name"),
        question=row.text("question"),
        references=_references(row),
        answer_format=row.optional_text("answer_format") or text_format,
    )


def _references(row: Row) -> tuple[str, ...]:
    if row.fields.get("answer_format") == "Multiple":
        listed = list_literal(row.text("answer"))
        if not listed or not all(isinstance(item, str) for item in listed):
            row.fail('"answer" must spell a list of texts where "answer_format" is "Multiple".')
        return tuple(listed)
    found = tuple(text for key in _REFERENCE_KEYS if (text := row.optional_text(key)).strip())
    if not found:
        row.fail("it has no reference answer; add one.")
    return found
