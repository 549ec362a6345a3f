"""Real documents index without error (copies of the data sets, not in the repository)."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from looseleaf.document import Document
from looseleaf.models.retrievers import retriever_maker

MMLONGBENCH = 37
"""Documents of MMLongBench-Doc in the shared folder."""
SCANS = 2
"""Documents of LongDocURL that are folders of page images."""


def documents() -> list[Path]:
    folder = os.environ.get("LOOSELEAF_DATA")
    root = Path(folder or "")
    found = sorted(root.glob("mmlongbench/documents/*.pdf"))
    scans = sorted(path for path in root.glob("longdocurl/pages/*") if path.is_dir())
    if not folder or len(found) != MMLONGBENCH or len(scans) != SCANS:
        pytest.skip("LOOSELEAF_DATA names no folder with the 37 PDFs and 2 scanned documents")
    return found + scans


@pytest.mark.parametrize(
    "spec",
    [
        "bm25",
        pytest.param(
            "dense:wordllama",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("wordllama") is None, reason="the extra [dense] is not installed"
            ),
        ),
    ],
)
def test_all_real_documents_index_and_search(spec: str) -> None:
    make = retriever_maker(spec)
    pages = 0
    for path in documents():
        document = Document.open(path)
        searching = make()
        searching.index(document)
        found = searching.search("What is the total revenue in the table?", 5)
        assert all(1 <= page.page <= document.page_count for page in found)
        assert len({page.page for page in found}) == len(found)
        assert bool(found) or not document.has_text or spec == "bm25"
        pages += document.page_count
    assert pages > 1500
