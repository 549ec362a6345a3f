"""A folder of documents is read as one, and every page knows its document."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from conftest import Cli
from fakes import make_question, pdf_bytes
from looseleaf.agent import run_agent
from looseleaf.document import Document, PageStore
from looseleaf.document.locks import Locks
from looseleaf.environment import Environment
from looseleaf.errors import DocumentError
from looseleaf.models.embedded import make_embedded_policy
from looseleaf.protocol import PROTOCOLS
from looseleaf.retrieval import BM25Retriever, Collection
from looseleaf.retrieval.local_store import LocalStore
from looseleaf.retrieval.vector import VectorRetriever
from word_encoder import WordEncoder

OSLO = "The city of Oslo has 7 stations in use."
LIMA = "The city of Lima has 12 stations in use."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Reports 2 and 10, one in a folder of its own, beside what is no document."""
    docs = tmp_path / "docs"
    (docs / "old").mkdir(parents=True)
    (docs / ".trash").mkdir()
    (docs / "report10.pdf").write_bytes(pdf_bytes("Cover of the tenth report.", LIMA))
    (docs / "report2.pdf").write_bytes(pdf_bytes("Cover of the second report.", "Nothing of interest.", OSLO))
    (docs / "old" / "report1.PDF").write_bytes(pdf_bytes("The first report, from 1950."))
    (docs / ".trash" / "gone.pdf").write_bytes(pdf_bytes("Deleted."))
    (docs / "notes.txt").write_text("no document")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    return docs


@pytest.fixture
def collection(folder: Path, store: PageStore) -> Collection:
    return Collection.open(folder, store=store)


def test_documents_come_in_the_order_of_their_names_and_broken_ones_are_named(collection: Collection) -> None:
    assert [document.doc_id for document in collection.documents] == [
        "old/report1.PDF",
        "report2.pdf",
        "report10.pdf",
    ]
    assert collection.page_count == 6
    assert len(collection.problems) == 1
    assert "broken.pdf" in collection.problems[0]


def test_pages_are_counted_through_and_know_their_document(collection: Collection) -> None:
    places = [collection.place(page) for page in range(1, 7)]
    assert [(place.document.doc_id, place.page) for place in places] == [
        ("old/report1.PDF", 1),
        ("report2.pdf", 1),
        ("report2.pdf", 2),
        ("report2.pdf", 3),
        ("report10.pdf", 1),
        ("report10.pdf", 2),
    ]
    assert collection.text(4) == OSLO
    assert collection.texts()[5] == LIMA
    assert collection.label(4) == collection.labels[3] == "report2.pdf, page 3"
    assert collection.image(6).jpeg == collection.documents[2].image(2).jpeg
    assert collection.has_text
    for page in (0, 7, -1):
        with pytest.raises(DocumentError, match="its pages are 1 to 6"):
            collection.place(page)


def test_another_file_or_name_is_another_collection(
    folder: Path, collection: Collection, store: PageStore
) -> None:
    assert Collection.open(folder, store=store).sha256 == collection.sha256
    (folder / "report10.pdf").rename(folder / "report11.pdf")
    assert Collection.open(folder, store=store).sha256 != collection.sha256


def test_a_folder_of_page_images_is_one_document(folder: Path, tmp_path: Path, store: PageStore) -> None:
    images = tmp_path / "scan"
    images.mkdir()
    (images / "scan_0.jpg").write_bytes(Document.open(folder / "report2.pdf", store=store).image(1).jpeg)
    assert Collection.is_at(folder)
    assert not Collection.is_at(images)
    assert not Collection.is_at(folder / "report2.pdf")
    assert not Collection.is_at(tmp_path / "missing")


def test_a_folder_whose_documents_are_all_broken_says_so(tmp_path: Path, store: PageStore) -> None:
    (tmp_path / "a.pdf").write_bytes(b"no pdf at all")
    with pytest.raises(DocumentError, match=r"a\.pdf is not a PDF"):
        Collection.open(tmp_path, store=store)


def test_every_retriever_finds_the_page_of_the_right_document(collection: Collection, tmp_path: Path) -> None:
    encoder = WordEncoder()
    vectors = VectorRetriever(encoder, LocalStore(tmp_path / "v"), Locks(tmp_path / "l"), "words")
    for searching in (BM25Retriever(), vectors):
        searching.index(collection)
        assert searching.search("Oslo", 1)[0].page == 4
        assert searching.search("Lima stations", 1)[0].page == 6
    assert encoder.encoded == [1, 1, 2, 3, 1, 2]


def test_a_documents_vectors_serve_alone_and_in_any_folder(collection: Collection, tmp_path: Path) -> None:
    encoder = WordEncoder()
    alone = VectorRetriever(encoder, LocalStore(tmp_path / "v"), Locks(tmp_path / "l"), "words")
    alone.index(collection.documents[1])
    VectorRetriever(encoder, LocalStore(tmp_path / "v"), Locks(tmp_path / "l"), "words").index(collection)
    assert encoder.encoded == [1, 2, 3, 1, 1, 2]
    assert alone.search("Oslo", 1)[0].page == 3


def test_an_agent_reads_a_collection_like_a_document(collection: Collection) -> None:
    searching = BM25Retriever()
    searching.index(collection)
    question = make_question(question="How many stations does the city of Lima have?", doc_id="docs")
    environment = Environment(question, collection, searching, PROTOCOLS["awm"])
    trajectory = asyncio.run(run_agent(make_embedded_policy(""), environment))
    assert trajectory.answer == "12"
    assert trajectory.doc_sha256 == collection.sha256
    assert 6 in {finding.source_page for finding in trajectory.memory}


def test_asking_a_folder_names_document_and_page(cli: Cli, folder: Path) -> None:
    outcome = cli("ask", folder, "How many stations does the city of Oslo have?")
    assert outcome.code == 0, outcome.err
    flat = " ".join(outcome.out.split())
    assert "Answer: 7" in flat
    assert "report2.pdf, page 3: " in flat
    assert "of 6 in 3 documents" in flat
    assert "Left out: " in flat
    assert "broken.pdf" in flat


def test_asking_takes_any_retriever(cli: Cli, folder: Path) -> None:
    assert cli("ask", folder, "Stations of Oslo?", "--retriever", "rrf(bm25,random(seed=4))").code == 0
    assert "no retriever 'nose'" in cli("ask", folder, "Stations?", "--retriever", "nose").err
    assert (
        "gold-pages needs annotated gold pages" in cli("ask", folder, "S?", "--retriever", "gold-pages").err
    )
