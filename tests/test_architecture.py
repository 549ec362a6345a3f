"""The shape of the package: imports go down, the core is light, every public name is meant."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import looseleaf

RANKS = {
    0: "errors",
    1: "document memory question roles score protocol",
    2: "retrieval trajectory statistics",
    3: "environment scoring runstore",
    4: "metrics reward benchmarks procedural demo_data schemas",
    5: "models",
    6: "agent lab",
    7: "runner",
    8: "training adapters",
    9: "report viewer",
    10: "cli",
    11: "__main__",
}
RANK = {room: rank for rank, rooms in RANKS.items() for room in rooms.split()}
ROOT = Path(looseleaf.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")

HEAVY = [
    "openai",
    "bm25s",
    "Stemmer",
    "torch",
    "transformers",
    "trl",
    "vllm",
    "verl",
    "ray",
    "inspect_ai",
    "datasets",
    "matplotlib",
    "scipy",
    "pypdfium2",
    "PIL",
    "rapidocr",
    "onnxruntime",
    "typer",
    "rich",
    "reportlab",
    "qdrant_client",
    "httpx",
    "pydantic",
]


def imports_of(source: str, package: str) -> Iterator[str]:
    """Rooms of looseleaf that a file imports at run time; `if TYPE_CHECKING:` blocks do not run."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            whole = ".".join([*base, *filter(None, [node.module])])
            modules = [f"{whole}.{alias.name}" for alias in node.names] if whole == "looseleaf" else [whole]
        yield from (name.split(".")[1] for name in modules if name.startswith("looseleaf."))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_strictly_down(path: Path) -> None:
    room = room_of(path)
    package = ".".join(["looseleaf", *path.relative_to(ROOT).parent.parts])
    targets = set(imports_of(path.read_text(encoding="utf-8"), package)) - {room, "__version__"}
    wrong = {target for target in targets if RANK[target] >= RANK[room]}
    assert not wrong, f"{room} (rank {RANK[room]}) imports {wrong}"


def test_the_rank_test_sees_relative_lazy_and_plain_imports() -> None:
    """The rank test would be worth nothing if it could not see an import that goes up."""
    source = """
from ..cli import app
from .page import Page
import looseleaf.runner.execute
from looseleaf import report
def f():
    from looseleaf.metrics import METRICS
if TYPE_CHECKING:
    from looseleaf.viewer import page
else:
    from looseleaf.lab import table
"""
    found = set(imports_of(source, "looseleaf.document"))
    assert found == {"cli", "document", "runner", "report", "metrics", "lab"}


def blocked(*statements: str) -> subprocess.CompletedProcess[str]:
    """Run statements in a fresh interpreter in which heavy libraries cannot be imported."""
    script = "\n".join(
        [
            "import sys",
            f"heavy = {HEAVY!r}",
            "class Block:",
            "    def find_spec(self, name, path=None, target=None):",
            "        if name.split('.')[0] in heavy: raise ModuleNotFoundError(f'blocked: {name}')",
            "sys.meta_path.insert(0, Block())",
            *statements,
        ]
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60
    )


def test_the_public_names_import_with_every_heavy_library_blocked() -> None:
    done = blocked(
        "import looseleaf",
        "from looseleaf import Document, Environment, Finding, Protocol, Question, Trajectory, WorkingMemory",
        "print(*sorted(set(heavy) & {name.split('.')[0] for name in sys.modules}))",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


def test_scripted_trajectories_run_with_every_heavy_library_blocked() -> None:
    """Environment, scripted policy and metrics need numpy and msgspec only: what training code imports stays light."""
    done = blocked(
        "import looseleaf.environment, looseleaf.models.scripted, looseleaf.metrics, looseleaf.agent"
    )
    assert done.returncode == 0, done.stderr


def modules() -> list[str]:
    """Every public module: no part of its name starts with an underscore."""
    found = [info.name for info in pkgutil.walk_packages([str(ROOT)], "looseleaf.")]
    return [
        "looseleaf",
        *(name for name in found if not any(part.startswith("_") for part in name.split("."))),
    ]


@pytest.mark.parametrize("name", modules())
def test_every_public_module_says_what_is_public(name: str) -> None:
    path = ROOT.parent.joinpath(*name.split("."))
    tree = ast.parse(
        (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    )
    assert ast.get_docstring(tree), f"{name} has no docstring"
    if path.is_dir() and len(tree.body) == 1:
        return  # a package that is only a docstring exports nothing
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", None)
    assert exported is not None, f"{name} has no __all__"
    missing = [public for public in exported if not hasattr(module, public)]
    assert not missing, f"{name}.__all__ names {missing}, which do not exist"
    assert list(exported) == sorted(exported, key=_isort_order), f"{name}.__all__ is not sorted"


def _isort_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: how the linter sorts `__all__` (RUF022)."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)
