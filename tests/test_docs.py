"""The documentation: its snippets run, its reference is fresh, and the site builds and asks nothing of the network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from conftest import Cli
from doc_snippets import ROOT, RUN_LANGUAGES, Block, PageRunner, blocks_of, pages
from looseleaf.cli.app import app
from looseleaf.metrics import METRICS
from test_architecture import RANKS

PAGES = [page for page in pages() if any(block.runs for block in blocks_of(page))]
WIDTH = "110"
"""Columns of the terminal that outputs in the documentation were made with."""
SITE_MODULES = ("mkdocs", "material", "mkdocstrings")


@pytest.fixture
def page_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the snippets of one page, as the current one; what they import is forgotten afterwards."""
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "src").symlink_to(ROOT / "src")  # the README's commands start in a checkout
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    before, catalogue = set(sys.modules), dict(METRICS)
    yield folder
    METRICS.clear()  # a page adds a metric of its own
    METRICS.update(catalogue)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_of_a_page_run_in_order(page: Path, page_folder: Path, cli: Cli) -> None:
    runner = PageRunner(page_folder, cli)
    for block in blocks_of(page):
        if block.exempt is None:
            runner.run(block)


def test_what_is_not_run_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    every = [block for page in pages() for block in blocks_of(page) if block.language in RUN_LANGUAGES]
    exempt = [block for block in every if block.exempt is not None]
    with capsys.disabled():
        print(f"\n{sum(block.runs for block in every) - len(exempt)} snippets run, {len(exempt)} do not:")
        for block in exempt:
            print(f"  {block.where}: {block.exempt}")
    assert all(block.exempt for block in exempt), "a marker gives no reason"
    assert len(exempt) < len(every) / 3


def test_a_snippet_that_does_not_run_would_be_found(page_folder: Path, cli: Cli) -> None:
    """The test of snippets would be worth nothing if it passed over broken ones."""
    runner = PageRunner(page_folder, cli)

    def block(language: str, text: str, **markers: str) -> Block:
        return Block("page.md", 1, language, "", text, markers)

    with pytest.raises(NameError):
        runner.run(block("python", "missing()\n"))
    runner.run(block("python", "1 + 1  # -> 2\n"))
    with pytest.raises(AssertionError, match="is 2"):
        runner.run(block("python", "x = 1\nx + 1  # -> 3\n"))
    runner.run(block("python", "[1, 2]\n# -> [1,\n#    2]\n"))
    with pytest.raises(AssertionError, match="is 2"):
        runner.run(block("python", "x + 1\n# -> 3\n"))
    with pytest.raises(AssertionError, match="ended with 2"):
        runner.run(block("console", "$ looseleaf score nowhere\n"))
    shown = {"output checked": ""}
    runner.run(block("console", "$ looseleaf --version\nlooseleaf 0.1.0\n", **shown))
    with pytest.raises(AssertionError, match="does not print"):
        runner.run(block("console", "$ looseleaf --version\nlooseleaf 9\n", **shown))


def test_blocks_are_read_with_their_markers_and_files(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- not run: slow -->\n\n```python\n# a.py\nx = 1\n```\n\ntext\n\n"
        '- item\n\n  ```json title="q.jsonl"\n  {}\n  ```\n\n'
        "```console\n$ looseleaf a \\\n    b 'c d'\nout\n$ other\n```\n",
        encoding="utf-8",
    )
    first, second, third = blocks_of(page)
    assert (first.title, first.exempt, first.text) == ("a.py", "slow", "# a.py\nx = 1\n")
    assert (second.title, second.exempt, second.text) == ("q.jsonl", None, "{}\n")
    assert third.runs
    page.write_text("<!-- not run: slow -->\n\ntext\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="before no block"):
        blocks_of(page)


def test_every_verb_is_a_function_that_is_documented() -> None:
    """The table of `docs/library.md` has every verb of the command line, and nothing else."""
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    table = set(re.findall(r"^\| `([a-z ]+)` \|", text, re.MULTILINE))
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    verbs = {str(command.name) for command in app.registered_commands}
    for name, group in groups.items():
        assert group is not None
        inside = {f"{name} {command.name}" for command in group.registered_commands}
        verbs |= {str(name)} if name in table else inside  # a group may stand in one row
    assert table == verbs


# -- the reference of the command line -------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["40", "200"])
def test_the_command_line_reference_is_fresh(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    script = ROOT / "scripts" / "make_cli_reference.py"
    spec = importlib.util.spec_from_file_location("make_cli_reference", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "make_cli_reference", module)
    spec.loader.exec_module(module)
    stored = module.OUT.read_text(encoding="utf-8")
    assert stored == module.reference(), (
        f"{module.OUT.name} is stale; run python scripts/make_cli_reference.py"
    )


def test_the_table_of_rooms_is_the_one_that_is_tested() -> None:
    """CONTRIBUTING says the ranks that `test_architecture` holds."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = {
        int(rank): {room.strip("` /") for room in rooms.split(",")}
        for rank, rooms in re.findall(r"^\| (\d+) \| (.+) \|$", text, re.MULTILINE)
    }
    assert table == {rank: set(rooms.split()) for rank, rooms in RANKS.items() if rooms != "__main__"}


# -- the site --------------------------------------------------------------------------------------------------------

needs_mkdocs = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in SITE_MODULES),
    reason="mkdocs-material and mkdocstrings are not installed (pip install --group docs)",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning fails."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr.strip(), done.stderr
    return folder


class Requests(HTMLParser):
    """Addresses that a browser asks by itself when it shows a page: everything but links that one follows."""

    LOADS = {  # noqa: RUF012
        "script": "src",
        "link": "href",
        "img": "src",
        "iframe": "src",
        "source": "src",
        "audio": "src",
        "video": "src",
        "embed": "src",
        "object": "data",
    }

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in self.LOADS and given.get("rel") not in ("prev", "next", "canonical"):
            self.found.append(given.get(self.LOADS[tag]) or "")
        if given.get("data-md-component") == "source":
            self.found.append("https://api.github.com/ (facts about a repository)")
        if "mermaid" in (given.get("class") or "").split():
            self.found.append("https://unpkg.com/ (mermaid)")


@needs_mkdocs
def test_the_site_asks_nothing_of_the_network(site: Path) -> None:
    asked: dict[str, list[str]] = {}
    html = sorted(site.rglob("*.html"))
    for page in html:
        parser = Requests()
        parser.feed(page.read_text(encoding="utf-8"))
        asked[page.name] = [address for address in parser.found if re.match(r"(https?:)?//", address)]
    for sheet in site.rglob("*.css"):
        asked[sheet.name] = re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text("utf-8"))
    assert len(html) > len(pages()) / 2
    assert {name: found for name, found in asked.items() if found} == {}


@needs_mkdocs
def test_the_site_has_every_page_and_a_search_index(site: Path) -> None:
    built = {page.relative_to(site).with_suffix(".md").as_posix() for page in site.rglob("*.html")}
    written = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert written <= built
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "memory-only answerability" in index


@needs_mkdocs
def test_every_page_can_be_reached_from_the_navigation(site: Path) -> None:
    """A page that nobody can find is not documentation."""
    start = (site / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'href="([\w./-]+\.html)"', start)) | {"index.html"}
    built = {page.relative_to(site).as_posix() for page in site.rglob("*.html")} - {"404.html"}
    assert built <= linked
