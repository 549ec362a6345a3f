"""Training questions in the shape of Doc-750K (Docopilot, arXiv 2507.14675).

One JSON object a line (OpenGVLab/Docopilot@main, `internvl/train/internvl_chat_finetune.py`): `image` or `images`, the
paths of the page images below the data folder, and `conversations`, turns of `human` and `gpt`. Each pair of turns is
one question; its document is the folder that holds the images. A row whose images lie in several folders is text with
figures rather than pages, and is left out with a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from looseleaf.benchmarks.benchmark import Benchmark, Conversion, Request
from looseleaf.benchmarks.rows import Row
from looseleaf.question import Question

__all__ = ["BENCHMARK"]

_NAME = "doc-750k"
_SPLIT = "train"

_IMAGE_MARK = re.compile(r"(?:(?:Image|Page)[ -]?\d+:[ \t]*)?<image>\s*", re.IGNORECASE)
"""Where InternVL's conversations put an image: `<image>`, often with a running number before it."""


def _convert(request: Request) -> Conversion:
    found: list[tuple[Row, str, str, str]] = []
    left_out = 0
    for row in request.annotation.rows:
        folder = _folder(row)
        if folder is None:
            left_out += 1
            continue
        found.extend((row, folder, question, answer) for question, answer in _pairs(row))
    note = f"{left_out} rows whose images are not the pages of one document were left out."
    return Conversion(
        questions=tuple(_question(index, *item) for index, item in enumerate(found)),
        places=tuple(row.where for row, *_ in found),
        version=f"Doc-750K shape ({len(request.annotation.rows)} rows)",
        split=_SPLIT,
        notes=(note,) if left_out else (),
    )


def _question(index: int, row: Row, folder: str, question: str, answer: str) -> Question:
    return Question(
        question_id=f"{_NAME}:{index}",
        native_id=str(row.fields.get("id", row.index)),
        benchmark=_NAME,
        split=_SPLIT,
        doc_id=folder,
        question=question,
        references=(answer,),
        answer_format="Str",
    )


def _folder(row: Row) -> str | None:
    value = row.require("image", "images")
    images = [value] if isinstance(value, str) else value
    if not isinstance(images, list) or not all(isinstance(item, str) for item in images):
        row.fail('"image" must be the path of a page image, or a list of paths.')
    folders = {PurePosixPath(item).parent.as_posix() for item in images}
    return folders.pop() if len(folders) == 1 and folders != {"."} else None


def _pairs(row: Row) -> Iterator[tuple[str, str]]:
    turns = row.require("conversations")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        row.fail('"conversations" must be a list of turns.')
    spoken = [turn for turn in turns if turn.get("from") != "system"]
    if len(spoken) % 2 or not spoken:
        row.fail('"conversations" must alternate between "human" and "gpt".')
    for asked, said in zip(spoken[::2], spoken[1::2], strict=True):
        yield _spoken(row, asked, "human"), _spoken(row, said, "gpt")


def _spoken(row: Row, turn: dict[str, Any], speaker: str) -> str:
    value = turn.get("value")
    if turn.get("from") != speaker or not isinstance(value, str):
        row.fail(f'"conversations" must alternate; expected text from "{speaker}".')
    text = _IMAGE_MARK.sub("", value).strip()
    if not text:
        row.fail(f'a turn of "{speaker}" is empty.')
    return text


BENCHMARK = Benchmark(
    name=_NAME,
    title="Doc-750K",
    origin="OpenGVLab/Doc-750K (MIT), OpenGVLab/Docopilot, arXiv 2507.14675",
    patterns=("*.jsonl",),
    convert=_convert,
    folders=("",),
)
"""Training questions; not an evaluation set, and without evidence pages."""
