"""One's own questions: a JSONL file and a folder of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from looseleaf.benchmarks import load_questions
from looseleaf.errors import DataError
from looseleaf.question import Question
from planted_data import write_jsonl, write_pdf


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    write_pdf(tmp_path / "docs" / "harbour.pdf")
    write_pdf(tmp_path / "docs" / "reports" / "2024 report.pdf")
    return tmp_path / "docs"


def load(tmp_path: Path, docs: Path, *rows: Any) -> tuple[Question, ...]:
    return load_questions(write_jsonl(tmp_path / "mine.jsonl", rows), docs).questions


def test_the_least_that_a_row_needs(tmp_path: Path, docs: Path) -> None:
    loaded = load_questions(
        write_jsonl(tmp_path / "mine.jsonl", [{"document": "harbour.pdf", "question": "What is it?"}]), docs
    )
    question = loaded.questions[0]
    assert (question.question_id, question.native_id, question.benchmark) == ("mine:0", "0", "mine")
    assert (question.references, question.answer_format) == ((), "")
    assert question.evidence_pages is None
    assert not question.unanswerable
    assert (loaded.name, loaded.version) == ("mine", "own (1 rows)")


def test_everything_that_a_row_may_say(tmp_path: Path, docs: Path) -> None:
    row = {
        "question_id": 17,
        "doc_id": "reports/2024_report.pdf",
        "question": "How many?",
        "answers": [3, "three"],
        "answer_format": "Int",
        "evidence_pages": [2],
        "evidence_sources": ["Table"],
        "doc_type": "Report",
        "tags": {"author": "me"},
        "topic": "herring",
    }
    (question,) = load(tmp_path, docs, row)
    assert question.native_id == "17"
    assert (question.references, question.answer_format) == ((3, "three"), "Int")
    assert (question.evidence_pages, question.sources, question.doc_type) == ((2,), ("Table",), "Report")
    assert question.tags == {"author": "me", "topic": "herring"}


@pytest.mark.parametrize(
    ("fields", "references", "label", "unanswerable"),
    [
        ({"answer": 3}, (3,), "Int", False),
        ({"answer": 3.5}, (3.5,), "Float", False),
        ({"answer": True}, (True,), "Str", False),
        ({"answer": "x"}, ("x",), "Str", False),
        ({"answer": ["a"]}, (["a"],), "List", False),
        ({"references": ["a", "b"]}, ("a", "b"), "Str", False),
        ({"answer": "Not answerable"}, ("Not answerable",), "None", True),
        ({"answer": "no", "unanswerable": True}, ("no",), "Str", True),
        ({"answer": None}, (), "", False),
    ],
)
def test_gold_answers(
    tmp_path: Path, docs: Path, fields: dict[str, Any], references: Any, label: str, unanswerable: bool
) -> None:
    (question,) = load(tmp_path, docs, {"doc_id": "harbour", "question": "q", **fields})
    assert (question.references, question.answer_format, question.unanswerable) == (
        references,
        label,
        unanswerable,
    )


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"question": "q"}, '"doc_id" or "document" is missing'),
        ({"doc_id": "harbour.pdf"}, '"question" is missing'),
        ({"doc_id": "harbour.pdf", "question": "  "}, "non-empty text"),
        ({"doc_id": "harbour.pdf", "question": "q", "answers": "x"}, "must be a list of accepted answers"),
        ({"doc_id": "harbour.pdf", "question": "q", "unanswerable": "yes"}, "must be true or false"),
        ({"doc_id": "harbour.pdf", "question": "q", "question_id": [1]}, "text or a whole number"),
        (
            {"doc_id": "harbour.pdf", "question": "q", "question_id": "a"},
            "was used before at mine.jsonl, line 1",
        ),
        ({"doc_id": "harbour.pdf", "question": "q", "tags": 3}, "must be an object"),
        ({"doc_id": "harbour.pdf", "question": "q", "evidence_pages": 3}, "must be a list of page numbers"),
        ({"doc_id": "../docs/harbour.pdf", "question": "q"}, "could leave the data folder"),
        ("text", "expected an object"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, docs: Path, row: Any, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, docs, {"doc_id": "harbour.pdf", "question": "q", "question_id": "a"}, row)
    assert str(caught.value).startswith("mine.jsonl, line 2: ")
    assert problem in str(caught.value)


def test_missing_documents(tmp_path: Path, docs: Path) -> None:
    rows = [{"doc_id": "harbour.pdf", "question": "q"}, {"doc_id": "absent.pdf", "question": "q"}]
    loaded = load_questions(write_jsonl(tmp_path / "mine.jsonl", rows), docs)
    assert (loaded.missing, len(loaded.runnable)) == (("absent.pdf",), 1)
    assert list(loaded.extra) == ["reports/2024 report.pdf"]
    with pytest.raises(DataError, match=r"none of the documents named in mine\.jsonl is in"):
        load_questions(write_jsonl(tmp_path / "mine.jsonl", rows[1:]), docs)
    with pytest.raises(DataError, match="is not a folder"):
        load_questions(tmp_path / "mine.jsonl", tmp_path / "nothing")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(DataError, match="holds no question"):
        load_questions(tmp_path / "empty.jsonl", docs)
