"""Corrections are a readable file, opt-in, guarded, and named in the loaded set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf.benchmarks import load_benchmark, overlay_between
from looseleaf.errors import DataError
from planted_data import mmlb_row, unanswerable_row, write_json, write_mmlb

TOML = """
name = "harbour corrections"
benchmark = "mmlongbench-doc"

[[row]]
index = 0
doc_id = "harbour.pdf"
set = { evidence_pages = "[2, 3]", answer = "43" }
reason = "the figure on page 3 counts as well"

[[row]]
index = 2
drop = true
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [mmlb_row(), unanswerable_row(), mmlb_row(question="How many barrels?", answer="318")]
    return write_mmlb(tmp_path / "data", rows)


def refused(data: Path, content: str | dict[str, Any]) -> str:
    path = data.parent / ("fix.toml" if isinstance(content, str) else "fix.json")
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DataError) as caught:
        load_benchmark("mmlongbench-doc", data, overlay=path)
    return str(caught.value)


def test_corrections_change_and_drop_rows_and_are_named(data: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "fix.toml"
    overlay.write_text(TOML)
    loaded = load_benchmark("mmlongbench-doc", data, overlay=overlay)
    first, second = loaded.questions
    assert (first.evidence_pages, first.references) == ((2, 3), ("43",))
    assert first.raw_evidence == "[2]", "the source's own value stays"
    assert second.question_id == "mmlongbench-doc:1", "rows keep their index"
    described = loaded.describe()["overlay"]
    assert (described["name"], described["changed"], described["dropped"]) == (
        "harbour corrections",
        [0],
        [2],
    )
    assert len(described["sha256"]) == 64


def test_without_the_option_nothing_is_corrected(data: Path) -> None:
    loaded = load_benchmark("mmlongbench-doc", data)
    assert (len(loaded), loaded.overlay, loaded.describe()["overlay"]) == (3, None, None)


def test_corrections_as_json(data: Path) -> None:
    overlay = write_json(data.parent / "fix.json", {"row": [{"index": 1, "set": {"doc_type": "Novel"}}]})
    loaded = load_benchmark("mmlongbench-doc", data, overlay=str(overlay))
    assert loaded.questions[1].doc_type == "Novel"
    assert loaded.overlay is not None
    assert loaded.overlay.name == "fix"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("name = ", "is broken"),
        ("name = 'x'", 'has no list "row"'),
        ({"row": [3]}, 'correction 1: it has no whole number "index"'),
        ({"row": [{"index": 9, "drop": True}]}, "there is no row 9"),
        ({"row": [{"index": 0}]}, 'either "set" with at least one field, or "drop = true"'),
        ({"row": [{"index": 0, "drop": True, "set": {"answer": "1"}}]}, "either"),
        (
            {"row": [{"index": 0, "doc_id": "other.pdf", "drop": True}]},
            'row 0 says something else under "doc_id"',
        ),
        (
            {"row": [{"index": 0, "drop": True}, {"index": 0, "drop": True}]},
            "correction 2: there is no row 0",
        ),
        ({"row": [], "benchmark": "dude"}, "corrects dude, not mmlongbench-doc"),
        ({"row": [], "source_sha256": "00"}, "was written for an annotation file with sha256 00"),
        ({"row": [{"index": 0, "set": {"evidence_pages": "two"}}]}, "samples.json, row 0"),
    ],
)
def test_corrections_that_do_not_fit_are_refused(
    data: Path, content: str | dict[str, Any], problem: str
) -> None:
    assert problem in refused(data, content)


def test_a_missing_corrections_file_is_named(data: Path) -> None:
    with pytest.raises(DataError, match=r"fix\.toml cannot be read"):
        load_benchmark("mmlongbench-doc", data, overlay=data / "fix.toml")


def test_an_overlay_built_from_a_corrected_copy_gives_that_copy(tmp_path: Path) -> None:
    same = mmlb_row(question="What colour is the pier?", answer="red", answer_format="Str")
    before = [
        mmlb_row(),
        same,
        {**same, "answer": "Not answerable", "answer_format": "None"},
        mmlb_row(question="How many barrels of herring were unloaded in 1893?", answer="318"),
        mmlb_row(doc_id="gone.pdf"),
    ]
    reworded = mmlb_row(question="How many barrels of herring were unloaded in 1894?", answer="318")
    after = [mmlb_row(answer="43"), same, reworded]
    source = write_mmlb(tmp_path / "data", before) / "samples.json"
    overlay = overlay_between(source, write_json(tmp_path / "corrected.json", after), "mmlongbench-doc")
    assert [row["index"] for row in overlay["row"]] == [0, 2, 3, 4]
    path = write_json(tmp_path / "overlay.json", overlay)
    loaded = load_benchmark("mmlongbench-doc", tmp_path / "data", overlay=path)
    assert [question.question for question in loaded.questions] == [row["question"] for row in after]
    assert [question.references[0] for question in loaded.questions] == [row["answer"] for row in after]


def test_an_overlay_cannot_add_rows(tmp_path: Path) -> None:
    source = write_json(tmp_path / "a.json", [mmlb_row()])
    longer = write_json(tmp_path / "b.json", [mmlb_row(), mmlb_row(question="Something else entirely, no?")])
    with pytest.raises(DataError, match=r"b\.json, row 1: the source has no such row"):
        overlay_between(source, longer, "mmlongbench-doc")
