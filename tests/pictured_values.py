"""Values that a generated document shows in scans and pictures only, read by OCR from their boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import procedural_checker as checker

__all__ = ["read_pictured"]

SCALE = 5
RIM = 2.5
"""Points around a box that are cut out with it."""
LIKE = str.maketrans({"O": "0", "o": "0", "l": "1", "I": "1", "S": "5", **dict.fromkeys(" .,-:;")})
"""Letters that OCR confuses with digits, and signs that it loses."""


def read_pictured(folders: Sequence[Path]) -> tuple[int, int, list[str]]:
    """How many values OCR reads, of how many, and what it read instead of the others."""
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "error"})
    read, wrong = 0, []
    for where, shown, image in _crops(folders):
        found = engine(image, use_det=False, use_cls=False, use_rec=True)
        text = " ".join(found.txts or ())
        if _same(text, shown):
            read += 1
        else:
            wrong.append(f"{where}: {shown!r} read as {text!r}")
    return read, read + len(wrong), wrong


def _same(text: str, shown: str) -> bool:
    return text.translate(LIKE).lower() == shown.translate(LIKE).lower()


def _crops(folders: Sequence[Path]) -> Iterator[tuple[str, str, Any]]:
    for folder in folders:
        made = checker.read_made(folder)
        for name in made.documents:
            book = made.book(name)
            for question in made.truth["questions"]:
                if question["doc_id"] == name and set(question["sources"]) <= checker.TEXT_SOURCES:
                    yield from _crops_of(question, book)
            book.close()


def _crops_of(question: dict[str, Any], book: checker.Book) -> Iterator[tuple[str, str, Any]]:
    for slot, place in checker.evidence_of(question):
        drawn_only = "step" in slot["slot"] or slot["slot"].get("value") in ("ticked", "empty")
        if place["text_layer"] or drawn_only:
            continue
        page = book.pdf[place["page"] - 1]
        width, height = page.get_size()
        left, bottom, right, top = place["box"]
        crop = (left - RIM, bottom - RIM, width - right - RIM, height - top - RIM)
        image = page.render(scale=SCALE, crop=tuple(max(one, 0) for one in crop)).to_numpy()
        yield f"{question['template']} page {place['page']}", slot["shown"], image
