"""What a page costs at each stage, and what a cluster adds to it.

    python perf/cluster.py units [--documents N]      unit costs, one stage after the other, and what 10^6 pages take
    python perf/cluster.py ray [--rounds 2]           text and images of the documents: Ray beside the local pool

Documents are the PDFs under $LOOSELEAF_DATA (no text of them is printed). CPU is user and system time of this process
and all its descendants, read from /proc, so that workers which are still alive count. `ray` starts a cluster of two
nodes with one processor each, as processes of this machine; its start is printed apart, and so is what the first use of
Ray Data and the imports in its workers take. Each pass fills an empty cache; the best of the rounds counts, since other
work on the machine only ever adds to it.

Bound that is checked: text and images on Ray cost at most 1.15 × the CPU of the local pool.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

MAX_RATIO = 1.15
TICK = os.sysconf("SC_CLK_TCK")
CORPUS = 1_000_000
"""Pages that unit costs are extrapolated to."""
PAGE_VECTORS, DIMENSION, QUERY_VECTORS = 747, 128, 20
"""Vectors of a page and a query of ColPali's kind, as in perf/maxsim.py."""
OCR_PAGES = 4
VECTOR_PAGES = 300
QDRANT_PAGES = 60
GROUPS = 300


# -- processor time of a tree of processes -------------------------------------------------------------------


def tree_cpu() -> float:
    """Seconds of this process, its living descendants, and those of theirs that have ended."""
    stats = dict(_stats())
    wanted, found = {os.getpid()}, 0.0
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in stats.items() if parent in wanted} - wanted
        grown = bool(more)
        wanted |= more
    for pid in wanted:
        found += stats.get(pid, (0, 0.0))[1]
    return found


def _stats() -> Iterator[tuple[int, tuple[int, float]]]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        yield int(folder.name), (int(fields[1]), sum(map(int, fields[11:15])) / TICK)


class Cost(NamedTuple):
    """CPU and wall seconds."""

    cpu: float
    wall: float


@contextmanager
def measured() -> Iterator[Callable[[], Cost]]:
    """Inside the block, the function says what has been spent so far."""
    cpu, wall = tree_cpu(), time.perf_counter()
    yield lambda: Cost(tree_cpu() - cpu, time.perf_counter() - wall)


def bytes_under(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def shared_documents(most: int | None) -> list[Path]:
    data = os.environ.get("LOOSELEAF_DATA")
    if not data:
        sys.exit("Set LOOSELEAF_DATA to a folder of PDFs.")
    return sorted(Path(data).rglob("*.pdf"))[:most]


# -- unit costs ----------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One stage: CPU milliseconds and bytes of a page (or of a query over so many pages)."""

    stage: str
    milliseconds: float
    bytes: float | None
    note: str = ""

    def line(self) -> str:
        size = "" if self.bytes is None else f"{self.bytes / 1000:10,.1f} kB"
        hours = self.milliseconds * CORPUS / 3.6e6
        whole = "" if self.bytes is None else f"{self.bytes * CORPUS / 1e9:8,.0f} GB"
        return f"{self.stage:44} {self.milliseconds:10.4f} ms {size:>13} {hours:9,.1f} CPU-h {whole:>11}  {self.note}"


def units(options: argparse.Namespace) -> None:
    """Opening, text and images, then what is made of them."""
    files = shared_documents(options.documents)
    from looseleaf.document import Document, PageStore
    from looseleaf.document.source import find_source
    from looseleaf.errors import DocumentError

    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, PageStore(Path(folder), workers=1) as store:
        with measured() as spent:
            for file in files:
                find_source(file, "auto")
        hashing = spent().cpu
        documents = []
        with measured() as spent:
            for file in files:
                try:
                    documents.append(Document.open(file, store=store, ocr=False))
                except DocumentError:
                    continue
        pages = sum(document.page_count for document in documents)
        source = sum(file.stat().st_size for file in files)
        rows.append(Row("open: hash the file", 1000 * hashing / pages, source / pages, "bytes of the PDFs"))
        text = bytes_under(Path(folder))
        rows.append(
            Row("text, boxes and labels", 1000 * (spent().cpu - hashing) / pages, text / pages, "cache")
        )
        with measured() as spent:
            failed = 0
            for document in documents:
                for page in range(1, document.page_count + 1):
                    try:
                        document.image(page)
                    except DocumentError:
                        failed += 1
        images = bytes_under(Path(folder)) - text
        rows.append(Row("render at 144 dpi and JPEG", 1000 * spent().cpu / pages, images / pages, "cache"))
        with measured() as spent:
            for document in documents:
                Document.open(document.path, store=store, ocr=False)
        rows.append(Row("open again, all in the cache", 1000 * spent().cpu / pages, None))
        print(f"{len(documents)} documents, {pages:,} pages, {failed} of them not rendered\n")
        print(f"{'stage':44} {'CPU a page':>13} {'bytes a page':>13} {'10^6 pages':>15}")
        for row in [*rows, *searched(documents, Path(folder) / "vectors")]:
            print(row.line(), flush=True)
        for row in ocr_of(store, Path(folder)):
            print(row.line())


def ocr_of(store: object, folder: Path) -> list[Row]:
    """OCR of a few page images; loading the models is in it, as it is for every document."""
    from looseleaf.document import Document, ocr_engine

    images = sorted(Path(os.environ["LOOSELEAF_DATA"]).rglob("*.png"))
    chosen = images[:: max(1, len(images) // OCR_PAGES)][:OCR_PAGES]
    if ocr_engine() is None or not chosen:
        return []
    scanned = folder / "scanned"
    scanned.mkdir()
    for number, image in enumerate(chosen, start=1):
        (scanned / f"{number}.png").symlink_to(image)
    before = bytes_under(folder)
    with measured() as spent:
        Document.open(scanned, store=store, ocr=True)  # type: ignore[arg-type]
    size = (bytes_under(folder) - before) / len(chosen)
    return [Row("OCR of a page image", 1000 * spent().cpu / len(chosen), size, f"{len(chosen)} pages")]


def searched(documents: list, folder: Path) -> list[Row]:
    """Indexes: bm25, dense text, multi-vectors in files and in Qdrant."""
    from looseleaf.models.retrievers import retriever_maker
    from looseleaf.retrieval.blas import one_blas_thread

    rows = []
    pages = sum(document.page_count for document in documents)
    with measured() as spent:
        retrievers = []
        for document in documents:
            retrievers.append(retriever_maker("bm25")())
            retrievers[-1].index(document)
    rows.append(Row("bm25: index, made anew when opened", 1000 * spent().cpu / pages, None, "in memory"))
    with measured() as spent:
        for retriever in retrievers * 5:
            retriever.search("total revenue of the year", 3)
    rows.append(Row("bm25: query in one document", 200 * spent().cpu / len(retrievers), None, "a query"))
    try:
        encoder = _dense_encoder()
    except Exception as problem:
        print(f"no dense encoder: {problem}")
    else:
        rows += dense_text(encoder, documents, folder / "dense", pages)
    with one_blas_thread():
        rows += multi_vectors(folder / "late")
    return rows


def _dense_encoder() -> object:
    from looseleaf.retrieval.wordllama import WordLlamaEncoder

    encoder = WordLlamaEncoder()
    encoder.encode_query("warm up")
    return encoder


def dense_text(encoder: object, documents: list, folder: Path, pages: int) -> list[Row]:
    from looseleaf.document.locks import Locks
    from looseleaf.retrieval.local_store import LocalStore
    from looseleaf.retrieval.vector import VectorRetriever

    store = LocalStore(folder)
    with measured() as spent:
        for document in documents:
            VectorRetriever(encoder, store, Locks(None), "dense").index(document)  # type: ignore[arg-type]
    rows = [
        Row(
            "dense:wordllama: encode and store",
            1000 * spent().cpu / pages,
            bytes_under(folder) / pages,
            "files",
        )
    ]
    query = encoder.encode_query("total revenue of the year")  # type: ignore[attr-defined]
    keys = store.keys()
    store.search(keys, query, 3)
    with measured() as spent:
        for _ in range(20):
            store.search(keys, query, 3)
    rows.append(Row("dense:wordllama: query, a page searched", 50 * spent().cpu / pages, None, "exact"))
    return rows


def multi_vectors(folder: Path) -> list[Row]:
    """Random unit vectors stand in for those of a model on a graphics card; what they cost to keep is the same."""
    from looseleaf.retrieval.index_key import IndexKey
    from looseleaf.retrieval.local_store import LocalStore

    rng = np.random.default_rng(0)
    pages = rng.standard_normal((VECTOR_PAGES, PAGE_VECTORS, DIMENSION)).astype(np.float32)
    pages /= np.linalg.norm(pages, axis=2, keepdims=True)
    query = pages[7, :QUERY_VECTORS].copy()
    local, key = LocalStore(folder), IndexKey("a" * 64, "late", "0" * 16, VECTOR_PAGES)
    with measured() as spent:
        local.write(key, lambda start: iter(pages[start:]))
    rows = [
        Row(
            "multi-vector: store",
            1000 * spent().cpu / VECTOR_PAGES,
            bytes_under(folder) / VECTOR_PAGES,
            "files",
        )
    ]
    local.search([key], query, 3)
    with measured() as spent:
        for _ in range(10):
            local.search([key], query, 3)
    exact = spent().cpu / 10 / VECTOR_PAGES
    rows.append(Row("multi-vector: query, a page scored exactly", 1000 * exact, None, "all pages"))
    file = local._file(key)
    with measured() as spent:
        for _ in range(200):
            np.argpartition(-(file.means @ query.sum(axis=0)), 100)
    rows.append(
        Row(
            "multi-vector: query, a mean looked at",
            5 * spent().cpu / VECTOR_PAGES,
            4 * DIMENSION,
            "then 100 exact",
        )
    )
    return rows + in_qdrant(pages[:QDRANT_PAGES])


def in_qdrant(pages: np.ndarray) -> list[Row]:
    """What this side spends on sending; Qdrant's own share is not measured here."""
    try:
        import qdrant_client  # noqa: F401
    except ImportError:
        return []
    import json

    from looseleaf.retrieval.qdrant_store import _as_stored

    with measured() as spent:
        sent = [len(json.dumps(_as_stored(page))) for page in pages]
    return [
        Row(
            "multi-vector: made ready for Qdrant",
            1000 * spent().cpu / len(pages),
            float(np.mean(sent)),
            "JSON sent",
        )
    ]


# -- Ray beside the local pool -------------------------------------------------------------------------------


def local_pass(files: list[Path]) -> tuple[Cost, int]:
    from looseleaf.document import PageStore
    from looseleaf.runner.preparing import PagesHow, prepare_here

    with (
        tempfile.TemporaryDirectory() as folder,
        PageStore(Path(folder), workers=2) as store,
        measured() as spent,
    ):
        rows = list(prepare_here(files, store, PagesHow(), threads=2))
        return spent(), sum(row.rendered for row in rows)


def ray_pass(files: list[Path]) -> tuple[Cost, int]:
    from looseleaf.document import PageStore
    from looseleaf.runner.executor.ray_pages import prepare_on_ray
    from looseleaf.runner.preparing import PagesHow

    with (
        tempfile.TemporaryDirectory() as folder,
        PageStore(Path(folder), workers=1) as store,
        measured() as spent,
    ):
        rows = list(prepare_on_ray(files, store, PagesHow()))
        return spent(), sum(row.rendered for row in rows)


def compare(options: argparse.Namespace) -> None:
    from looseleaf.runner.executor.ray_cluster import LOCAL_SETTINGS, SETTINGS, ray_cluster

    os.environ.update(SETTINGS | LOCAL_SETTINGS)
    files = shared_documents(options.documents)
    with measured() as spent:
        from ray.cluster_utils import Cluster

        common = {"num_cpus": 1, "object_store_memory": 80 << 20}
        cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **common})
        cluster.add_node(**common)
    print(f"cluster of two nodes: {show(spent())}")
    best: dict[str, float] = {}
    with ray_cluster(cluster.address):
        first, _ = ray_pass(files[:2])
        print(f"first use of Ray Data, with the imports of its workers, on two documents: {show(first)}")
        print(f"a group of items there and back: {1000 * task_cost():.1f} CPU ms")
        with measured() as spent:
            time.sleep(10)
        print(f"the cluster at rest: {spent().cpu / 10:.3f} CPU s a second")
        for number in range(1, options.rounds + 1):
            for name, run in (("local", local_pass), ("ray", ray_pass)):
                cost, pages = run(files)
                best[name] = min(best.get(name, cost.cpu), cost.cpu)
                each = 1000 * cost.cpu / pages
                print(
                    f"round {number}: {name:5} {pages:,} pages, {show(cost)}, {each:.2f} ms a page",
                    flush=True,
                )
    cluster.shutdown()
    ratio = best["ray"] / best["local"]
    print(f"Ray / local pool: {ratio:.3f} (at most {MAX_RATIO})")
    if ratio > MAX_RATIO:
        sys.exit(1)


def task_cost() -> float:
    """CPU seconds of a group that does next to nothing."""
    from looseleaf.runner.bootstrapping import fanned_ratios
    from looseleaf.runner.executor.ray_executor import RayExecutor

    executor = RayExecutor()
    sums = np.random.default_rng(0).random((2, GROUPS, 5))
    fanned_ratios(executor, sums[0][:4], sums[1][:4], resamples=10, concurrency=2)
    with measured() as spent:
        fanned_ratios(executor, sums[0], sums[1], resamples=10, concurrency=2)
        return spent().cpu / GROUPS


def show(cost: Cost) -> str:
    return f"{cost.cpu:.1f} CPU s, {cost.wall:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["units", "ray"])
    parser.add_argument("--documents", type=int, help="only so many")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    (units if options.what == "units" else compare)(options)


if __name__ == "__main__":
    main()
