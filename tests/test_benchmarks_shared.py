"""Counts and faults of the real benchmarks, on a folder that the user has (`LOOSELEAF_DATA`)."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from looseleaf.benchmarks import CheckReport, FaultKind, check, contamination, load_benchmark
from looseleaf.benchmarks.overlay_build import overlay_between
from looseleaf.document import PageStore
from looseleaf.errors import DataError

DATA = Path(os.environ.get("LOOSELEAF_DATA") or "/nonexistent")

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="LOOSELEAF_DATA names no folder of real benchmarks")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> CheckReport:
    """The check of MMLongBench-Doc."""
    with PageStore(tmp_path_factory.mktemp("pages")) as store:
        return check(load_benchmark("mmlongbench-doc", DATA / "mmlongbench"), store)


def rows(report: CheckReport, kind: FaultKind) -> list[int | None]:
    return [fault.row for fault in report.of_kind(kind)]


def test_mmlongbench_counts(found: CheckReport) -> None:
    loaded = load_benchmark("mmlongbench-doc", DATA / "mmlongbench")
    assert loaded.version == "v1-1082 (2025-09-24)"
    assert loaded.notes == ()
    assert (len(loaded), len(loaded.runnable), len(loaded.documents)) == (1082, 318, 37)
    assert found.counts["without_document"] == 764
    assert found.counts["unanswerable"] == 223
    assert found.counts["unanswerable_runnable"] == 65
    assert found.counts["pages"] == 1544
    assert (found.counts["documents_without_text"], found.counts["questions_without_text"]) == (7, 66)
    assert found.formats == {"Int": 299, "Str": 250, "None": 223, "Float": 159, "List": 151}
    types = Counter(question.doc_type for question in loaded.questions)
    assert types["Research report / Introduction"] == 292
    sources = Counter(source for question in loaded.questions for source in question.sources)
    assert sources == {
        "Pure-text (Plain-text)": 305,
        "Figure": 304,
        "Table": 218,
        "Chart": 178,
        "Generalized-text (Layout)": 119,
    }


def test_mmlongbench_faults_are_exactly_these(found: CheckReport) -> None:
    assert rows(found, FaultKind.ZERO_PAGE) == [144, 189, 938]
    assert rows(found, FaultKind.ANSWERABLE_WITHOUT_PAGES) == [
        *(29, 268, 408, 430, 450, 584, 591, 599, 746, 759, 939, 977)
    ]
    assert rows(found, FaultKind.UNANSWERABLE_WITH_PAGES) == [131, 245, 577, 589, 596, 700, 705]
    assert rows(found, FaultKind.UNANSWERABLE_WITH_SOURCES) == [145, 246, 698]
    assert rows(found, FaultKind.DUPLICATE_QUESTION) == [505]
    assert rows(found, FaultKind.UNREACHABLE_GOLD) == [73, 210, 732, 734, 972]
    assert rows(found, FaultKind.DUPLICATE_PAGES) == [699, 933]
    assert rows(found, FaultKind.FUSED_PAGES) == [704]
    assert rows(found, FaultKind.PRINTED_PAGES) == [784, 787, 788, 790]
    assert sum(found.by_kind.values()) == 38, "and nothing else"
    assert found.counts["suspicions"] == 0


def test_printed_and_fused_pages_are_explained(found: CheckReport) -> None:
    (fused,) = found.of_kind(FaultKind.FUSED_PAGES)
    assert fused.detail == {"pages": [1418], "physical": [14, 18]}
    printed = {fault.row: fault.detail["physical"] for fault in found.of_kind(FaultKind.PRINTED_PAGES)}
    assert printed == {784: [8, 9], 787: [7], 788: [36, 37], 790: [29]}


def test_a_repair_overlay_takes_its_faults_away(tmp_path: Path, store: PageStore) -> None:
    overlay = tmp_path / "repair.toml"
    overlay.write_text(
        "benchmark = 'mmlongbench-doc'\n"
        "[[row]]\nindex = 704\nset = { evidence_pages = [3, 4, 6, 7, 8, 9, 11, 12, 14, 18, 20] }\n"
        "[[row]]\nindex = 787\nset = { evidence_pages = [7] }\n"
    )
    repaired = check(load_benchmark("mmlongbench-doc", DATA / "mmlongbench", overlay=overlay), store)
    assert rows(repaired, FaultKind.FUSED_PAGES) == []
    assert rows(repaired, FaultKind.PRINTED_PAGES) == [784, 788, 790]
    assert repaired.data["overlay"]["changed"] == [704, 787]


def test_an_overlay_between_equal_files_is_empty() -> None:
    samples = DATA / "mmlongbench" / "samples.json"
    assert overlay_between(samples, samples, "mmlongbench-doc")["row"] == []


def test_longdocurl_counts(store: PageStore) -> None:
    loaded = load_benchmark("longdocurl", DATA / "longdocurl")
    assert loaded.version == "molorag (2325 rows)"
    assert (len(loaded), len(loaded.runnable)) == (2325, 63)
    assert Counter(question.doc_id for question in loaded.runnable) == {
        "4081036": 31,
        "4055915": 17,
        "4151603": 15,
    }
    formats = Counter(question.answer_format for question in loaded.questions)
    assert formats == {"String": 941, "List": 757, "Integer": 431, "Float": 185, "None": 11}
    assert sum(question.unanswerable for question in loaded.questions) == 8
    tasks = Counter(question.tags["task_tag"] for question in loaded.questions)
    assert tasks == {"Understanding": 1243, "Locating": 695, "Reasoning": 387}
    single = sum(len(question.evidence_pages or ()) == 1 for question in loaded.questions)
    assert (single, sum(len(question.evidence_pages or ()) > 1 for question in loaded.questions)) == (
        1093,
        1230,
    )
    report = check(loaded, store)
    assert report.counts["pages"] == 236
    assert rows(report, FaultKind.OUTSIDE_WINDOW) == [], (
        "every evidence page lies in the window taken from the id"
    )
    assert rows(report, FaultKind.PAGE_OUT_OF_RANGE) == []
    assert rows(report, FaultKind.UNREACHABLE_GOLD) == [235, 905, 1037, 2015, 2097, 2257]


def test_longdocurl_third_party_rows_agree_with_the_official_ones() -> None:
    official = load_benchmark("longdocurl", DATA / "longdocurl", annotations="official_3_rows.jsonl")
    other = {
        question.native_id: question
        for question in load_benchmark("longdocurl", DATA / "longdocurl").questions
    }
    assert official.version == "official (3 rows)"
    for question in official.questions:
        twin = other[question.native_id]
        for name in (
            "doc_id",
            "question",
            "references",
            "answer_format",
            "evidence_pages",
            "window",
            "sources",
        ):
            assert getattr(question, name) == getattr(twin, name), (question.native_id, name)


@pytest.mark.parametrize(
    ("name", "annotations", "rows", "runnable", "documents"),
    [
        ("papertab", None, 393, 2, 307),
        ("papertab", "paper_tab_qa.csv", 393, 2, 307),
        ("papertext", None, 2804, 8, 1087),
        ("papertext", "paper_text_qa.csv", 2804, 8, 1087),
        ("fetatab", None, 1016, 4, 871),
        ("fetatab", "feta_qa.csv", 1023, 4, 878),
    ],
)
def test_uda_counts(name: str, annotations: str | None, rows: int, runnable: int, documents: int) -> None:
    options = {} if annotations is None else {"annotations": annotations}
    loaded = load_benchmark(name, DATA / "uda", **options)
    assert (len(loaded), len(loaded.runnable)) == (rows, runnable)
    assert len(loaded.documents) + len(loaded.missing) == documents
    assert all(question.evidence_pages is None for question in loaded.questions)


def test_papertab_copies_have_the_references_of_udas_own_file() -> None:
    copy = load_benchmark("papertab", DATA / "uda").questions
    own = load_benchmark("papertab", DATA / "uda", annotations="paper_tab_qa.csv").questions
    references = {question.native_id: {text.strip() for text in question.references} for question in own}
    assert all(
        {text.strip() for text in question.references} == references[question.native_id] for question in copy
    )


def test_uda_and_dude_have_no_false_alarm(store: PageStore) -> None:
    for name in ("papertab", "papertext", "fetatab"):
        report = check(load_benchmark(name, DATA / "uda"), store)
        assert set(report.by_kind) <= {FaultKind.DUPLICATE_QUESTION, FaultKind.UNREACHABLE_GOLD}, name


def test_dude_demo_loads() -> None:
    with pytest.raises(DataError, match="no document of DUDE"):
        load_benchmark("dude", DATA / "dude")
    loaded = load_benchmark("dude", DATA / "dude", require_documents=False)
    assert len(loaded) == 11
    assert sum(question.unanswerable for question in loaded.questions) == 2
    assert [question.evidence_pages for question in loaded.questions if question.evidence_pages] == [
        *((1,), (1,), (5,), (1,), (1,))
    ]


@pytest.mark.slow
def test_real_sets_do_not_overlap_and_papertab_does_with_papertext(store: PageStore) -> None:
    mmlongbench = load_benchmark("mmlongbench-doc", DATA / "mmlongbench")
    apart = contamination(load_benchmark("longdocurl", DATA / "longdocurl"), mmlongbench, store)
    assert apart.clean
    papers = [load_benchmark(name, DATA / "uda") for name in ("papertab", "papertext")]
    shared = contamination(papers[0], papers[1], store)
    assert not shared.clean
    with pytest.raises(DataError, match="papertab overlaps with papertext"):
        shared.require_clean()
