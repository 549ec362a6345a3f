"""What a rendered page costs: looseleaf's guarded, cached workers beside the bare libraries.

    python perf/render.py [--rounds 3] [--pages 200] [PDF ...]

Pages are rendered at 144 dpi and encoded as JPEG of quality 85 by

* looseleaf with one worker, and with two workers fed by two threads, into an empty cache,
* bare pypdfium2 + Pillow, each document opened once,
* PyMuPDF + Pillow, where it is installed.

Each runs in a process of its own; its cost is the user and system time of that process and its children, without the
imports. Rounds alternate and the best of each is taken, since other work on the machine only ever adds time. Without
PDFs, the first pages of the documents in $LOOSELEAF_DATA/mmlongbench are rendered.

Bounds that are checked: pages a CPU second at least 0.85 × bare pypdfium2 + Pillow; two workers cost at most 1.15 × the
CPU a page of one.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DPI = 144
QUALITY = 85
PAGES_A_DOCUMENT = 8
MIN_SHARE = 0.85
MAX_SECOND_WORKER = 1.15
Job = tuple[str, int]
"""A file and the number of its first pages that are rendered."""


def jobs(files: list[Path], pages: int) -> list[Job]:
    """What is rendered: the first pages of each file, `pages` in all."""
    import pypdfium2

    chosen: list[Job] = []
    for file in files:
        wanted = min(PAGES_A_DOCUMENT, pages - sum(count for _, count in chosen))
        if wanted > 0:
            with pypdfium2.PdfDocument(file) as document:
                chosen.append((str(file), min(wanted, len(document))))
    return chosen


def looseleaf(workers: int) -> Callable[[list[Job]], Iterator[int]]:
    """Render through a page store with this many workers."""
    from looseleaf.document import Document, PageStore

    def render(work: list[Job]) -> Iterator[int]:
        with tempfile.TemporaryDirectory() as cache, PageStore(Path(cache), workers=workers) as store:
            documents = [(Document.open(file, store=store), count) for file, count in work]
            yield 0  # reading the text is not rendering
            pages = [(document, page) for document, count in documents for page in range(1, count + 1)]
            with ThreadPoolExecutor(workers) as threads:
                yield from threads.map(lambda job: len(job[0].image(job[1], dpi=DPI).jpeg), pages)

    return render


def bare_pypdfium2(work: list[Job]) -> Iterator[int]:
    """Render with pypdfium2 alone."""
    import pypdfium2

    yield 0
    for file, count in work:
        document = pypdfium2.PdfDocument(file)
        document.init_forms()
        for index in range(count):
            page = document[index]
            yield encoded(page.render(scale=DPI / 72, rev_byteorder=True).to_pil())
            page.close()
        document.close()


def pymupdf(work: list[Job]) -> Iterator[int]:
    """Render with PyMuPDF."""
    import pymupdf as mupdf
    from PIL import Image

    yield 0
    for file, count in work:
        with mupdf.open(file) as document:
            for index in range(count):
                pixels = document[index].get_pixmap(dpi=DPI, alpha=False)
                yield encoded(Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples))


def encoded(image: object) -> int:
    """Size of a Pillow image as JPEG."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY)  # type: ignore[attr-defined]
    return buffer.tell()


CONTENDERS: dict[str, Callable[[], Callable[[list[Job]], Iterator[int]]]] = {
    "looseleaf, 1 worker": lambda: looseleaf(1),
    "looseleaf, 2 workers": lambda: looseleaf(2),
    "pypdfium2 + Pillow": lambda: bare_pypdfium2,
    "PyMuPDF + Pillow": lambda: pymupdf,
}


def cpu_seconds() -> float:
    """Of this process and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def measure(name: str, work: list[Job]) -> None:
    """Render as one contender, and print its CPU seconds, pages and bytes."""
    rendering = CONTENDERS[name]()(work)
    live = next(rendering)
    before = cpu_seconds() + workers_so_far()
    sizes = list(rendering)
    print(cpu_seconds() - before, len(sizes), live + sum(sizes))


def workers_so_far() -> float:
    """CPU seconds that children which still run have used: they are counted whole when they end."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def run(name: str, arguments: list[str]) -> tuple[float, int, int]:
    """One contender in a process of its own."""
    command = [sys.executable, __file__, "--measure", name, *arguments]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(out[0]), int(out[1]), int(out[2])


def main() -> int:
    """Print a line a contender and check the bounds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--measure", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("pdf", nargs="*", type=Path)
    given = parser.parse_args()
    data = Path(os.environ.get("LOOSELEAF_DATA", "."), "mmlongbench", "documents")
    files = given.pdf or sorted(data.glob("*.pdf"))
    if not files:
        parser.error("there are no PDFs; name some, or set LOOSELEAF_DATA")
    work = jobs(files, given.pages)
    if given.measure:
        measure(given.measure, work)
        return 0
    names = [name for name in CONTENDERS if "PyMuPDF" not in name or importlib.util.find_spec("pymupdf")]
    arguments = ["--pages", str(given.pages), *map(str, files)]
    best = {name: (float("inf"), 0, 0) for name in names}
    for _ in range(given.rounds):
        for name in names:
            best[name] = min(best[name], run(name, arguments))
    for name, (seconds, pages, size) in best.items():
        print(
            f"{name:22} {pages / seconds:6.1f} pages a CPU-s, {size / pages / 1000:6.1f} kB a page, {pages} pages"
        )
    rate = {name: pages / seconds for name, (seconds, pages, _) in best.items()}
    share = rate["looseleaf, 1 worker"] / rate["pypdfium2 + Pillow"]
    second = rate["looseleaf, 1 worker"] / rate["looseleaf, 2 workers"]
    print(f"share of bare pypdfium2 + Pillow: {share:.3f} (at least {MIN_SHARE})")
    print(f"CPU a page of two workers: {second:.3f} × one (at most {MAX_SECOND_WORKER})")
    return 0 if share >= MIN_SHARE and second <= MAX_SECOND_WORKER else 1


if __name__ == "__main__":
    sys.exit(main())
