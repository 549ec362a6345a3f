"""Text that OCR has read: which engine is there, and how its lines become the text of a page."""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from ..errors import ConfigError
from .chart_values import chart_rows
from .facts import OcrLine, OcrPage, OcrWord, PageFacts
from .limits import Limits
from .reading_order import reading_order
from .rows import DIVIDED, Word, lay_out

__all__ = ["MIN_TEXT_CHARACTERS", "OCR_LIMITS", "has_text_layer", "ocr_engine", "require_ocr", "with_ocr"]

MIN_TEXT_CHARACTERS = 20
"""Characters from which a page counts as having a text layer; 23 % of real benchmark pages have fewer."""

OCR_LIMITS = Limits(wall_seconds=600.0, cpu_seconds=120, memory_bytes=4 << 30)
"""What OCR of one page may cost. Slides took 1 to 2 s of processor time, a full page of print 9 s."""

_PACKAGES = ("rapidocr", "onnxruntime")

_FONT_SHARE = 0.8
"""Font height in the height of a line's box, which has a margin around the ink."""

_DOTS = re.compile(r"[.…·]+")
_LEADER = re.compile(r"(?<=[^.…])(?:\.{2}|\.{4,}|…+)$")
"""Two dots or more than three at the end of a line; three end a sentence that breaks off."""

_LEADER_TO_CELL = re.compile(r"(?<=[^.…])[.…]+$")
"""Any number of dots at the end of a cell that others follow."""

_HYPHENATED = re.compile(r"[^\W\d_]{2}-$")


@functools.cache
def ocr_engine() -> str | None:
    """Name and version of the OCR engine, e.g. `"rapidocr 3.10.0, onnxruntime 1.32.0"`; `None` without one."""
    try:
        return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    except importlib.metadata.PackageNotFoundError:
        return None


def require_ocr() -> str:
    """The same, where OCR was asked for.

    Raises:
        ConfigError: it is not installed.
    """
    engine = ocr_engine()
    if engine is None:
        raise ConfigError('OCR was asked for and is not installed; run pip install "looseleaf[ocr]".')
    return engine


def has_text_layer(page: PageFacts) -> bool:
    """Whether a page has a text layer that is worth the name."""
    return len(page.text.strip()) >= MIN_TEXT_CHARACTERS


def with_ocr(page: PageFacts, read: OcrPage) -> PageFacts:
    """A page with what OCR has read on it: behind its text layer, or in place of one that is next to empty."""
    placed = ([_word(word, line, page.height) for word in line.words] for line in read.lines)
    text = "\n".join([lay_out(_lines(read.lines, page.height)), *chart_rows(placed)]).strip()
    layered = has_text_layer(page)
    if not text:
        lost = read.problem and not layered and not page.problem
        return PageFacts(page.text, page.width, page.height, read.problem, read.passing) if lost else page
    whole = f"{page.text}\n{text}" if layered else text
    return PageFacts(whole, page.width, page.height, ocr=True)


def _lines(lines: Iterable[OcrLine], page_height: float) -> Iterator[list[Word]]:
    """Lines in the order of reading, with a mark where a word goes on in the next line."""
    ordered = reading_order(list(lines))
    for row, following in zip_longest(ordered, ordered[1:]):
        words = [
            _word(word, line, page_height)
            for number, line in enumerate(row, start=1)
            for word in _without_leader(line, _LEADER if number == len(row) else _LEADER_TO_CELL)
        ]
        if not words:
            continue
        last = words[-1].text
        goes_on = following is not None and following[0].words[0].text[:1].islower()
        if goes_on and _HYPHENATED.search(last):
            words[-1] = words[-1]._replace(text=last[:-1] + DIVIDED)
        yield words


def _without_leader(line: OcrLine, leader: re.Pattern[str]) -> Iterator[OcrWord]:
    """The words of a line without the dots that lead from it to its numbers, of which OCR sees some."""
    words = list(line.words)
    while words and _DOTS.fullmatch(words[-1].text):
        words.pop()
    for index, word in enumerate(words, start=1):
        text = leader.sub("", word.text) if index == len(words) else word.text
        yield word if text == word.text else OcrWord(text, word.start, word.end)


def _word(word: OcrWord, line: OcrLine, page_height: float) -> Word:
    """A word as the row layout takes them: places grow along the line and up from the page's lower edge."""
    if line.turn == 0:
        height = _FONT_SHARE * (line.bottom - line.top)
        base = page_height - (line.top + line.bottom + height) / 2
        return Word(word.text, word.start, word.end, base, height)
    height = _FONT_SHARE * (line.right - line.left)
    middle = (line.left + line.right) / 2
    if line.turn > 0:
        return Word(
            word.text, page_height - word.start, page_height - word.end, -middle - height / 2, height, 1
        )
    return Word(word.text, word.start - page_height, word.end - page_height, middle - height / 2, height, -1)
