"""Each benchmark's rows become questions with everything that scorers and breakdowns need; no document is opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf.benchmarks import BENCHMARKS, QuestionSet, canonical_name, check, get_benchmark, load_benchmark
from looseleaf.benchmarks.longdocurl import typed_gold, window_around
from looseleaf.document import Document, PageStore
from looseleaf.errors import ConfigError, DataError, DocumentError
from planted_data import (
    dude_row,
    longdocurl_row,
    mmlb_row,
    molorag_row,
    unanswerable_row,
    write_json,
    write_jsonl,
    write_mmlb,
    write_page_images,
    write_pdf,
)


def test_every_benchmark_has_a_file_and_a_canonical_name() -> None:
    assert set(BENCHMARKS) == {
        *(
            "mmlongbench-doc",
            "longdocurl",
            "papertab",
            "papertext",
            "fetatab",
            "dude",
            "dude-sub",
            "procedural",
        ),
        "doc-750k",
    }
    assert all(name == benchmark.name == canonical_name(name) for name, benchmark in BENCHMARKS.items())


def test_names_take_underscores_and_capitals() -> None:
    assert get_benchmark("MMLongBench_Doc") is BENCHMARKS["mmlongbench-doc"]
    with pytest.raises(ConfigError, match=r"there is no benchmark 'mmlb'; choose one of .*papertab"):
        load_benchmark("mmlb", Path())


def test_mmlongbench(tmp_path: Path) -> None:
    rows = [
        mmlb_row(),
        mmlb_row(doc_id="absent.pdf", evidence_sources="['Table', 'Chart']"),
        unanswerable_row(),
    ]
    loaded = load_benchmark("mmlongbench-doc", write_mmlb(tmp_path, rows))
    first, second, third = loaded.questions
    assert (first.question_id, first.native_id, first.benchmark) == (
        "mmlongbench-doc:0",
        "0",
        "mmlongbench-doc",
    )
    assert (first.references, first.answer_format, first.evidence_pages) == (("42",), "Int", (2,))
    assert (first.raw_evidence, first.doc_type, first.unanswerable) == ("[2]", "Guidebook", False)
    assert second.sources == ("Table", "Chart")
    assert (third.unanswerable, third.evidence_pages) == (True, ())
    assert loaded.documents == {"harbour.pdf": tmp_path.resolve() / "documents" / "harbour.pdf"}
    assert loaded.missing == ("absent.pdf",)
    assert loaded.runnable == (first, third)
    assert loaded.version == "unrecognised (3 rows)"
    assert "none of the official releases" in loaded.notes[0]
    assert loaded.overlay is None
    assert loaded.oracle == {}


def test_loading_opens_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_mmlb(tmp_path, [mmlb_row()])
    monkeypatch.setattr(Document, "open", lambda *a, **k: pytest.fail("a document was opened"))
    assert len(load_benchmark("mmlongbench-doc", tmp_path).runnable) == 1


def test_description_is_json(tmp_path: Path) -> None:
    loaded = load_benchmark("mmlongbench-doc", write_mmlb(tmp_path, [mmlb_row()]), annotations="samples.json")
    described = json.loads(json.dumps(loaded.describe()))
    assert described["n_questions"] == described["n_runnable"] == 1
    assert described["overlay"] is None
    assert described["annotations"] == {"samples.json": loaded.sha256}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"answer": None}, '"answer" must not be null'),
        ({"question": ""}, '"question" must be non-empty text'),
        ({"doc_id": 3}, '"doc_id" must be non-empty text'),
        ({"evidence_pages": "five"}, '"evidence_pages" must be a list of page numbers'),
        ({"evidence_pages": None}, '"evidence_pages" must be a list'),
        ({"evidence_sources": "x"}, '"evidence_sources" must be a list of texts'),
        ({"answer_format": " "}, '"answer_format" must be non-empty text'),
        ({"doc_id": "../harbour.pdf"}, "could leave the data folder"),
        ({"doc_id": "/etc/passwd"}, "could leave the data folder"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    write_mmlb(tmp_path, [mmlb_row(), mmlb_row(**fields)])
    with pytest.raises(DataError) as caught:
        load_benchmark("mmlongbench-doc", tmp_path)
    assert str(caught.value).startswith("samples.json, row 1: ")
    assert problem in str(caught.value)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    row = mmlb_row()
    del row["answer"]
    with pytest.raises(DataError, match=r'samples\.json, row 0: the key "answer" is missing'):
        load_benchmark("mmlongbench-doc", write_mmlb(tmp_path, [row]))


def test_no_usable_document_is_an_error_unless_asked_for(tmp_path: Path) -> None:
    write_mmlb(tmp_path, [mmlb_row()], documents={})
    with pytest.raises(DataError, match="no document of MMLongBench-Doc is in"):
        load_benchmark("mmlongbench-doc", tmp_path)
    loaded = load_benchmark("mmlongbench-doc", tmp_path, require_documents=False)
    assert (len(loaded), loaded.runnable) == (1, ())


def test_folders_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a folder"):
        load_benchmark("mmlongbench-doc", tmp_path / "nothing")
    with pytest.raises(
        DataError, match=r"no annotation file of LongDocURL is in .*; expected \*\.jsonl or samples\*\.json"
    ):
        load_benchmark("longdocurl", tmp_path)
    with pytest.raises(DataError, match="has no annotation file"):
        load_benchmark("mmlongbench-doc", tmp_path, annotations="../samples.json")
    write_json(tmp_path / "samples.json", [])
    with pytest.raises(DataError, match="holds no question"):
        load_benchmark("mmlongbench-doc", tmp_path)


def test_unknown_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="mmlongbench-doc has no option 'pages'; it has annotations, overlay"
    ):
        load_benchmark("mmlongbench-doc", tmp_path, pages="document")


def test_the_set_answers_for_its_questions(tmp_path: Path) -> None:
    loaded = load_benchmark(
        "mmlongbench-doc", write_mmlb(tmp_path, [mmlb_row(), mmlb_row(doc_id="absent.pdf")])
    )
    first, second = loaded.questions
    assert loaded.question("mmlongbench-doc:1") is second
    with pytest.raises(DataError, match='has no question "mmlongbench-doc:2"'):
        loaded.question("mmlongbench-doc:2")
    with pytest.raises(DataError, match=r'the document "absent\.pdf" is not in'):
        loaded.path_of(second)
    assert loaded.only([second]).runnable == ()
    assert loaded.only([first]).documents == loaded.documents


def longdocurl(root: Path, rows: list[dict[str, Any]], **options: Any) -> QuestionSet:
    write_jsonl(root / "public.jsonl", rows)
    write_page_images(root / "pages" / "4000001", "4000001", 3)
    return load_benchmark("longdocurl", root, **options)


def test_longdocurl_official_shape(tmp_path: Path) -> None:
    loaded = longdocurl(tmp_path, [longdocurl_row(), longdocurl_row(answer=["a", 2], answer_format="List")])
    question = loaded.questions[0]
    assert (question.native_id, question.doc_id) == ("free_gpt4o_4000001_42_71_8", "4000001")
    assert (question.references, question.evidence_pages, question.sources) == ((5,), (54,), ("Table",))
    assert question.tags["task_tag"] == "Reasoning"
    assert question.tags["start_end_idx"] == [42, 71]
    assert question.window == (42, 71), "page images are named from 0"
    assert loaded.questions[1].references == (["a", 2],)
    assert loaded.version == "official (2 rows)"
    assert loaded.oracle == {}
    assert loaded.window_of(question) is None


def test_longdocurl_window_is_a_named_option(tmp_path: Path) -> None:
    loaded = longdocurl(tmp_path, [longdocurl_row()], pages="official-30")
    assert loaded.oracle == {"page_window": "official-30"}
    assert loaded.window_of(loaded.questions[0]) == (42, 71)
    with pytest.raises(ConfigError, match='choose "document" or "official-30"'):
        load_benchmark("longdocurl", tmp_path, pages="all")


def test_longdocurl_mdocagent_shape_counts_evidence_from_zero(tmp_path: Path) -> None:
    row = longdocurl_row(evidence_pages=[53], page_ids=list(range(41, 71)))
    loaded = longdocurl(tmp_path, [row])
    assert loaded.questions[0].evidence_pages == (54,)
    assert loaded.questions[0].raw_evidence == [53]
    assert loaded.version == "mdocagent (1 rows)"
    assert any("0-based" in note for note in loaded.notes)


def test_longdocurl_molorag_shape(tmp_path: Path) -> None:
    rows = [
        molorag_row(),
        molorag_row(id="free_gpt4o_4000001_99_112_9-2", answer="Not answerable", answer_format="None"),
        molorag_row(id="free_gpt4o_4000001_2", answer="£35217"),
    ]
    loaded = longdocurl(tmp_path, rows, pages="official-30")
    first, second, third = loaded.questions
    assert (first.references, first.answer_format) == ((5,), "Integer")
    assert (first.doc_id, first.tags["task_tag"], first.window) == ("4000001", "Understanding", (51, 80))
    assert (second.unanswerable, second.window) == (True, (91, 120))
    assert (third.references, third.window) == (("£35217",), None)
    assert loaded.version == "molorag (3 rows)"
    assert any("1 questions have no window" in note for note in loaded.notes)


@pytest.mark.parametrize(
    ("span", "pages", "window"),
    [
        # The first two are what the images of published rows show; the rest follows from the same rule.
        ((105, 121), 135, (99, 128)),
        ((5, 9), 104, (1, 30)),
        ((42, 71), 84, (42, 71)),
        ((60, 62), 70, (41, 70)),
        ((10, 12), 20, (1, 20)),
        ((60, 62), None, (47, 76)),
    ],
)
def test_the_official_window(span: tuple[int, int], pages: int | None, window: tuple[int, int]) -> None:
    assert window_around(span, pages) == window


@pytest.mark.parametrize(
    ("text", "label", "value"),
    [
        ("5", "Integer", 5),
        ("-3", "Integer", -3),
        ("007", "Integer", "007"),
        ("7.0", "Integer", "7.0"),
        ("$300 million", "Integer", "$300 million"),
        ("16.3%", "Float", "16.3%"),
        ("3299.26", "Float", 3299.26),
        ("0.10", "Float", "0.10"),
        ("1e5", "Float", "1e5"),
        ("['a', 'b']", "List", ["a", "b"]),
        ("[8.1, 9.5]", "List", [8.1, 9.5]),
        ("a, b", "List", "a, b"),
        ("[unquoted]", "List", "[unquoted]"),
        ("5", "String", "5"),
        ("Not answerable", "None", "Not answerable"),
    ],
)
def test_golds_get_their_types_back_only_where_nothing_is_lost(text: str, label: str, value: Any) -> None:
    typed = typed_gold(text, label)
    assert typed == value
    assert type(typed) is type(value)


def test_longdocurl_refuses_rows_of_no_known_shape(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"public\.jsonl, line 1: this is no LongDocURL row"):
        longdocurl(tmp_path, [{"question": "x"}])
    with pytest.raises(DataError, match="whose name ends in no page number"):
        longdocurl(tmp_path, [longdocurl_row(images=["cover.png"])])


def test_page_images_open_with_the_source_numbering(tmp_path: Path) -> None:
    write_page_images(tmp_path / "pages" / "4000001", "4000001", 3, first=1)
    write_jsonl(tmp_path / "public.jsonl", [longdocurl_row()])
    loaded = load_benchmark("longdocurl", tmp_path)
    with pytest.raises(DocumentError, match="no page image numbered 0"):
        loaded.open(loaded.questions[0])


def test_the_largest_annotation_file_is_read_and_named(tmp_path: Path) -> None:
    write_json(tmp_path / "samples_copy.json", [molorag_row()] * 40)
    loaded = longdocurl(tmp_path, [longdocurl_row()])
    assert len(loaded) == 40
    assert (
        loaded.notes[0] == "samples_copy.json was read as the largest annotation file; public.jsonl was not."
    )
    assert len(load_benchmark("longdocurl", tmp_path, annotations="public.jsonl")) == 1


UDA_CSV = (
    "doc_name|q_uid|question|answer_1|answer_2|answer_3\n"
    "1912.01214|u1|which pairs?|De-En|De-En, En-Fr| \n"
    "1801.05147|u2|what data?|Europarl| | \n"
)


def test_papertab_in_three_shapes(tmp_path: Path) -> None:
    write_pdf(tmp_path / "documents" / "1912.01214.pdf")
    (tmp_path / "paper_tab_qa.csv").write_text(UDA_CSV)
    uda = load_benchmark("papertab", tmp_path)
    assert [question.references for question in uda.questions] == [("De-En", "De-En, En-Fr"), ("Europarl",)]
    assert uda.version == "uda (2 rows)"
    row = {"doc_id": "1912.01214.pdf", "q_uid": "u1", "question": "which pairs?", "answer": "De-En"}
    write_json(tmp_path / "samples.json", [{**row, "answer_2": "En-Fr", "answer_3": " "}])
    mdocagent = load_benchmark("papertab", tmp_path, annotations="samples.json")
    assert mdocagent.questions[0].references == ("De-En", "En-Fr")
    assert mdocagent.version == "mdocagent (1 rows)"
    row = {"id": "u1", "doc_id": "1912.01214.pdf", "question": "which?", "answer": "['a', 'b']"}
    write_json(tmp_path / "PaperTab_samples.json", [{**row, "answer_format": "Multiple"}])
    molorag = load_benchmark("papertab", tmp_path)
    assert molorag.questions[0].references == ("a", "b")
    assert (molorag.questions[0].answer_format, molorag.version) == ("Multiple", "molorag (1 rows)")
    for loaded in (uda, mdocagent, molorag):
        assert len(loaded.runnable) == 1
        assert loaded.questions[0].evidence_pages is None, "navigation is undefined without evidence pages"
        assert loaded.questions[0].native_id == "u1"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"answer": " "}, "no reference answer"),
        ({"answer": "a, b", "answer_format": "Multiple"}, "must spell a list of texts"),
        ({"answer": "[1]", "answer_format": "Multiple"}, "must spell a list of texts"),
    ],
)
def test_uda_rows_without_usable_references_are_refused(
    tmp_path: Path, fields: dict[str, Any], problem: str
) -> None:
    write_json(tmp_path / "FetaTab_samples.json", [{"id": "1", "doc_id": "A.pdf", "question": "q", **fields}])
    with pytest.raises(DataError, match=problem):
        load_benchmark("fetatab", tmp_path)


def test_fetatab_and_papertext_find_their_own_files(tmp_path: Path) -> None:
    row = {"id": "1", "doc_id": "A.pdf", "question": "q", "answer": "One sentence.", "answer_format": "Str"}
    write_json(tmp_path / "FetaTab_samples.json", [row])
    write_json(tmp_path / "PaperText_samples.json", [row, row])
    write_pdf(tmp_path / "documents" / "A.pdf")
    assert len(load_benchmark("fetatab", tmp_path)) == 1
    assert len(load_benchmark("papertext", tmp_path)) == 2


def dude_folder(root: Path, *rows: dict[str, Any]) -> Path:
    write_json(root / "demo_gt.json", {"dataset_name": "DUDE", "dataset_version": "1.0", "data": list(rows)})
    write_pdf(root / "documents" / "aa.pdf")
    return root


def test_dude(tmp_path: Path) -> None:
    rows = [
        dude_row(),
        dude_row(answers=["Yes"], answers_page_bounding_boxes=[], answer_type="abstractive"),
        dude_row(answers=[""], answers_page_bounding_boxes=[], answer_type="not answerable"),
        dude_row(
            answers=[], answers_page_bounding_boxes=[], answer_type="not-answerable", data_split="train"
        ),
    ]
    loaded = load_benchmark("dude", dude_folder(tmp_path, *rows))
    first, second, third, fourth = loaded.questions
    assert (first.evidence_pages, first.references, first.answer_format) == ((2,), ("1894",), "extractive")
    assert first.tags == {"answers_variants": ["in 1894"]}
    assert (first.doc_id, first.split) == ("aa", "val")
    assert second.evidence_pages is None, "an abstractive answer has no boxes, so its pages are unknown"
    assert (third.unanswerable, third.references, third.evidence_pages) == (True, ("",), ())
    assert (fourth.unanswerable, fourth.references) == (True, ("",))
    assert loaded.version == "1.0 (4 rows)"
    only = load_benchmark("dude", tmp_path, split="train")
    assert [question.question_id for question in only.questions] == ["dude:3"]
    with pytest.raises(DataError, match="in the split 'x'"):
        load_benchmark("dude", tmp_path, split="x")


def test_dude_rows_without_answers_run_unscored(tmp_path: Path) -> None:
    row = dude_row(data_split="test")
    del row["answers"], row["answers_page_bounding_boxes"]
    loaded = load_benchmark("dude", dude_folder(tmp_path, row))
    assert (loaded.questions[0].references, loaded.questions[0].evidence_pages) == ((), None)


@pytest.mark.parametrize("boxes", [3, [3], [[3]], [[{"page": "0"}]], [[{"left": 1}]]])
def test_dude_boxes_must_be_boxes(tmp_path: Path, boxes: Any) -> None:
    dude_folder(tmp_path, dude_row(answers_page_bounding_boxes=boxes))
    with pytest.raises(DataError, match=r"demo_gt\.json, row 0: "):
        load_benchmark("dude", tmp_path)


def test_dude_sub_needs_the_users_ids(tmp_path: Path) -> None:
    dude_folder(tmp_path, dude_row(), dude_row(questionId="aa_02"), dude_row(questionId="aa_03"))
    with pytest.raises(ConfigError, match="ids of the published 960-row subset are not public"):
        load_benchmark("dude_sub", tmp_path)
    ids = tmp_path / "ids.txt"
    ids.write_text("aa_03\naa_01\n")
    loaded = load_benchmark("dude-sub", tmp_path, ids=ids)
    assert [question.question_id for question in loaded.questions] == ["dude-sub:0", "dude-sub:2"]
    assert set(loaded.annotations) == {"demo_gt.json", "ids.txt"}
    assert loaded.sha256 not in loaded.annotations.values(), (
        "the id file is part of what the digest stands for"
    )
    ids.write_text('["aa_01"]')
    assert len(load_benchmark("dude-sub", tmp_path, ids=str(ids))) == 1
    ids.write_text("aa_09")
    with pytest.raises(DataError, match=r"names 1 questions that the ground truth lacks, e\.g\. 'aa_09'"):
        load_benchmark("dude-sub", tmp_path, ids=ids)
    for content in ("", "[", "[1]"):
        ids.write_text(content)
        with pytest.raises(DataError, match=r"the id file ids\.txt"):
            load_benchmark("dude-sub", tmp_path, ids=ids)
    with pytest.raises(DataError, match="cannot be read"):
        load_benchmark("dude-sub", tmp_path, ids=tmp_path / "none.txt")


def test_procedural_keeps_further_fields_as_tags(tmp_path: Path) -> None:
    row = mmlb_row(evidence_pages=[2], evidence_sources=["Table"], question_id="q7", split="rl", seed=3)
    loaded = load_benchmark("procedural", write_mmlb(tmp_path, [row]))
    question = loaded.questions[0]
    assert (question.question_id, question.native_id, question.split) == ("procedural:0", "q7", "rl")
    assert question.tags == {"seed": 3}
    assert loaded.split == "rl"


def test_procedural_provenance_comes_from_the_generator(tmp_path: Path) -> None:
    write_json(tmp_path / "truth.json", {"split": "test", "seed": 7})
    loaded = load_benchmark("procedural", write_mmlb(tmp_path, [mmlb_row()]))
    assert (loaded.split, loaded.version) == ("test", "generated, test split, seed 7 (1 rows)")
    (tmp_path / "truth.json").write_text("[")
    with pytest.raises(DataError, match=r"truth\.json in .* is broken"):
        load_benchmark("procedural", tmp_path)


def test_generated_folders_load_and_have_no_fault(tmp_path: Path, store: PageStore) -> None:
    pytest.importorskip("reportlab", reason="the extra [procedural] is not installed")
    from looseleaf.procedural import make

    make(tmp_path / "made", documents=2, seed=5, split="train", difficulty=0.2)
    loaded = load_benchmark("procedural", tmp_path / "made")
    assert len(loaded.documents) == 2
    assert loaded.split == "train"
    assert check(loaded, store).faults == ()


def conversation(*turns: str, images: Any = ("docs/a/a_0.png", "docs/a/a_1.png")) -> dict[str, Any]:
    speakers = ("human", "gpt")
    said = [{"from": speakers[number % 2], "value": turn} for number, turn in enumerate(turns)]
    return {"id": "c1", "image": images if isinstance(images, str) else list(images), "conversations": said}


def test_doc_750k_conversations_become_questions(tmp_path: Path) -> None:
    write_page_images(tmp_path / "docs" / "a", "a", 2)
    rows = [
        conversation("Image-1: <image>\nImage-2: <image>\nWhat is it?", "A survey.", "And when?", "In 1894."),
        conversation("<image> What?", "x", images=("docs/a/a_0.png", "figures/f.png")),
    ]
    write_jsonl(tmp_path / "train.jsonl", rows)
    loaded = load_benchmark("doc-750k", tmp_path)
    assert [question.question for question in loaded.questions] == ["What is it?", "And when?"]
    assert [question.references for question in loaded.questions] == [("A survey.",), ("In 1894.",)]
    assert [question.question_id for question in loaded.questions] == ["doc-750k:0", "doc-750k:1"]
    assert loaded.documents == {"docs/a": tmp_path.resolve() / "docs" / "a"}
    assert loaded.notes == ("1 rows whose images are not the pages of one document were left out.",)
    assert loaded.questions[0].split == "train"


@pytest.mark.parametrize(
    "row",
    [
        conversation("<image> What?"),
        conversation("<image>", "x"),
        conversation("<image> What?", "x", images=("../a/a_0.png",)),
        {**conversation("q", "a"), "image": [3]},
        {**conversation("q", "a"), "conversations": "q"},
        {
            **conversation("q", "a"),
            "conversations": [{"from": "gpt", "value": "q"}, {"from": "human", "value": "a"}],
        },
    ],
)
def test_doc_750k_broken_rows_are_named(tmp_path: Path, row: dict[str, Any]) -> None:
    write_page_images(tmp_path / "docs" / "a", "a", 2)
    write_jsonl(tmp_path / "train.jsonl", [conversation("<image> What?", "x"), row])
    with pytest.raises(DataError, match=r"^train\.jsonl, line 2: "):
        load_benchmark("doc-750k", tmp_path)
