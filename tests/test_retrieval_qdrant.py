"""Qdrant holds and finds what the local store does, in memory and in a folder; a server speaks the same client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("qdrant_client", reason="the extra [qdrant] is not installed")

from conftest import Cli
from looseleaf.errors import ConfigError, ProviderError
from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.local_store import LocalStore
from looseleaf.retrieval.qdrant_store import BATCH, QdrantStore
from looseleaf.retrieval.reindex import Replayed, replay
from looseleaf.retrieval.vectors import Vectors
from test_retrieval_store import key_of, pages_from, random_pages

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # a client that fails to open leaves its lock file


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[QdrantStore]:
    made = QdrantStore("memory" if request.param == "memory" else str(tmp_path / "qdrant"))
    yield made
    made.close()


COUNTS = [0, 3, 0, 7, 1, *[2] * (BATCH + 3), 0]


def test_results_are_those_of_the_local_store(store: QdrantStore, tmp_path: Path) -> None:
    local = LocalStore(tmp_path / "local")
    keys = [key_of(len(COUNTS)), key_of(3, "b"), key_of(2, "c")]
    documents = [random_pages(COUNTS), random_pages([4, 4, 4], seed=1), random_pages([5, 5], seed=2)]
    for key, pages in zip(keys, documents, strict=True):
        assert not store.has(key)
        for target in (local, store):
            target.write(key, pages_from(pages))
        assert store.has(key)
    query = random_pages([6], seed=9)[0]
    for wanted in (keys, keys[:1], keys[1:], [keys[2], keys[0]]):
        expected, found = local.search(wanted, query, 5), store.search(wanted, query, 5)
        assert [(hit.place, hit.page) for hit in found] == [(hit.place, hit.page) for hit in expected]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], rel=2e-3)
    assert sorted(key.document[0] for key in store.keys()) == ["a", "b", "c"]  # noqa: SIM118
    assert set(store.keys()) == set(keys)
    for found_page, page in zip(store.read(keys[0], 0), documents[0], strict=True):
        assert found_page.shape[0] == page.shape[0]
        assert np.allclose(found_page, page, atol=2e-3) if len(page) else True


def test_writing_goes_on_where_it_stopped(store: QdrantStore) -> None:
    key, pages = key_of(40), random_pages([2] * 40)

    def broken(start: int) -> Iterator[Vectors]:
        yield from pages[start:35]
        raise ProviderError("the server went away")

    with pytest.raises(ProviderError):
        store.write(key, broken)
    assert not store.has(key)
    assert store.keys() == []
    started: list[int] = []

    def rest(start: int) -> Iterator[Vectors]:
        started.append(start)
        yield from pages[start:]

    store.write(key, rest)
    assert started == [BATCH * 2]
    assert store.has(key)


def test_documents_without_vectors_and_encoders_without_documents(store: QdrantStore) -> None:
    empty = key_of(3)
    assert store.search([empty], np.ones((1, 8), np.float32), 3) == []
    store.write(empty, pages_from([np.zeros((0, 0), np.float32)] * 3))
    assert store.has(empty)
    assert store.search([empty], np.ones((1, 1), np.float32), 3) == []


def test_vectors_travel_from_store_to_store_without_an_encoder(store: QdrantStore, tmp_path: Path) -> None:
    local, back = LocalStore(tmp_path / "local"), LocalStore(tmp_path / "back")
    keys = [key_of(len(COUNTS)), IndexKey("d" * 64, "encoder-2", "0" * 16, 2)]
    for key, counts in zip(keys, (COUNTS, [3, 1]), strict=True):
        local.write(key, pages_from(random_pages(counts, dimension=8 if key == keys[0] else 5)))
    steps: list[tuple[int, int]] = []
    assert replay(local, store, progress=lambda *step: steps.append(step)) == Replayed(2, 0, len(COUNTS) + 2)
    assert steps == [(1, 2), (2, 2)]
    assert replay(local, store) == Replayed(0, 2, len(COUNTS) + 2)
    assert replay(store, back, encoder="encoder-2") == Replayed(1, 0, 2)
    assert back.keys() == keys[1:]
    for there, here in zip(back.read(keys[1], 0), local.read(keys[1], 0), strict=True):
        assert np.allclose(there, here, atol=2e-3)


def test_a_folder_that_another_process_holds_says_so(tmp_path: Path) -> None:
    first, second = QdrantStore(str(tmp_path / "q")), QdrantStore(str(tmp_path / "q"))
    first.has(key_of(1))
    with pytest.raises(ConfigError, match="several processes need a server"):
        second.has(key_of(1))
    first.close()


def test_a_server_that_is_down_is_a_fault_of_the_provider() -> None:
    with pytest.raises(ProviderError, match=r"Qdrant \(http://127.0.0.1:9\)"):
        QdrantStore("http://127.0.0.1:9").has(key_of(1))


def test_the_command_fills_qdrant_and_says_what_it_did(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOSELEAF_CACHE", str(tmp_path / "cache"))
    assert "no stored vectors" in cli("reindex", "qdrant:memory").err
    LocalStore(tmp_path / "cache" / "vectors").write(key_of(4), pages_from(random_pages([1, 2, 0, 3])))
    target = f"qdrant:{tmp_path / 'q'}"
    assert "1 documents copied, 0 already there (4 pages in all)" in cli("reindex", target).out
    assert "0 documents copied, 1 already there" in cli("reindex", target).out
    assert cli("reindex", "local").code == 2
    assert "no store 'tape'" in cli("reindex", "tape").err
