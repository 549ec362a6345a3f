"""The demo documents that the package ships."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pypdfium2 as pdfium
import pytest

import looseleaf
from looseleaf.benchmarks import load_benchmark
from looseleaf.scoring import mmlongbench

DEMO = Path(looseleaf.__file__).parent / "demo_data"
SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "make_demo_documents.py"
LARGEST_DEMO = 1_500_000


def texts(path: Path) -> list[str]:
    return [page.get_textpage().get_text_range() for page in pdfium.PdfDocument(path)]


def test_the_demo_set_is_small_and_covers_what_a_demo_needs() -> None:
    rows = json.loads((DEMO / "samples.json").read_text(encoding="utf-8"))
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < LARGEST_DEMO
    assert {row["doc_id"] for row in rows} == {path.name for path in (DEMO / "documents").glob("*.pdf")}
    assert {row["answer_format"] for row in rows} == {"Int", "Str", "Float", "List", "None"}
    assert sum(row["answer"] == "Not answerable" for row in rows) >= 3
    assert any(len(ast.literal_eval(row["evidence_pages"])) > 1 for row in rows)
    for row in rows:
        assert mmlongbench.score(row["answer"], row["answer"], row["answer_format"]).value == 1.0
        pages = len(texts(DEMO / "documents" / row["doc_id"]))
        assert all(1 <= page <= pages for page in ast.literal_eval(row["evidence_pages"]))
        assert 4 <= pages <= 10


def test_the_demo_set_loads_as_mmlongbench_doc() -> None:
    assert len(load_benchmark("mmlongbench-doc", DEMO).questions) >= 12


@pytest.fixture
def script() -> ModuleType:
    pytest.importorskip("reportlab", reason="the demo documents are written with reportlab")
    spec = importlib.util.spec_from_file_location("make_demo_documents", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_makes_what_is_shipped(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words and questions are compared, since other versions of reportlab write other bytes."""
    monkeypatch.setattr(script, "OUT", tmp_path)
    script.main()
    for path in sorted((tmp_path / "documents").iterdir()):
        assert texts(path) == texts(DEMO / "documents" / path.name)
    assert (tmp_path / "samples.json").read_bytes() == (DEMO / "samples.json").read_bytes()


def test_the_script_refuses_evidence_that_is_not_on_its_page(script: ModuleType, tmp_path: Path) -> None:
    demo = script.DEMOS[0]
    wrong = script.Demo(
        demo.name, demo.doc_type, demo.title, demo.story, (script.Row("q?", "a", "Str", {1: "no such text"}),)
    )
    script.write(wrong, tmp_path)
    with pytest.raises(SystemExit, match="is not on page 1"):
        script.check(wrong, tmp_path)
