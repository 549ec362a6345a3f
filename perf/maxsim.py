"""Late interaction side by side: CPU time of a query, exactness, two stages, and the memory of a long document.

    python perf/maxsim.py [--pages 1000] [--rounds 5]

Times are process CPU time, the best of several rounds that take turns. With torch installed it takes part.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads; looseleaf pins NumPy's itself

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from looseleaf.retrieval.index_key import IndexKey
from looseleaf.retrieval.local_store import CANDIDATES, EXACT_PAGES, LocalStore
from looseleaf.retrieval.maxsim import maxsim
from looseleaf.retrieval.vectors import Vectors

VECTORS, DIMENSION, QUERY = 747, 128, 20
"""A page of ColQwen2 at its default resolution, and a short question."""
RATIO = 1.1
"""Most that looseleaf may take of the best of plain NumPy and torch."""
LONG_PAGES = 2_000
LONG_MEGABYTES = 300
MANY_PAGES = 6_000

Scores = Callable[[], Vectors]


def main() -> int:
    """Print everything; exit status 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    held = [speed(given.pages, given.rounds), exactness(), two_stages(), memory()]
    return 0 if all(held) else 1


def speed(pages: int, rounds: int) -> bool:
    """All ways to score the same pages, in turns."""
    rng = np.random.default_rng(0)
    stored, query = unit(rng, pages * VECTORS), unit(rng, QUERY)
    batch, halves = stored.reshape(pages, VECTORS, DIMENSION), stored.astype(np.float16)
    counts = np.full(pages, VECTORS, dtype=np.intp)
    ways: dict[str, Scores] = {
        "sgemm alone (the floor)": lambda: stored @ query.T,
        "plain NumPy, batched": lambda: (batch @ query.T).max(axis=1).sum(axis=1),
        "plain NumPy, one product": lambda: (
            (stored @ query.T).reshape(pages, VECTORS, QUERY).max(axis=1).sum(axis=1)
        ),
        "plain NumPy, float16": lambda: (
            (halves.astype(np.float32) @ query.T).reshape(pages, VECTORS, QUERY).max(axis=1).sum(axis=1)
        ),
        "looseleaf": lambda: maxsim(query, stored, counts),
        "looseleaf, float16": lambda: maxsim(query, halves, counts),
    } | torch_ways(batch, query)
    with threadpool_limits(1):
        times = in_turns(ways, rounds)
    names = {(library["internal_api"], library.get("architecture")) for library in threadpool_info()}
    print(f"{pages} pages x {VECTORS} x {DIMENSION}, {QUERY} query vectors; {sorted(map(str, names))}")
    floor = times["sgemm alone (the floor)"]
    for name, seconds in times.items():
        print(f"  {name:28} {seconds * 1e3:8.1f} ms   {seconds / floor:5.2f} x the floor")
    others = {name: seconds for name, seconds in times.items() if name.startswith(("plain", "torch"))}
    best = min(others, key=lambda name: others[name])
    return verdict("looseleaf / best other", times["looseleaf"] / others[best], RATIO, f" ({best})")


def torch_ways(batch: Vectors, query: Vectors) -> dict[str, Scores]:
    """Torch's two ways, if it is installed."""
    try:
        import torch
    except ImportError:
        print("torch is not installed and takes no part")
        return {}
    torch.set_num_threads(1)
    pages, asked = torch.from_numpy(batch), torch.from_numpy(query)
    return {
        "torch, matmul": lambda: (pages @ asked.T).amax(dim=1).sum(dim=1).numpy(),
        "torch, einsum": lambda: torch.einsum("ptd,qd->pqt", pages, asked).amax(dim=2).sum(dim=1).numpy(),
    }


def in_turns(ways: dict[str, Scores], rounds: int) -> dict[str, float]:
    """Best CPU time of each way; every round runs all of them, so that a busy machine is busy for all."""
    times = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            way()
            times[name] = min(times[name], time.process_time() - start)
    return times


def exactness() -> bool:
    """Pages of many lengths, some with only negative products, against float64."""
    rng = np.random.default_rng(1)
    counts = np.array([*rng.integers(0, 1500, 200), 0, 1], dtype=np.intp)
    query = np.abs(unit(rng, QUERY))
    pages = [unit(rng, int(count)) for count in counts]
    for page in pages[::3]:
        np.negative(np.abs(page), out=page)
    found = maxsim(query, np.concatenate(pages), counts)
    filled = counts > 0
    expected = np.array(
        [(query.astype(float) @ page.astype(float).T).max(axis=1).sum() for page in pages if len(page)]
    )
    print(f"  {int((expected < 0).sum())} of {len(expected)} pages have a negative score")
    return verdict("largest error against float64", float(np.abs(found[filled] - expected).max()), 1e-5)


def two_stages() -> bool:
    """The page that is sought among many, by the first stage and exactly."""
    rng = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as folder:
        store, key = LocalStore(Path(folder)), IndexKey("a" * 64, "perf", "0", MANY_PAGES)
        topics = unit(rng, MANY_PAGES)
        store.write(key, lambda start: (near(rng, topics[page], 60) for page in range(start, MANY_PAGES)))
        found = 0
        start = time.process_time()
        for page in range(0, MANY_PAGES, 60):
            hits = store.search([key], near(rng, topics[page], QUERY), 3)
            found += page + 1 in {hit.page for hit in hits}
        each = (time.process_time() - start) / (MANY_PAGES / 60)
    print(f"  above {EXACT_PAGES} pages: means -> {CANDIDATES} -> exact takes {each * 1e3:.1f} ms a query")
    return verdict("share of sought pages missed by two stages", 1 - found / (MANY_PAGES / 60), 0.01)


def memory() -> bool:
    """A long document is written and searched by a process of its own; memory beyond the mapped index."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--as-worker", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, index, seconds, again = map(float, done.stdout.split())
    print(f"  {LONG_PAGES} pages: index {index:.0f} MB, search {seconds:.2f} CPU-s")
    once = verdict("pages that a second opening encodes", again, 0)
    return verdict("peak memory beyond the index, MB", peak, LONG_MEGABYTES) and once


def worker(folder: Path) -> None:
    """Write, search, open again; print peak MB, index MB, CPU-s of a search, pages that opening again encodes."""
    rng = np.random.default_rng(0)
    page, key, peak, encoded = unit(rng, VECTORS), IndexKey("a" * 64, "perf", "0", LONG_PAGES), 0.0, 0

    def encode(start: int) -> Iterator[Vectors]:
        nonlocal peak, encoded
        for number in range(start, LONG_PAGES):
            peak, encoded = max(peak, anonymous_megabytes()), encoded + 1
            yield np.roll(page, number, axis=1)

    LocalStore(folder).write(key, encode)
    before, encoded = time.process_time(), 0
    LocalStore(folder).search([key], page[:QUERY], 5)
    seconds = time.process_time() - before
    peak = max(peak, anonymous_megabytes())
    again = LocalStore(folder)
    if not again.has(key):
        again.write(key, encode)
    index = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    print(peak, index, seconds, encoded)


def anonymous_megabytes() -> float:
    """Resident memory that is not a mapped file; where the system does not tell, the peak of all."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def unit(rng: np.random.Generator, count: int) -> Vectors:
    """Random vectors of length 1."""
    rows = rng.standard_normal((count, DIMENSION), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def near(rng: np.random.Generator, topic: Vectors, count: int) -> Vectors:
    """Vectors around a topic, with as much noise as topic."""
    noisy = topic + unit(rng, count)
    return np.asarray(noisy / np.linalg.norm(noisy, axis=1, keepdims=True), dtype=np.float32)


def verdict(what: str, value: float, limit: float, note: str = "") -> bool:
    """Print a measurement beside its limit."""
    print(f"{'ok  ' if value <= limit else 'FAIL'} {what}: {value:.3g}, at most {limit:g}{note}")
    return value <= limit


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-worker"]:
        worker(Path(sys.argv[2]))
    else:
        sys.exit(main())
