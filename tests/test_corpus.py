"""Many documents in Qdrant: best means first, then exact scores; only the corpus's own pages; nothing sent twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("qdrant_client", reason="the extra [qdrant] is not installed")

from conftest import Cli
from fakes import pdf_bytes
from looseleaf.document import PageStore
from looseleaf.document.locks import Locks
from looseleaf.errors import ProviderError
from looseleaf.retrieval import local_store, qdrant_marks, qdrant_store
from looseleaf.retrieval.collection import Collection
from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.local_store import LocalStore
from looseleaf.retrieval.qdrant_store import BATCH, QdrantStore
from looseleaf.retrieval.vector import VectorRetriever
from looseleaf.retrieval.vectors import Vectors
from test_retrieval_store import key_of, pages_from, random_pages
from word_encoder import WordEncoder

DOCUMENTS, PAGES, VECTORS, DIMENSION = 20, 10, 12, 16


@pytest.fixture
def store() -> Iterator[QdrantStore]:
    made = QdrantStore("memory")
    yield made
    made.close()


def topical_pages(rng: np.random.Generator) -> list[list[Vectors]]:
    """Documents whose pages each have a topic that their vectors scatter around, on the unit sphere."""
    topics = rng.standard_normal((DOCUMENTS, PAGES, 1, DIMENSION))
    vectors = topics + 1.5 * rng.standard_normal((DOCUMENTS, PAGES, VECTORS, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return [list(document.astype(np.float32)) for document in vectors]


def keys_of(documents: list[list[Vectors]]) -> list[IndexKey]:
    return [
        IndexKey(f"{number:064x}", "encoder-1", "0" * 16, len(pages))
        for number, pages in enumerate(documents)
    ]


def fill(store: QdrantStore | LocalStore, documents: list[list[Vectors]]) -> list[IndexKey]:
    keys = keys_of(documents)
    for key, pages in zip(keys, documents, strict=True):
        store.write(key, pages_from(pages))
    return keys


def queries_near(
    documents: list[list[Vectors]], rng: np.random.Generator
) -> Iterator[tuple[int, int, Vectors]]:
    """Queries of four vectors, each made of some of one page's own."""
    for _ in range(30):
        place, page = int(rng.integers(DOCUMENTS)), int(rng.integers(PAGES))
        chosen = documents[place][page][rng.choice(VECTORS, 4, replace=False)]
        noisy = chosen + 0.15 * rng.standard_normal(chosen.shape)
        yield place, page + 1, noisy.astype(np.float32)


# -- means first, then exact -----------------------------------------------------------------------------------


@pytest.fixture
def two_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second stage from 50 pages on, among the 20 best by mean: a tenth of the pages."""
    for module in (local_store, qdrant_store):
        monkeypatch.setattr(module, "EXACT_PAGES", 50)
        monkeypatch.setattr(module, "CANDIDATES", 20)


@pytest.mark.usefixtures("two_stages")
def test_the_two_stages_find_what_the_local_store_finds(store: QdrantStore, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    documents = topical_pages(rng)
    local = LocalStore(tmp_path)
    keys = fill(store, documents)
    assert fill(local, documents) == keys
    for wanted in (keys, keys[5:15], keys[:2]):  # the last has so few pages that every one is scored
        for _, _, query in queries_near(documents, rng):
            expected, found = local.search(wanted, query, 3), store.search(wanted, query, 3)
            assert [hit[:2] for hit in found] == [hit[:2] for hit in expected]
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], rel=5e-3)


@pytest.mark.usefixtures("two_stages")
def test_a_tenth_of_the_pages_is_enough_for_the_right_one(store: QdrantStore) -> None:
    rng = np.random.default_rng(1)
    documents = topical_pages(rng)
    keys = fill(store, documents)
    asked = list(queries_near(documents, rng))
    hits = [store.search(keys, query, 1)[0] for _, _, query in asked]
    right = [hit[:2] == (place, page) for hit, (place, page, _) in zip(hits, asked, strict=True)]
    assert np.mean(right) >= 0.95


@pytest.mark.usefixtures("two_stages")
def test_the_means_are_asked_first_and_only_where_pages_are_many(
    store: QdrantStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    documents = topical_pages(rng)
    keys = fill(store, documents)
    asked: list[dict[str, Any]] = []
    ask = store._client.query_points
    monkeypatch.setattr(
        store._client, "query_points", lambda *given, **more: asked.append(more) or ask(*given, **more)
    )
    query = documents[0][0][:4]
    store.search(keys, query, 3)
    store.search(keys[:5], query, 3)
    assert [more["prefetch"] is not None for more in asked] == [True, False]
    first = asked[0]["prefetch"]
    assert (first.using, first.limit) == ("mean", 20)
    assert np.allclose(first.query, query.sum(axis=0))
    assert first.filter == asked[0]["query_filter"] is not None


# -- only the corpus's own pages -------------------------------------------------------------------------------


@pytest.fixture
def few_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_store, "LISTED_DOCUMENTS", 3)
    monkeypatch.setattr(qdrant_marks, "MARKED_AT_ONCE", 4)


def marked_by(store: QdrantStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents each request to mark names."""
    sizes: list[int] = []
    mark = store._client.set_payload

    def counted(*given: Any, **more: Any) -> Any:
        sizes.append(len(more["points"].must[0].match.any))
        return mark(*given, **more)

    monkeypatch.setattr(store._client, "set_payload", counted)
    return sizes


@pytest.mark.usefixtures("few_listed")
def test_a_large_corpus_is_marked_once_and_searched_by_its_mark(
    store: QdrantStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    documents = topical_pages(rng)
    local = LocalStore(tmp_path)
    keys = fill(store, documents)
    fill(local, documents)
    sizes = marked_by(store, monkeypatch)
    odd, even = keys[1::2], keys[::2]
    for corpus in (odd, even, odd, keys[:3], list(reversed(odd))):
        for _, _, query in queries_near(documents, rng):
            assert [hit[:2] for hit in store.search(corpus, query, 4)] == [
                hit[:2] for hit in local.search(corpus, query, 4)
            ]
    assert sizes == [4, 4, 2, 4, 4, 2], "each corpus once, whatever its order, and a small one not at all"
    store._marks._complete.clear()  # as another process would find it
    store.search(odd, documents[0][0], 1)
    assert len(sizes) == 6


@pytest.mark.usefixtures("few_listed")
def test_marking_that_was_interrupted_is_done_again(
    store: QdrantStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = topical_pages(np.random.default_rng(4))
    keys = fill(store, documents)
    mark = store._client.set_payload
    left = [1]

    def breaking(*given: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionError("the server went away")
        return mark(*given, **more)

    monkeypatch.setattr(store._client, "set_payload", breaking)
    with pytest.raises(ProviderError, match="the server went away"):
        store.search(keys, documents[-1][0], 1)
    left[0] = 99
    assert store.search(keys, documents[-1][0], 1)[0].place == len(keys) - 1


# -- nothing sent twice ----------------------------------------------------------------------------------------


def test_a_batch_that_arrived_in_part_is_completed(store: QdrantStore) -> None:
    key, pages = key_of(40), random_pages([2] * 40)
    store.write(key, pages_from(pages))
    gone = [qdrant_store._point_id(key, page) for page in (BATCH + 2, BATCH + 9)]
    store._client.delete(qdrant_store._collection(key.encoder), gone)
    assert not store.has(key)
    started: list[int] = []

    def rest(start: int) -> Iterator[Vectors]:
        started.append(start)
        yield from pages[start:]

    store.write(key, rest)
    assert started == [BATCH + 1]
    assert store.has(key)
    assert [len(page) for page in store.read(key, 0)] == [2] * 40


def test_what_is_sent_has_no_more_digits_than_are_kept(store: QdrantStore) -> None:
    sent = qdrant_store._as_stored(random_pages([5])[0] / 10)
    assert max(len(repr(value)) for row in sent["pages"] for value in row) <= len("-0.123456")
    assert len(sent["mean"]) == 8


# -- from documents --------------------------------------------------------------------------------------------


def folder_of_documents(folder: Path) -> Path:
    docs = folder / "docs"
    docs.mkdir()
    for number, city in enumerate(("Oslo", "Lima", "Pune", "Cork")):
        pages = [f"The railway of {city}, an overview.", f"{city} counts {number + 10} stations in use"]
        (docs / f"{city}.pdf").write_bytes(pdf_bytes(*pages))
    return docs


def test_a_folder_is_searched_in_qdrant_as_it_is_in_files(store: QdrantStore, tmp_path: Path) -> None:
    docs = folder_of_documents(tmp_path)
    with PageStore(tmp_path / "cache") as pages:
        collection = Collection.open(docs, store=pages)
        found = []
        for vectors in (LocalStore(tmp_path / "vectors"), store):
            retriever = VectorRetriever(WordEncoder(), vectors, Locks(tmp_path / "locks"), "words")
            retriever.index(collection)
            found.append([page.page for page in retriever.search("stations of Pune", 3)])
    assert found[0] == found[1]
    place = collection.place(found[0][0])
    assert (place.document.doc_id, place.page) == ("Pune.pdf", 2)


def test_the_command_reads_documents_into_a_store(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wordllama", reason="the extra [dense] is not installed")
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    docs = folder_of_documents(tmp_path)
    target = f"qdrant:{tmp_path / 'q'}"
    fill_it = ("reindex", target, "--docs", docs, "--retriever", "rrf(bm25,dense:wordllama)", "--no-images")
    first = cli(*fill_it)
    assert first.code == 0, first.err
    assert "4 documents, 8 pages read, 0 rendered; 4 documents indexed (8 pages)" in first.out
    assert "1 documents copied" not in cli("reindex", "local", "--from", target).out
    (docs / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    second = cli(*fill_it)
    assert second.code == 1
    assert "torn.pdf" in second.err
    assert "4 documents indexed (8 pages)" in second.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pages",), "add --docs DIR"),
        (("local", "--ocr"), "add --docs DIR"),
        (("pages", "--docs", "DOCS", "--retriever", "bm25"), "Vectors need a retriever and a store"),
        (("local", "--docs", "DOCS"), "Vectors need a retriever and a store"),
        (("local", "--docs", "DOCS", "--from", "qdrant:memory"), "leave one of them out"),
        (("pages", "--docs", "NOWHERE"), "There is no folder"),
    ],
)
def test_what_cannot_be_filled_is_a_sentence(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    docs = folder_of_documents(tmp_path)
    given = [{"DOCS": str(docs), "NOWHERE": str(tmp_path / "nowhere")}.get(word, word) for word in words]
    outcome = cli("reindex", *given)
    assert outcome.code == 2
    assert said in outcome.err
