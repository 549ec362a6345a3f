"""A document of 2,000 pages: memory, and no work at the second opening."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import hostile_files as make

PAGES = 2_000
LINES = 45
ALLOWED_MB = 300
"""Beyond the retrieval index: texts, workers, interpreter and libraries."""

USE = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from looseleaf.document import Document, PageStore
from looseleaf.retrieval import BM25Retriever

def resident(pid="self", name="VmRSS:"):
    fields = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return next(int(field[1]) for field in fields if field[0] == name)

with PageStore(Path(sys.argv[2]), workers=2) as store:
    document = Document.open(sys.argv[1], store=store)
    opened = resident()
    retriever = BM25Retriever()
    retriever.index(document)
    found = [hit.page for hit in retriever.search("the harbour of page 1234", 3)]
    index = resident() - opened
    peak = 0
    with ThreadPoolExecutor(2) as threads:
        for page, image in enumerate(threads.map(lambda page: document.image(page, dpi=72), range(1, 2001)), 1):
            if page % 50 == 0:
                workers = [worker._process.pid for worker in store._pages.idle]
                peak = max(peak, resident() + sum(map(resident, workers)))
    print(json.dumps({
        "pages": document.page_count, "found": found, "index": index, "peak": peak,
        "self": resident(name="VmHWM:"),
        "opened": store.documents_opened, "extracted": store.pages_extracted, "rendered": store.pages_rendered,
    }))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_long_document_is_small_in_memory_and_worked_through_once(tmp_path: Path) -> None:
    path, cache = tmp_path / "long.pdf", tmp_path / "cache"
    path.write_bytes(make.text_pdf(*map(page_text, range(1, PAGES + 1))))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    seen = []
    for _ in range(2):
        command = [sys.executable, "-c", USE, str(path), str(cache)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
        assert (done.returncode, done.stderr) == (0, "")
        seen.append(json.loads(done.stdout))
        print(seen[-1])
    first, second = seen
    assert (first["pages"], first["opened"], first["extracted"], first["rendered"]) == (
        PAGES,
        1,
        PAGES,
        PAGES,
    )
    assert (second["opened"], second["extracted"], second["rendered"]) == (0, 0, 0)
    assert first["found"][0] == second["found"][0] == 1234
    for use in seen:
        assert use["peak"] - use["index"] < ALLOWED_MB * 1024


def page_text(page: int) -> str:
    """A page of prose."""
    rng = random.Random(page)
    vocabulary = [
        "harbour",
        "ferry",
        "captain",
        "island",
        "market",
        "bridge",
        "winter",
        "report",
        "engine",
        "tide",
    ]
    lines = (" ".join(rng.choices(vocabulary, k=9)) for _ in range(LINES))
    return "\n".join([f"Page {page} of the log", *lines, f"entry {page * 7919 % 100_003}"])
