"""Make the screenshots of the documentation: the demo's runs in the viewer, and its report, in headless Chromium.

    python scripts/make_screenshots.py [FOLDER]

Needs Debian's `chromium` and the packages `playwright`, `starlette` and `uvicorn`; downloads nothing.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from looseleaf.runstore import Run
from looseleaf.viewer.app import make_app
from looseleaf.viewer.serve import HOST, listen, make_server

FOLDER = Path(__file__).parent.parent / "docs" / "images"
SIZE = {"width": 1280, "height": 800}
COLOURS = 128
"""Colours of the saved files: screenshots of text need no more, and take a third of the bytes."""
SETTLE = 800
"""Milliseconds for the last page image to be drawn."""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
NOTES, OTHER = "specific", "generic"
QUESTION = "procedural:4"
"""A question whose answer needs two pages."""


def main() -> None:
    """Run the demo, look at it, save what is seen."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        demo = Path(scratch) / "demo"
        _looseleaf("demo", "--out", demo)
        _looseleaf("lab", demo / NOTES)
        _looseleaf("report", demo / NOTES)
        _looseleaf("audit", "sample", demo / NOTES, "-n", 20)
        audit = next((demo / NOTES / "audit").glob("*.jsonl")).stem
        with _served([demo / NOTES, demo / OTHER]) as address, _browser() as page:
            places = {
                "viewer-list": f"#/{OTHER}?sort=cell.down",
                "viewer-trajectory": f"#/{NOTES}/{QUESTION}/1",
                "viewer-two-runs": f"#/{OTHER}/{QUESTION}?with={NOTES}",
                "viewer-audit": f"#/{NOTES}/~audit/{audit}/5",
            }
            for name, place in places.items():
                page.goto("about:blank")
                page.goto(f"{address}/{place}")
                page.wait_for_selector("main[data-ready]")
                _save(page, folder / f"{name}.png")
            page.goto("about:blank")
            page.goto(f"{address}/#/{NOTES}/{QUESTION}")
            page.locator(".finding .linkish").first.click()
            page.wait_for_selector(".sheet[data-marked]")
            _save(page, folder / "viewer-page.png")
            page.goto((demo / NOTES / "report" / "report.html").as_uri())
            _save(page, folder / "report.png")


def _looseleaf(*arguments: object) -> None:
    command = [sys.executable, "-m", "looseleaf", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


@contextmanager
def _served(folders: list[Path]) -> Iterator[str]:
    server = make_server(make_app([Run.open(folder) for folder in folders]))
    listening = listen(0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://{HOST}:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


@contextmanager
def _browser() -> Iterator[Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed; use `apt-get install chromium`.")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield opened.new_page(viewport=SIZE)
        opened.close()


def _save(page: Any, path: Path) -> None:
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(SETTLE)
    seen = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    seen.quantize(COLOURS).save(path, optimize=True)
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
