"""Several page workers: threads work at the same time, and what breaks one worker breaks nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hostile_files as make
from looseleaf.document import Document, Limits, PageStore
from looseleaf.document.store import MAX_DEFAULT_WORKERS, default_workers
from looseleaf.errors import DocumentError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processor time is limited on POSIX")


def opened(path: Path, content: bytes, store: PageStore) -> Document:
    path.write_bytes(content)
    return Document.open(path, store=store)


def test_number_of_workers_follows_the_cores() -> None:
    assert 1 <= default_workers() <= MAX_DEFAULT_WORKERS


def test_slow_page_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """One thread waits for a page that takes forever; another renders twenty pages meanwhile."""
    with PageStore(tmp_path / "cache", limits=Limits(cpu_seconds=3), workers=2) as store:
        slow = opened(tmp_path / "slow.pdf", make.strokes(), store)
        good = opened(tmp_path / "good.pdf", make.text_pdf(*(str(page) for page in range(20))), store)
        stopped = threading.Event()

        def wait_for_slow() -> None:
            with pytest.raises(DocumentError, match="took more than 3 s of processor time"):
                slow.image(1)
            stopped.set()

        thread = threading.Thread(target=wait_for_slow)
        thread.start()
        widths = {good.image(page, dpi=36).width for page in range(1, 21)}
        assert not stopped.is_set()
        thread.join()
        assert stopped.is_set()
        assert widths == {306}


def test_no_more_workers_than_asked_for(tmp_path: Path) -> None:
    seen = set()
    with PageStore(tmp_path / "cache", workers=2) as store:
        document = opened(tmp_path / "a.pdf", make.text_pdf(*(str(page) for page in range(24))), store)
        with ThreadPoolExecutor(8) as threads:
            for image in threads.map(lambda page: document.image(page, dpi=30), range(1, 25)):
                seen.update(worker._process.pid for worker in store._pages.idle)
                assert image.width == 255
        assert len(store._pages.idle) == len(seen) == 2
        assert store.pages_rendered == 24


def test_page_is_rendered_once_however_many_threads_want_it(tmp_path: Path) -> None:
    with PageStore(tmp_path / "cache", workers=4) as store:
        document = opened(tmp_path / "a.pdf", make.text_pdf("x"), store)
        with ThreadPoolExecutor(8) as threads:
            images = set(threads.map(lambda _: document.image(1).jpeg, range(16)))
        assert (len(images), store.pages_rendered) == (1, 1)


def test_worker_follows_a_file_that_is_replaced(tmp_path: Path) -> None:
    """The worker keeps the last file open; another file in its place is another file."""
    with PageStore(tmp_path / "cache", workers=1) as store:
        before = opened(tmp_path / "a.pdf", make.text_pdf("before"), store)
        assert before.image(1, dpi=30).width == 255
        (tmp_path / "a.pdf").unlink()
        after = opened(tmp_path / "a.pdf", make.text_pdf("after that", "two"), store)
        assert (after.texts(), after.image(2, dpi=30).width) == (("after that", "two"), 255)
        with pytest.raises(DocumentError, match="has changed or gone"):
            before.image(1, dpi=31)


# --- every hostile class in one run ---------------------------------------------------------------------------------

HOSTILE = {
    "truncated.pdf": make.truncated,
    "zero_pages.pdf": make.zero_pages,
    "encrypted.pdf": make.encrypted,
    "a_million_pages.pdf": lambda: make.claims_pages(1_000_000),
    "bad_xref.pdf": make.bad_xref,
    "cropped_away.pdf": make.cropped_away,
    "boxes.pdf": lambda: make.boxed("0 0 14400 14400", "0 0 1000000 1000000", "0 0 2147483648 2147483648"),
    "flate_bomb.pdf": make.flate_bomb,
    "nested_forms.pdf": make.nested_forms,
    "two_million_strokes.pdf": make.many_strokes,
    "slow_strokes.pdf": make.strokes,
    "png_bomb.pdf": make.png_bomb,
}

REFUSED = {"truncated.pdf", "zero_pages.pdf", "encrypted.pdf", "a_million_pages.pdf", "png_bomb.pdf"}

RUN = """
import json, re, resource, sys
from pathlib import Path
from looseleaf.document import Limits, PageStore
from looseleaf.runner.config import DataConfig, RunConfig
from looseleaf.runner.execute import execute

folder = Path(sys.argv[1])
config = RunConfig(data=DataConfig(benchmark=str(folder / "mini.jsonl"), path=str(folder / "docs")))
with PageStore(folder / "cache", limits=Limits(cpu_seconds=1), workers=2) as store:
    run = execute(config, folder / "run", store=store).run
    pages = {}
    from looseleaf.document import Document
    from looseleaf.errors import DocumentError
    for path in sorted((folder / "docs").iterdir()):
        try:
            document = Document.open(path, store=store)
        except DocumentError:
            continue
        for page in range(1, document.page_count + 1):
            try:
                pages[f"{path.name} {page}"] = document.image(page).width
            except DocumentError as error:
                pages[f"{path.name} {page}"] = str(error)
stops = {found.doc_id: [str(found.stop_reason), found.error] for found in run.trajectories().values()}
# A process's own ru_maxrss starts at what its parent held when it was started, so the peak is read from the kernel.
own = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
peak = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(json.dumps([stops, pages, peak]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
def test_run_over_every_hostile_file_goes_on(tmp_path: Path) -> None:
    """One question a hostile file, then a good one: a clear error or a guarded page each, and less than 1 GB."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, content in HOSTILE.items():
        (docs / name).write_bytes(content())
    (docs / "good.pdf").write_bytes(make.text_pdf("The revenue in 2023 was 31.8 million."))
    rows = [{"doc_id": name, "question": "What was the revenue in 2023?"} for name in [*HOSTILE, "good.pdf"]]
    (tmp_path / "mini.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    stops, pages, peak = json.loads(done.stdout)
    assert stops.keys() == {*HOSTILE, "good.pdf"}
    assert {name for name, (stop, _) in stops.items() if stop == "document_error"} == REFUSED
    assert all(stop == "answered" for name, (stop, _) in stops.items() if name not in REFUSED)
    assert all(
        name in error and "\n" not in error for name, (stop, error) in stops.items() if name in REFUSED
    )
    guarded = {name: width for name, width in pages.items() if isinstance(width, int)}
    assert sorted(guarded) == [
        "bad_xref.pdf 1",
        *(f"boxes.pdf {page}" for page in (1, 2, 3)),
        "cropped_away.pdf 2",
        *(f"flate_bomb.pdf {page}" for page in (1, 3)),
        "good.pdf 1",
    ]
    assert all(
        error.startswith("Page ") and "; " in error for error in pages.values() if isinstance(error, str)
    )
    assert peak < 1_000_000  # kB


def test_document_of_bombs_does_not_take_forever(tmp_path: Path) -> None:
    """Two hundred pages that each exceed a limit cost as much as the few that are tried."""
    with PageStore(tmp_path / "cache", limits=Limits(cpu_seconds=1, lost_pages=1), workers=1) as store:
        bomb = make.many_strokes_stream(6_000_000)
        begun = time.monotonic()
        with pytest.raises(
            DocumentError, match=r"a\.pdf took more than 1 s of processor time and was stopped"
        ):
            opened(tmp_path / "a.pdf", make.pages([bomb] * 200), store)
        assert time.monotonic() - begun < 60
