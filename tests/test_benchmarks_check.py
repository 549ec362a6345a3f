"""`check` finds every kind of planted fault, and nothing on a sound folder."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from looseleaf.benchmarks import (
    CheckReport,
    Fault,
    FaultKind,
    QuestionSet,
    check,
    document_hashes,
    load_benchmark,
    load_questions,
    verify_routing,
)
from looseleaf.benchmarks.document_rules import PageNumbering
from looseleaf.document import Document, PageStore
from looseleaf.errors import DataError
from planted_data import (
    PAGES,
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


def report(
    root: Path,
    store: PageStore,
    rows: Sequence[Mapping[str, Any]],
    documents: Mapping[str, Sequence[str]] | None = None,
) -> CheckReport:
    write_mmlb(root / "data", rows, documents)
    return check(load_benchmark("mmlongbench-doc", root / "data", require_documents=False), store)


def kinds(found: CheckReport) -> list[tuple[str, int | None]]:
    return [(fault.kind.value, fault.row) for fault in found.faults]


def test_a_sound_folder_has_no_fault(tmp_path: Path, store: PageStore) -> None:
    rows = [
        mmlb_row(),
        unanswerable_row(),
        mmlb_row(question="How many barrels?", answer="318", evidence_pages="[3]"),
        mmlb_row(question="Which lists?", answer="['a', 'b']", answer_format="List", evidence_pages="[1, 3]"),
        mmlb_row(question="What share?", answer="12.5%", answer_format="Float"),
    ]
    found = report(tmp_path, store, rows)
    assert found.faults == ()
    assert found.counts["questions"] == found.counts["runnable"] == 5
    assert (found.counts["documents"], found.counts["pages"], found.counts["faults"]) == (1, 3, 0)
    assert found.formats == {"Int": 2, "None": 1, "List": 1, "Float": 1}
    (document,) = found.documents
    assert (document.file, document.pages, document.has_text, document.questions) == (
        "documents/harbour.pdf",
        3,
        True,
        5,
    )


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"evidence_pages": "[0]"}, "zero_page"),
        ({"evidence_pages": "[-1, 2]"}, "zero_page"),
        ({"evidence_pages": "[2, 2]"}, "duplicate_pages"),
        ({"evidence_pages": "[]"}, "answerable_without_pages"),
        ({"answer": "Not answerable", "answer_format": "None"}, "unanswerable_with_pages"),
        (
            {"answer": "Not answerable", "answer_format": "None", "evidence_pages": "[]"},
            "unanswerable_with_sources",
        ),
        ({"answer": ""}, "empty_gold"),
        ({"answer": "21%"}, "unreachable_gold"),
        ({"answer": "yes"}, "unreachable_gold"),
        ({"answer": "[]", "answer_format": "List"}, "unreachable_gold"),
        ({"evidence_pages": "[4]"}, "page_out_of_range"),
        ({"evidence_pages": "[1, 23]"}, "fused_pages"),
    ],
)
def test_a_planted_fault_of_a_row_is_found_alone(
    tmp_path: Path, store: PageStore, fields: dict[str, Any], kind: str
) -> None:
    found = report(tmp_path, store, [mmlb_row(question="a?"), mmlb_row(question="b?", **fields)])
    assert kinds(found) == [(kind, 1)]
    assert found.faults[0].question_id == "mmlongbench-doc:1"
    assert found.faults[0].certain


def test_a_repeated_question_is_found_once_with_its_first_row(tmp_path: Path, store: PageStore) -> None:
    rows = [
        mmlb_row(),
        mmlb_row(doc_id="pier.pdf"),
        mmlb_row(question=f"  {mmlb_row()['question'].upper()} "),
    ]
    found = report(
        tmp_path, store, [*rows, mmlb_row(answer="43")], {"harbour.pdf": PAGES, "pier.pdf": PAGES[:2]}
    )
    assert kinds(found) == [("duplicate_question", 2), ("duplicate_question", 3)]
    assert [fault.detail["answers_differ"] for fault in found.faults] == [False, True]
    assert found.faults[0].detail["first"] == "mmlongbench-doc:0"


LONG = tuple(f"Chapter {number}, of the harbour and its ships." for number in range(1, 41))


def page_faults(
    root: Path, store: PageStore, texts: Sequence[str], pages: str, label: int | None = None
) -> list[Fault]:
    write_mmlb(root / "data", [mmlb_row(evidence_pages=pages)], {})
    write_pdf(root / "data" / "documents" / "harbour.pdf", texts, label)
    return list(check(load_benchmark("mmlongbench-doc", root / "data"), store).faults)


def test_printed_labels_explain_pages_beyond_the_end(tmp_path: Path, store: PageStore) -> None:
    (fault,) = page_faults(tmp_path, store, LONG, "[289, 290]", label=282)
    assert fault.kind == FaultKind.PRINTED_PAGES
    assert fault.detail == {"pages": [289, 290], "physical": [8, 9]}


def test_numbers_printed_on_the_pages_explain_pages_beyond_the_end(tmp_path: Path, store: PageStore) -> None:
    texts = [f"{text}\n{number + 281}" for number, text in enumerate(LONG, start=1)]
    (fault,) = page_faults(tmp_path, store, texts, "[289, 310]")
    assert fault.kind == FaultKind.PRINTED_PAGES
    assert fault.detail["physical"] == [8, 29]


def test_pages_that_no_label_explains_are_out_of_range(tmp_path: Path, store: PageStore) -> None:
    faults = page_faults(tmp_path, store, LONG, "[289, 500]", label=282)
    assert [fault.kind for fault in faults] == [FaultKind.PAGE_OUT_OF_RANGE] * 2
    assert faults[1].detail == {"pages": [500], "page_count": 40}


@pytest.mark.parametrize(
    ("pages", "parts"),
    [
        ("[3, 4, 12, 1418, 20]", [14, 18]),
        ("[1418, 20]", [14, 18]),
        ("[12, 1418]", [14, 18]),
        ("[1, 23, 40]", None),
        ("[3, 345]", None),
        ("[15, 1418, 20]", None),
        ("[12, 1418, 16]", None),
        ("[1418]", None),
        ("[317, 318]", None),
        ("[3, 1009]", None),
        ("[1, 2345]", [23, 45]),
    ],
)
def test_two_numbers_written_as_one(
    tmp_path: Path, store: PageStore, pages: str, parts: list[int] | None
) -> None:
    count = 45 if parts == [23, 45] else 20 if "1418" in pages else 40
    faults = page_faults(tmp_path, store, LONG[:count] + ("More.",) * (count - 40), pages)
    fused = [fault.detail["physical"] for fault in faults if fault.kind == FaultKind.FUSED_PAGES]
    assert fused == ([parts] if parts else [])
    beyond = any(page > count for page in json.loads(pages))
    assert bool(faults) == beyond, "a page beyond the end is always reported as something"


def test_page_numbering_needs_enough_pages_that_agree() -> None:
    texts = ["Front matter", "one\n101", "two\n102", "three\n103", "a plate"]
    assert PageNumbering(["1", "2", "3", "4", "5"], texts).physical(103) == 4
    assert PageNumbering(["1", "2", "3", "4", "5"], texts).physical(300) is None
    assert PageNumbering(["1", "2", "3"], ["a 1894", "b", "c"]).physical(1894) is None
    assert PageNumbering(["i", "7", "7"], ["", "", ""]).physical(7) is None, (
        "a label that is there twice says nothing"
    )


def test_documents_that_are_missing_extra_or_broken(tmp_path: Path, store: PageStore) -> None:
    rows = [mmlb_row(), mmlb_row(doc_id="absent.pdf"), mmlb_row(doc_id="absent.pdf", question="b?")]
    rows += [mmlb_row(doc_id="torn.pdf"), mmlb_row(doc_id="page.pdf"), mmlb_row(doc_id="empty.pdf")]
    write_mmlb(tmp_path / "data", rows, {"harbour.pdf": PAGES, "unrelated.pdf": ["Nothing."]})
    documents = tmp_path / "data" / "documents"
    (documents / "torn.pdf").write_bytes((documents / "harbour.pdf").read_bytes()[:400])
    (documents / "page.pdf").write_text("<html>not found</html>")
    (documents / "empty.pdf").write_bytes(no_pages())
    found = check(load_benchmark("mmlongbench-doc", tmp_path / "data"), store)
    assert found.missing == {"absent.pdf": 2}
    assert found.extra == ("unrelated.pdf",)
    assert set(found.broken) == {"torn.pdf", "page.pdf", "empty.pdf"}
    assert {fault.doc_id for fault in found.of_kind(FaultKind.BROKEN_DOCUMENT)} == set(found.broken)
    assert found.counts["documents_broken"] == 3
    assert found.by_kind == {FaultKind.BROKEN_DOCUMENT: 3}


def no_pages() -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\n"
        b"xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000056 00000 n \n"
        b"trailer\n<</Size 3/Root 1 0 R>>\nstartxref\n106\n%%EOF\n"
    )


def test_copies_under_several_names_are_found(tmp_path: Path, store: PageStore) -> None:
    rows = [mmlb_row(), mmlb_row(doc_id="pier.pdf")]
    found = report(tmp_path, store, rows, {"harbour.pdf": PAGES, "pier.pdf": PAGES, "copy.pdf": PAGES})
    assert [(fault.kind, fault.doc_id) for fault in found.faults] == [
        (FaultKind.DUPLICATE_DOCUMENT, "harbour.pdf"),
        (FaultKind.DUPLICATE_DOCUMENT, "pier.pdf"),
    ]
    assert found.faults[0].detail["same_as"] == ["pier.pdf", "copy.pdf"]


def test_names_that_are_almost_right(tmp_path: Path, store: PageStore) -> None:
    rows = [mmlb_row(doc_id="Harbour survey 2024.pdf"), mmlb_row(doc_id="The pier of Bergen.pdf")]
    found = report(
        tmp_path, store, rows, {"harbour_survey_2024.pdf": PAGES, "The peir of Bergen.pdf": PAGES[:2]}
    )
    renamed, misplaced = found.faults
    assert (renamed.kind, renamed.detail["file"]) == (FaultKind.RENAMED_DOCUMENT, "harbour_survey_2024.pdf")
    assert (misplaced.kind, misplaced.doc_id, misplaced.certain) == (
        FaultKind.MISPLACED_DOCUMENT,
        "The pier of Bergen.pdf",
        False,
    )
    assert (found.counts["faults"], found.counts["suspicions"]) == (1, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_a_name_that_is_not_utf8_is_reported_printably(tmp_path: Path, store: PageStore) -> None:
    write_mmlb(tmp_path / "data", [mmlb_row()])
    documents = tmp_path / "data" / "documents"
    write_pdf(documents / "b.pdf", ["Something else."]).rename(documents / os.fsdecode(b"caf\xe9.pdf"))
    found = check(load_benchmark("mmlongbench-doc", tmp_path / "data"), store)
    assert [(fault.kind, fault.doc_id) for fault in found.faults] == [
        (FaultKind.UNREADABLE_NAME, "caf\\xe9.pdf")
    ]
    json.dumps(found.to_json(), ensure_ascii=False).encode()


TOPICS = (
    "harbour herring vessel lighthouse lantern pier sailor anchor tide mooring compass buoy",
    "violin sonata composer orchestra melody rhythm conductor audience symphony opera cello flute",
    "enzyme protein ribosome nucleus membrane antibody bacteria vaccine genome plasma tissue virus",
    "mortgage interest dividend portfolio inflation currency liquidity bond equity broker ledger audit",
    "glacier volcano tectonic sediment erosion basalt crater fault magma earthquake plateau canyon",
    "compiler pointer recursion thread kernel register bytecode scheduler mutex cache socket packet",
    "sourdough oven yeast flour butter custard pastry caramel vanilla cinnamon glaze frosting",
)


def topical(at: int) -> list[str]:
    words = TOPICS[at].split()
    filler = [f"{word}{chr(97 + at)}{chr(97 + number)}" for number in range(18) for word in words]
    lines = [" ".join(filler[start : start + 8]) for start in range(0, len(filler), 8)]
    return ["\n".join([TOPICS[at], *lines])]


def topical_rows() -> list[dict[str, Any]]:
    return [
        mmlb_row(
            doc_id=f"topic-{at}.pdf", question=f"How do {first} and {second} compare?", evidence_pages="[1]"
        )
        for at, topic in enumerate(TOPICS)
        for first, second in zip(topic.split()[::2], topic.split()[1::2], strict=True)
    ]


def test_documents_under_each_others_names_are_suspected(tmp_path: Path, store: PageStore) -> None:
    documents = {f"topic-{at}.pdf": topical(at) for at in range(len(TOPICS))}
    assert report(tmp_path / "right", store, topical_rows(), documents).faults == ()
    documents["topic-0.pdf"], documents["topic-1.pdf"] = documents["topic-1.pdf"], documents["topic-0.pdf"]
    found = report(tmp_path / "swapped", store, topical_rows(), documents)
    assert {(fault.kind, fault.doc_id, fault.certain) for fault in found.faults} == {
        (FaultKind.WRONG_DOCUMENT, "topic-0.pdf", False),
        (FaultKind.WRONG_DOCUMENT, "topic-1.pdf", False),
    }


def longdocurl(root: Path, rows: Sequence[Mapping[str, Any]], pages: int = 84) -> QuestionSet:
    write_jsonl(root / "public.jsonl", rows)
    write_page_images(root / "pages" / "4000001", "4000001", pages)
    return load_benchmark("longdocurl", root)


def test_longdocurl_window_and_page_count(tmp_path: Path, store: PageStore) -> None:
    sound = longdocurl(tmp_path / "a", [longdocurl_row()])
    assert check(sound, store).faults == ()
    outside = longdocurl(tmp_path / "b", [longdocurl_row(evidence_pages=[54, 80])])
    (fault,) = check(outside, store).faults
    assert (fault.kind, fault.detail) == (FaultKind.OUTSIDE_WINDOW, {"pages": [80], "window": [42, 71]})
    shorter = longdocurl(tmp_path / "c", [longdocurl_row()], pages=80)
    (fault,) = check(shorter, store).faults
    assert (fault.kind, fault.row) == (FaultKind.PAGE_COUNT, None)
    assert "has 80 pages, but the source says 84" in fault.message


def test_longdocurl_golds_are_tried_with_its_own_rule(tmp_path: Path, store: PageStore) -> None:
    rows = [molorag_row(answer="1,000", id="a_4000001_60_70_1"), molorag_row(answer="2.7", question="b?")]
    write_json(tmp_path / "samples.json", rows)
    found = check(load_benchmark("longdocurl", tmp_path, require_documents=False), store)
    assert kinds(found) == [("unreachable_gold", 1)], (
        "commas are fine in LongDocURL, decimals of an Integer are not"
    )


def test_uda_and_dude_golds_are_tried_with_their_own_rules(tmp_path: Path, store: PageStore) -> None:
    row = {"q_uid": "u", "doc_id": "a.pdf", "question": "q?", "answer": "The.", "answer_2": " "}
    rows = [
        row,
        {**row, "question": "r?", "answer_2": "The pier."},
        {**row, "question": "s?", "answer": "Yes"},
    ]
    write_json(tmp_path / "PaperTab_samples.json", rows)
    found = check(load_benchmark("papertab", tmp_path, require_documents=False), store)
    assert kinds(found) == [("unreachable_gold", 0)], (
        "a reference without a token scores 0; the second one may do"
    )
    golds = [
        dude_row(),
        dude_row(question="b?", answers=["x", "y"], answer_type="list/extractive"),
        dude_row(question="c?", answers=[], answers_page_bounding_boxes=[], answer_type="not answerable"),
        dude_row(question="d?", answers=["a", "a"], answer_type="list/extractive"),
    ]
    write_json(tmp_path / "demo_gt.json", {"data": golds})
    found = check(load_benchmark("dude", tmp_path, require_documents=False), store)
    assert kinds(found) == []


def test_own_questions_have_no_official_rule(tmp_path: Path, store: PageStore) -> None:
    write_pdf(tmp_path / "docs" / "harbour.pdf")
    row = {
        "doc_id": "harbour.pdf",
        "question": "q",
        "answer": "yes",
        "answer_format": "Int",
        "evidence_pages": [9],
    }
    questions = write_jsonl(tmp_path / "mine.jsonl", [row, {"doc_id": "harbour.pdf", "question": "r"}])
    found = check(load_questions(questions, tmp_path / "docs"), store)
    assert kinds(found) == [("page_out_of_range", 0)]
    assert found.counts["without_gold"] == 1


def test_annotations_can_be_checked_without_opening_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mmlb(tmp_path, [mmlb_row(evidence_pages="[0, 900]")])
    monkeypatch.setattr(Document, "open", lambda *a, **k: pytest.fail("a document was opened"))
    found = check(load_benchmark("mmlongbench-doc", tmp_path), open_documents=False)
    assert kinds(found) == [("zero_page", 0)]
    assert found.documents == ()
    assert found.counts["documents"] == 1


def test_the_report_is_json_a_table_and_text(tmp_path: Path, store: PageStore) -> None:
    found = report(tmp_path, store, [mmlb_row(evidence_pages="[0]"), mmlb_row(doc_id="absent.pdf")])
    value = json.loads(json.dumps(found.to_json()))
    assert value["faults"][0]["kind"] == "zero_page"
    assert value["faults"][0]["row"] == 0
    assert value["missing"] == {"absent.pdf": 1}
    assert value["documents"][0]["sha256"] == found.documents[0].sha256
    assert value["data"]["name"] == "mmlongbench-doc"
    assert found.rows() == [
        ("zero_page", "mmlongbench-doc:0", "certain", "evidence pages [0] hold 0, but the first page is 1")
    ]
    text = found.text()
    assert text.startswith("mmlongbench-doc unrecognised (2 rows)\nnote: ")
    assert "zero_page  mmlongbench-doc:0" in text
    assert "documents missing: 1" in text


def test_every_kind_is_documented() -> None:
    source = Path(sys.modules[FaultKind.__module__].__file__ or "").read_text()
    for kind in FaultKind:
        after = source.split(f'{kind.name} = "{kind.value}"\n')[1].lstrip()
        assert after.startswith('"""'), kind


def test_routing(tmp_path: Path, store: PageStore) -> None:
    rows = [mmlb_row(), mmlb_row(doc_id="pier.pdf")]
    write_mmlb(tmp_path, rows, {"harbour.pdf": PAGES, "pier.pdf": PAGES[:2]})
    loaded = load_benchmark("mmlongbench-doc", tmp_path)
    hashes = document_hashes(loaded, store)
    assert set(hashes) == {"harbour.pdf", "pier.pdf"}
    harbour, pier = (loaded.open(question, store) for question in loaded.questions)
    verify_routing(loaded.questions[0], harbour)
    verify_routing(loaded.questions[1], pier, hashes)
    with pytest.raises(DataError, match=r"mmlongbench-doc:0 asks about harbour\.pdf, not about pier\.pdf"):
        verify_routing(loaded.questions[0], pier)
    write_pdf(tmp_path / "documents" / "harbour.pdf", PAGES[1:])
    changed = loaded.open(loaded.questions[0], store)
    with pytest.raises(DataError, match="restore the document or start a new run"):
        verify_routing(loaded.questions[0], changed, hashes)
    with pytest.raises(DataError, match="expected none"):
        verify_routing(loaded.questions[0], harbour, {})
