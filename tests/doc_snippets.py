"""What the documentation shows, block by block, and running it in a folder of its own.

A page's blocks run in order, in one folder and one namespace:

* ```` ```python ```` runs; with `title="NAME"` (or a first line `# NAME.py`) it is also written to that file.
  After an expression, `# -> VALUE` at the end of its line, or as the comment below it, is what its `repr` must be.
* Any other block with `title="NAME"` is written to that file.
* ```` ```console ````: each line `$ looseleaf …` runs as the command, `$ python …` as a process. Other lines are
  output. After `<!-- output checked -->` each of them must come out in that order; `…` stands for lines left out.
* `<!-- exit 1 -->` before a console block: its last command ends with that status.
* `<!-- not run: reason -->` before a block exempts it.
"""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conftest import Cli

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w.+-]*)(?P<rest>.*)$")
MARKER = re.compile(r"<!--\s*(?P<name>not run|output checked|exit)\b:?\s*(?P<value>.*?)\s*-->")
TITLE = re.compile(r'title="(?P<name>[^"]+)"')
VALUE = re.compile(r"  # -> (?P<value>.*)$")
VALUE_LINE = "# -> "
VALUE_GOES_ON = "#    "
FILE_LINE = re.compile(r"# (?P<name>[\w./-]+\.py)")
RUN_LANGUAGES = frozenset({"python", "console"})


class Block(NamedTuple):
    """One fenced block.

    Attributes:
        page: path of the page below the repository.
        line: 1-based line of the opening fence.
        language: as written behind the fence.
        title: file that it is, or empty.
        text: what is inside.
        markers: markers in front of it, by name.
    """

    page: str
    line: int
    language: str
    title: str
    text: str
    markers: dict[str, str]

    @property
    def where(self) -> str:
        """Page and line."""
        return f"{self.page}:{self.line}"

    @property
    def exempt(self) -> str | None:
        """Why it is not run, or `None`."""
        return self.markers.get("not run")

    @property
    def runs(self) -> bool:
        """Whether running it is asked for: Python, and consoles with a command of ours."""
        return self.language == "python" or (self.language == "console" and bool(commands(self)))


class Command(NamedTuple):
    """A line after `$`, and the output that the page shows below it."""

    words: list[str]
    output: list[str]


def pages() -> list[Path]:
    """Every page whose snippets must run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order.

    Raises:
        AssertionError: a marker stands before nothing, or a fence is not closed.
    """
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    found: list[Block] = []
    markers: dict[str, str] = {}
    for number, line in lines:
        if fence := FENCE.match(line):
            inside = list(_until_fence(lines, f"{name}:{number}", len(fence["indent"])))
            title = TITLE.search(fence["rest"]) or (
                FILE_LINE.fullmatch(inside[0]) if inside and fence["language"] == "python" else None
            )
            text = "\n".join(inside) + "\n"
            found.append(
                Block(name, number, fence["language"], title["name"] if title else "", text, markers)
            )
            markers = {}
        elif marked := MARKER.fullmatch(line.strip()):
            markers = {**markers, marked["name"]: marked["value"]}
        elif line.strip():
            assert not markers, f"{name}:{number}: the marker {markers} stands before no block"
    return found


def _until_fence(lines: Iterator[tuple[int, str]], where: str, indent: int) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == "```":
            return
        yield line[indent:] if line[:indent].isspace() or not indent else line
    raise AssertionError(f"{where}: the block is not closed")


def commands(block: Block) -> list[Command]:
    """The commands of a console block that a test runs, with their shown output."""
    found: list[Command] = []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            whole = line[2:]
            while whole.endswith("\\"):
                whole = f"{whole[:-1]} {next(lines).strip().removeprefix('> ')}"
            found.append(Command(shlex.split(whole), []))
        elif found:
            found[-1].output.append(line.rstrip())
    return [command for command in found if command.words[0] in ("looseleaf", "python")]


class PageRunner:
    """Runs the blocks of one page in `folder`, which must be the current one."""

    def __init__(self, folder: Path, cli: Cli) -> None:
        self._folder = folder
        self._cli = cli
        self._names: dict[str, Any] = {"__name__": "__docs__"}

    def run(self, block: Block) -> None:
        """Write, run and check one block."""
        if block.title:
            path = self._folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            sys.modules.pop(path.stem, None)  # a later command is a new process to the reader
        if block.language == "python":
            self._run_python(block)
        elif block.language == "console":
            self._run_console(block)

    def _run_python(self, block: Block) -> None:
        lines = block.text.splitlines()
        for node in ast.parse(block.text).body:
            shown = _shown_value(lines, node.end_lineno or node.lineno)
            ast.increment_lineno(node, block.line)
            if isinstance(node, ast.Expr) and shown:
                value = eval(compile(ast.Expression(node.value), block.where, "eval"), self._names)
                assert repr(value) == shown, f"{block.where}: {ast.unparse(node)} is {value!r}"
            else:
                exec(compile(ast.Module([node], []), block.where, "exec", dont_inherit=True), self._names)

    def _run_console(self, block: Block) -> None:
        found = commands(block)
        for command in found:
            wanted = int(block.markers.get("exit", 0)) if command is found[-1] else 0
            code, out, err = self._run_command(command.words)
            assert code == wanted, (
                f"{block.where}: {shlex.join(command.words)} ended with {code}\n{out}\n{err}"
            )
            if "output checked" in block.markers:
                _check_output(block, command, out + err)

    def _run_command(self, words: list[str]) -> tuple[int, str, str]:
        if words[0] == "looseleaf":
            return self._cli(*words[1:])
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr


def _shown_value(lines: list[str], end: int) -> str:
    """The value that stands behind an expression, or in the comment below it; empty where there is none."""
    if same := VALUE.search(lines[end - 1]):
        return same["value"]
    below = lines[end:]
    if not below or not below[0].startswith(VALUE_LINE):
        return ""
    more = itertools.takewhile(lambda line: line.startswith(VALUE_GOES_ON), below[1:])
    return " ".join([below[0].removeprefix(VALUE_LINE), *(line.removeprefix(VALUE_GOES_ON) for line in more)])


def _check_output(block: Block, command: Command, printed: str) -> None:
    """Every line that is shown comes out, in order."""
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    for shown in command.output:
        plain = " ".join(shown.split())
        if plain and plain != "…":
            assert plain in lines, (
                f"{block.where}: {shlex.join(command.words)} does not print {shown!r} there:\n{printed}"
            )
