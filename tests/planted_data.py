"""Small data folders made by code, for the tests of benchmarks."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from reportlab.pdfgen.canvas import Canvas

PAGES = (
    "Harbour survey of the northern coast, an overview for visitors.",
    "The lighthouse keeper repaired forty-two lanterns during winter.",
    "Fishing vessels unloaded 318 barrels of herring at the pier.",
)
"""Texts of a small document; page 2 answers 42, page 3 answers 318."""


def write_pdf(path: Path, texts: Sequence[str] = PAGES, first_label: int | None = None) -> Path:
    """A PDF with one page for each text; with `first_label`, page 1 carries that printed label and so on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1)
    for number, text in enumerate(texts):
        if first_label is not None:
            canvas.addPageLabel(number, start=first_label + number, style="ARABIC")
        for row, line in enumerate(text.splitlines()):
            canvas.drawString(72, 720 - 16 * row, line)
        canvas.showPage()
    canvas.save()
    path.write_bytes(buffer.getvalue())
    return path


def write_page_images(folder: Path, name: str, count: int, first: int = 0) -> Path:
    """A folder of page images `<name>_<number>.png`, numbered from `first`."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        image = Image.new("RGB", (120, 160), "white")
        ImageDraw.Draw(image).text(
            (10, 10 + 8 * (number - first)), f"page {number - first + 1}", fill="black"
        )
        image.save(folder / f"{name}_{number}.png")
    return folder


def mmlb_row(**fields: Any) -> dict[str, Any]:
    """A sound row in MMLongBench-Doc's shape."""
    row = {
        "doc_id": "harbour.pdf",
        "doc_type": "Guidebook",
        "question": "How many lanterns did the lighthouse keeper repair?",
        "answer": "42",
        "evidence_pages": "[2]",
        "evidence_sources": "['Pure-text (Plain-text)']",
        "answer_format": "Int",
    }
    return {**row, **fields}


def unanswerable_row(**fields: Any) -> dict[str, Any]:
    """A sound unanswerable row in MMLongBench-Doc's shape."""
    row = {
        "question": "Who painted the pier?",
        "answer": "Not answerable",
        "answer_format": "None",
        "evidence_pages": "[]",
        "evidence_sources": "[]",
    }
    return mmlb_row(**{**row, **fields})


def write_mmlb(
    folder: Path, rows: Iterable[Mapping[str, Any]], documents: Mapping[str, Sequence[str]] | None = None
) -> Path:
    """A data folder in MMLongBench-Doc's layout."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "samples.json").write_text(json.dumps(list(rows)), encoding="utf-8")
    for name, texts in (documents if documents is not None else {"harbour.pdf": PAGES}).items():
        write_pdf(folder / "documents" / name, texts)
    return folder


def longdocurl_row(**fields: Any) -> dict[str, Any]:
    """A row in LongDocURL's official shape, on the pages 42–71 of document 4000001."""
    row = {
        "question_id": "free_gpt4o_4000001_42_71_8",
        "doc_no": "4000001",
        "total_pages": 84,
        "start_end_idx": [42, 71],
        "question_type": "calculate",
        "question": "How many criteria are there?",
        "answer": 5,
        "detailed_evidences": "listed",
        "evidence_pages": [54],
        "evidence_sources": ["Table"],
        "answer_format": "Integer",
        "task_tag": "Reasoning",
        "images": [f"/data/pngs/4000/4000001_{number}.png" for number in range(41, 71)],
        "pdf_path": "/data/ccpdf/4000001.pdf",
    }
    return {**row, **fields}


def molorag_row(**fields: Any) -> dict[str, Any]:
    """A row in the third-party shape of LongDocURL."""
    row = {
        "id": "free_gpt4o_4000001_60_70_12",
        "doc_id": "4000001.pdf",
        "question": "How many criteria are there?",
        "answer": "5",
        "evidence_pages": "[67]",
        "evidence_sources": "['Layout']",
        "answer_format": "Int",
        "detailed_evidences": "",
        "task_type": "Understanding",
    }
    return {**row, **fields}


def dude_row(**fields: Any) -> dict[str, Any]:
    """A row in DUDE's public ground-truth format; its page is 0-based."""
    row = {
        "questionId": "aa_01",
        "question": "What year is it?",
        "answers": ["1894"],
        "answers_page_bounding_boxes": [[{"left": 1, "top": 2, "width": 3, "height": 4, "page": 1}]],
        "answers_variants": ["in 1894"],
        "answer_type": "extractive",
        "docId": "aa",
        "data_split": "val",
    }
    return {**row, **fields}


def write_json(path: Path, value: Any) -> Path:
    """`value` as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_jsonl(path: Path, rows: Iterable[Any]) -> Path:
    """One JSON value a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
