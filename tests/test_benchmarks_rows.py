"""Annotation files: every complaint names the row or line, and nothing in a file is executed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from looseleaf.benchmarks.literals import list_literal, page_list, text_list
from looseleaf.benchmarks.rows import Row, read_annotation, readable
from looseleaf.errors import DataError


def read(tmp_path: Path, name: str, content: str | bytes) -> list[dict[str, object]]:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [dict(row.fields) for row in read_annotation(path).rows]


def complaint(tmp_path: Path, name: str, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(tmp_path, name, content)
    return str(caught.value)


def test_a_json_array_keeps_order_and_counts_rows_from_zero(tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    path.write_text('[{"a": 1}, {"a": 2}]')
    annotation = read_annotation(path)
    assert [row.index for row in annotation.rows] == [0, 1]
    assert [row.where for row in annotation.rows] == ["samples.json, row 0", "samples.json, row 1"]
    assert annotation.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_object_with_data_gives_rows_and_header(tmp_path: Path) -> None:
    path = tmp_path / "gt.json"
    path.write_text('{"dataset_version": "0.1", "data": [{"a": 1}]}')
    annotation = read_annotation(path)
    assert annotation.header == {"dataset_version": "0.1"}
    assert [row.fields for row in annotation.rows] == [{"a": 1}]


def test_jsonl_skips_blank_lines_but_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n')
    rows = read_annotation(path).rows
    assert [(row.index, row.where) for row in rows] == [(0, "q.jsonl, line 1"), (1, "q.jsonl, line 3")]


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    assert read(tmp_path, "q.jsonl", b'\xef\xbb\xbf{"a": 1}\n') == [{"a": 1}]


def test_unicode_line_separators_do_not_end_a_jsonl_line(tmp_path: Path) -> None:
    assert read(tmp_path, "q.jsonl", '{"a": "x\u2028y"}\n') == [{"a": "x\u2028y"}]


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("q.jsonl", '{"a": 1}\n{"a": \n', "q.jsonl, line 2"),
        ("s.json", '[{"a": 1},\n{"a": ]', "s.json, line 2"),
        ("q.jsonl", '{"a": 1}\n[1]\n', "q.jsonl, line 2"),
        ("s.json", '[{"a": 1}, "b"]', "s.json, row 1"),
        ("q.jsonl", '{"a": NaN}\n', "q.jsonl, line 1"),
        ("q.jsonl", '{"a": ' + "9" * 5000 + "}\n", "q.jsonl, line 1"),
        ("q.jsonl", '{"a": 9223372036854775808}\n', "q.jsonl, line 1"),
        ("q.jsonl", '{"a": [{"b": "\\ud800"}]}\n', "q.jsonl, line 1"),
        ("q.jsonl", '{"\\udcff": 1}\n', "q.jsonl, line 1"),
        ("q.jsonl", "[" * 100_000, "q.jsonl, line 1"),
        ("q.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "q.jsonl, line 2"),
        ("t.csv", "a|b\n1|2\n1|2|3\n", "t.csv, row 1"),
    ],
)
def test_a_broken_record_is_named(tmp_path: Path, name: str, content: str | bytes, place: str) -> None:
    assert complaint(tmp_path, name, content).startswith(f"{place}: ")


@pytest.mark.parametrize("content", ['"text"', "{}", '{"data": {"a": 1}}', "3"])
def test_a_file_without_a_list_of_rows_is_refused(tmp_path: Path, content: str) -> None:
    assert "no list of rows" in complaint(tmp_path, "s.json", content)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.json cannot be read"):
        read_annotation(tmp_path / "nothing.json")


def test_csv_is_pipe_separated_and_quoted(tmp_path: Path) -> None:
    content = 'doc|q\na|"one|two"\n'
    assert read(tmp_path, "t.csv", content) == [{"doc": "a", "q": "one|two"}]
    assert "empty" in complaint(tmp_path, "t.csv", "")


def test_a_csv_record_cut_by_an_unquoted_line_break_is_joined(tmp_path: Path) -> None:
    content = "doc|id|q|answer|url\na|1|q one|x|u\nb|2|q two\n|y|v\nc|3|q three|z|w\n"
    rows = read(tmp_path, "t.csv", content)
    assert [row["answer"] for row in rows] == ["x", "y", "z"]
    assert rows[1] == {"doc": "b", "id": "2", "q": "q two", "answer": "y", "url": "v"}


def test_short_csv_records_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path, "t.csv", "a|b|c\n1\n2\n").startswith("t.csv, row 0: 1 fields")


def test_literals_are_read_and_nothing_is_run() -> None:
    assert list_literal("['a', \"b\", 3, 1.5]") == ["a", "b", 3, 1.5]
    assert list_literal(" [1] ") == [1]
    for text in (
        "print(1)",
        "[print(1)]",
        "[__import__('os')]",
        "(1, 2)",
        "[1",
        "",
        "[" * 9000,
        "[1]" * 50_000,
    ):
        assert list_literal(text) is None


def row(**fields: object) -> Row:
    return Row(3, "s.json, row 3", fields)


def test_pages_are_moved_from_the_source_base() -> None:
    assert page_list(row(p="[3, 4]"), "p") == (3, 4)
    assert page_list(row(p=[0, 4]), "p", base=0) == (1, 5)
    assert page_list(row(p=["7"]), "p") == (7,)
    assert page_list(row(p=[0, 2, 2, 1418]), "p") == (0, 2, 2, 1418), "faults are reported, not repaired"


@pytest.mark.parametrize("value", ["3", 3, None, {"a": 1}, ["x"], [True], [1.0], "[1.5]", ["9" * 13]])
def test_what_is_no_list_of_pages_is_refused(value: object) -> None:
    with pytest.raises(DataError, match=r'^s\.json, row 3: "p" '):
        page_list(row(p=value), "p")


def test_text_lists() -> None:
    assert text_list(row(s="['Table', 'Chart']"), "s") == ("Table", "Chart")
    assert text_list(row(s=["Text"]), "s") == ("Text",)
    assert text_list(row(s=""), "s") == text_list(row(), "s") == text_list(row(s=None), "s") == ()
    with pytest.raises(DataError, match="list of texts"):
        text_list(row(s=[1]), "s")


def test_required_text() -> None:
    assert row(a="x").text("a") == "x"
    assert row(b="y").text("a", "b") == "y"
    for fields in ({}, {"a": " "}, {"a": 3}, {"a": None}):
        with pytest.raises(DataError, match=r"^s\.json, row 3: "):
            row(**fields).text("a")
    with pytest.raises(DataError, match='"a" or "b" is missing'):
        row().require("a", "b")
    with pytest.raises(DataError, match="must be text"):
        row(a=3).optional_text("a")


def test_undecodable_names_become_printable() -> None:
    assert readable("caf\udce9.pdf") == "caf\\xe9.pdf"
    assert readable("café.pdf") == "café.pdf"
