"""Vectors on disk: whole or not there, written once by whoever comes first, resumed after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fakes import FakeDocument
from looseleaf.document.locks import Locks
from looseleaf.errors import ProviderError
from looseleaf.retrieval import RetrieverFamily
from looseleaf.retrieval.index_key import IndexKey, digest
from looseleaf.retrieval.local_store import CANDIDATES, LocalStore
from looseleaf.retrieval.store import EncodeFrom
from looseleaf.retrieval.vector import VectorRetriever
from looseleaf.retrieval.vectors import Vectors
from word_encoder import WordEncoder

PAGES = ["", "alpha beta", "gamma", "", "beta beta delta", "epsilon alpha"]


def pages_from(pages: list[Vectors]) -> EncodeFrom:
    def encode(start: int) -> Iterator[Vectors]:
        yield from pages[start:]

    return encode


def key_of(pages: int, name: str = "a") -> IndexKey:
    return IndexKey(name * 64, "encoder-1", "0" * 16, pages)


def random_pages(counts: list[int], dimension: int = 8, seed: int = 0) -> list[Vectors]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((count, dimension)).astype(np.float32) for count in counts]


def retriever(folder: Path, encoder: WordEncoder) -> VectorRetriever:
    return VectorRetriever(encoder, LocalStore(folder / "vectors"), Locks(folder / "locks"), "words")


def test_what_is_written_is_read_in_half_precision(tmp_path: Path) -> None:
    pages = random_pages([3, 0, 1, 5])
    store, key = LocalStore(tmp_path), key_of(4)
    assert not store.has(key)
    store.write(key, pages_from(pages))
    assert store.has(key)
    assert store.keys() == LocalStore(tmp_path).keys() == [key]
    for found, given in zip(LocalStore(tmp_path).read(key, 0), pages, strict=True):
        assert (found == given.astype(np.float16)).all()
    assert [len(page) for page in store.read(key, 2)] == [1, 5]
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".vectors"]


def test_a_document_without_a_single_vector_can_be_stored(tmp_path: Path) -> None:
    store, key = LocalStore(tmp_path), key_of(3)
    store.write(key, pages_from([np.zeros((0, 0), np.float32)] * 3))
    assert store.has(key)
    assert store.search([key], np.ones((2, 8), np.float32), 3) == []


@pytest.mark.parametrize("cut", [0, 7, 63, 64, 100, -1])
def test_a_torn_file_counts_as_missing(tmp_path: Path, cut: int) -> None:
    store, key = LocalStore(tmp_path), key_of(2)
    store.write(key, pages_from(random_pages([4, 2])))
    path = next(tmp_path.rglob("*.vectors"))
    path.write_bytes(path.read_bytes()[:cut])
    fresh = LocalStore(tmp_path)
    assert not fresh.has(key)
    assert fresh.keys() == []
    fresh.write(key, pages_from(random_pages([4, 2])))
    assert fresh.has(key)


def test_another_documents_file_is_not_taken_for_this_one(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write(key_of(2), pages_from(random_pages([4, 2])))
    assert not store.has(key_of(3))
    assert not store.has(key_of(2, "b"))


def test_a_writer_goes_on_behind_the_last_whole_page(tmp_path: Path) -> None:
    pages = random_pages([3, 0, 2, 4])
    store, key = LocalStore(tmp_path), key_of(4)

    def broken(start: int) -> Iterator[Vectors]:
        yield from pages[start:3]
        raise ProviderError("the server went away")

    with pytest.raises(ProviderError):
        store.write(key, broken)
    started: list[int] = []

    def rest(start: int) -> Iterator[Vectors]:
        started.append(start)
        yield from pages[start:]

    store.write(key, rest)
    assert started == [3]
    assert [len(page) for page in store.read(key, 0)] == [3, 0, 2, 4]
    assert (
        np.concatenate(list(store.read(key, 0))[2:]) == np.concatenate(pages[2:]).astype(np.float16)
    ).all()


@pytest.mark.parametrize("suffix", [".part", ".journal"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_damaged_parts_cost_only_the_pages_behind_the_damage(
    tmp_path: Path, suffix: str, damage: str
) -> None:
    pages = random_pages([3, 2, 2, 4])
    store, key = LocalStore(tmp_path), key_of(4)

    def broken(start: int) -> Iterator[Vectors]:
        yield from pages[start:3]
        raise ProviderError("the server went away")

    with pytest.raises(ProviderError):
        store.write(key, broken)
    path = next(tmp_path.rglob(f"*{suffix}"))
    content = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    else:
        content[-1] ^= 0xFF
        path.write_bytes(content if damage == "flip" else content[:-1])
    store.write(key, pages_from(pages))
    assert (np.concatenate(list(store.read(key, 0))) == np.concatenate(pages).astype(np.float16)).all()


def test_pages_of_different_dimensions_or_too_few_pages_are_no_index(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    mixed = [np.ones((1, 4), np.float32), np.ones((1, 5), np.float32)]
    with pytest.raises(ValueError, match="5 and 4 dimensions"):
        store.write(key_of(2), pages_from(mixed))
    with pytest.raises(ValueError, match="1 pages were encoded of 2"):
        store.write(key_of(2, "b"), pages_from(mixed[:1]))
    assert store.keys() == []


def test_a_query_of_other_dimensions_says_so(tmp_path: Path) -> None:
    store, key = LocalStore(tmp_path), key_of(1)
    store.write(key, pages_from(random_pages([2])))
    with pytest.raises(ProviderError, match="9 dimensions for pages of 8"):
        store.search([key], np.ones((1, 9), np.float32), 1)


def test_pages_with_the_querys_words_come_first(tmp_path: Path) -> None:
    searching = retriever(tmp_path, WordEncoder())
    searching.index(FakeDocument(PAGES))  # type: ignore[arg-type]
    assert searching.family is RetrieverFamily.MULTI_VECTOR
    assert searching.search("delta", 1)[0].page == 5
    assert searching.search("gamma", 1)[0].score == pytest.approx(1.0, abs=1e-3)
    assert {page.page for page in searching.search("alpha", 9)} == {2, 3, 5, 6}  # not those without words
    assert searching.search("", 3) == searching.search(" \n", 3) == searching.search("alpha", 0) == []


def test_a_second_opening_encodes_nothing(tmp_path: Path) -> None:
    first, second = WordEncoder(), WordEncoder()
    retriever(tmp_path, first).index(FakeDocument(PAGES))  # type: ignore[arg-type]
    again = retriever(tmp_path, second)
    again.index(FakeDocument(PAGES))  # type: ignore[arg-type]
    assert (first.encoded, second.encoded) == ([1, 2, 3, 4, 5, 6], [])
    assert again.search("gamma", 1)[0].page == 3


def test_another_text_of_the_same_file_is_another_index(tmp_path: Path) -> None:
    retriever(tmp_path, WordEncoder()).index(FakeDocument(PAGES))  # type: ignore[arg-type]
    read_by_ocr = WordEncoder()
    retriever(tmp_path, read_by_ocr).index(FakeDocument(["scanned", *PAGES[1:]]))  # type: ignore[arg-type]
    assert len(read_by_ocr.encoded) == len(PAGES)


def test_settings_are_part_of_an_encoders_id() -> None:
    ids = {WordEncoder().id, WordEncoder(16).id, WordEncoder(multi=False).id, WordEncoder(name="other").id}
    assert len(ids) == 4
    assert all("/" not in name and name == WordEncoder(name=name).id[: len(name)] for name in ("words",))


def test_many_pages_are_chosen_by_their_means_and_then_scored_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the limit the result is the exact one wherever the mean puts the right pages among the candidates."""
    rng = np.random.default_rng(3)
    topics = rng.standard_normal((40, 16))
    pages = [(topics[n % 40] + 0.3 * rng.standard_normal((12, 16))).astype(np.float32) for n in range(400)]
    store, keys = LocalStore(tmp_path), [key_of(200), key_of(200, "b")]
    for key, part in zip(keys, (pages[:200], pages[200:]), strict=True):
        store.write(key, pages_from(part))
    query = topics[7][None].astype(np.float32)
    exact = store.search(keys, query, 5)
    monkeypatch.setattr("looseleaf.retrieval.local_store.EXACT_PAGES", 399)
    assert store.search(keys, query, 5) == exact
    assert len(store.search(keys, query, 300)) == 300
    assert len(store.search(keys, query, 1)) == 1
    assert CANDIDATES == 100


WORKER = """
import sys
from pathlib import Path
from fakes import FakeDocument
from looseleaf.document.locks import Locks
from looseleaf.retrieval.local_store import LocalStore
from looseleaf.retrieval.vector import VectorRetriever
from word_encoder import WordEncoder
folder = Path(sys.argv[1])
encoder = WordEncoder(seconds=0.01)
searching = VectorRetriever(encoder, LocalStore(folder / "vectors"), Locks(folder / "locks"), "words")
print("ready", flush=True)
searching.index(FakeDocument([f"page {number}" for number in range(100)]))
print(len(encoder.encoded), searching.search("page 63", 1)[0].page, flush=True)
"""


def start(folder: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def result(process: subprocess.Popen[str]) -> tuple[int, int]:
    out, _ = process.communicate(timeout=60)
    encoded, best = out.split()
    return int(encoded), int(best)


def test_two_processes_share_the_work_of_one(tmp_path: Path) -> None:
    both = [start(tmp_path), start(tmp_path)]
    results = [result(process) for process in both]
    assert sorted(encoded for encoded, _ in results) == [0, 100]
    assert {best for _, best in results} == {64}


def test_kill_9_while_writing_loses_at_most_the_page_in_flight(tmp_path: Path) -> None:
    process = start(tmp_path)
    journal = wait_for_pages(tmp_path, 20)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert list(tmp_path.rglob("*.vectors")) == []
    finished = journal.stat().st_size // 12
    assert 20 <= finished < 100
    assert result(start(tmp_path)) == (100 - finished, 64)
    assert [path.suffix for path in (tmp_path / "vectors").rglob("*") if path.is_file()] == [".vectors"]
    assert result(start(tmp_path)) == (0, 64)


def wait_for_pages(folder: Path, pages: int) -> Path:
    for _ in range(2000):
        for journal in folder.rglob("*.journal"):
            if journal.stat().st_size >= pages * 12:
                return journal
        time.sleep(0.005)
    raise AssertionError("nothing was written")


def test_a_long_document_is_written_and_searched_in_little_memory(tmp_path: Path) -> None:
    """2,000 pages of 747 × 128: an index of 382 MB on disk, of which searching maps what it reads."""
    script = f"""
import resource, numpy as np
from pathlib import Path
from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.local_store import LocalStore
def anonymous():
    return int(next(l for l in open("/proc/self/status") if l.startswith("RssAnon")).split()[1]) / 1024
rng = np.random.default_rng(0)
page = rng.standard_normal((747, 128)).astype(np.float32)
store, key = LocalStore(Path({str(tmp_path)!r})), IndexKey("a" * 64, "e", "c", 2000)
peak = 0.0
def encode(start):
    global peak
    for number in range(start, 2000):
        peak = max(peak, anonymous())
        yield np.roll(page, number, axis=1)
store.write(key, encode)
for _ in range(2):
    hits = store.search([key], page[:20], 5)
    peak = max(peak, anonymous())
print(peak, hits[0].page)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True
    )
    peak, best = done.stdout.split()
    assert float(peak) < 300
    assert (int(best) - 1) % 128 == 0


def test_digests_keep_strings_apart() -> None:
    assert len({digest(parts) for parts in (["ab"], ["a", "b"], ["", "ab"], ["ab", ""], [])}) == 5
