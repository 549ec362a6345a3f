"""Text of a page in lines: a line of prose stays a line, a row of a table becomes one line of cells.

pdfium gives words in the order of the content stream. That order is right for prose, also in columns, and
for tables that are drawn row by row, but it does not tell `477 and 484` from the two cells after it, and a
table or chart that is drawn column by column falls apart into loose labels and loose numbers. So:

1. A wide gap, or a dotted leader, ends a cell; the cells of a line are separated by a tab.
2. A run of short pieces down the page (a *stack*: a column of numbers, of labels, a stacked column head)
   joins rows that are already there, if it stands beside them on the same baselines.
3. Prose never joins anything, so columns of text are not interleaved.

The rules and constants are our own, chosen on financial reports, survey reports, papers, manuals and
slides. Everything here is plain Python on words with places, and knows nothing of pdfium.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

__all__ = ["CELL_SEPARATOR", "DIVIDED", "LINE_STEP", "SAME_BASE", "Word", "lay_out", "starts_cell"]

DIVIDED = "\ufffe"
"""What pdfium emits for a hyphen that divides a word at a line end; it drops the line break with it."""

CELL_SEPARATOR = "\t"
"""Between the cells of a row."""

_CELL_GAP = 1.2
"""Gap that ends a cell, in font heights; spaces of justified prose reach 1.0, table columns start at 1.2."""

_NUMBER_GAP = 0.45
"""The same between two numbers, or a number and a currency sign; an ordinary space is 0.25."""

SAME_BASE = 0.35
"""Bases that differ by less than this share of a font height are one line; lines are 1.0 and more apart."""

LINE_STEP = 0.8
"""From this difference of bases, in font heights, words are on different lines; raised marks stay below."""

_OVERLAP = 0.2
"""By how much, in font heights, neighbours in a row may overlap: fonts' boxes are wider than their ink."""

_STACK_GAP = 4.0
"""Largest step down within a stack, in font heights."""

_PARAGRAPH_STEP = 1.7
"""Largest step down within a paragraph, in font heights."""

_ALIGNED = 0.5
"""Left edges that differ by less than this, in font heights, are one margin."""

_STACK_FIT = 0.7
"""Share of a stack that must stand beside rows, or it is not a column of theirs."""

_WRAPPED = 0.4
"""Share of a stack's lines that go on in lower case from which it is wrapped text, not a column of cells."""

_PROSE_WORDS = 4
"""Words from which a line that goes on in lower case is prose."""

_SURE_PROSE_WORDS = 8
"""Words from which a line of one cell is prose in any case."""

_CELL_CHARACTERS = 22
_CELL_WORDS = 3
"""Longest text that still counts as a table cell when a stack is told from prose."""

_LOOK_BACK = 150
"""How many rows back a stack may join; bounds the work on a hostile page."""

_NUMBER = re.compile(r"[(\-–—−+~<>≈$€£¥*]*\d[\d.,]*[)%*†‡A-Za-z]{0,3}|[—–−-]|\(?[$€£¥]\(?|[%)]+|N/A|n/a")
_CURRENCY = re.compile(r"\(?[$€£¥]\(?")
_OPENING = re.compile(r"\(?[$€£¥]\(?|[•●▪■◦○‣∙►]")
_CLOSING = frozenset({"%", ")", ")%"})
_LEADER = re.compile(r"(?:\.{4,}|…{2,}|_{4,})$")
_SHORT_LEADER = re.compile(r"\.{2,}$")


class Word(NamedTuple):
    """A word and its place, in points.

    Attributes:
        text: the word; it ends with `DIVIDED` if it goes on at the start of the next line.
        left: start along the direction of reading.
        right: end along the direction of reading.
        base: distance from the page's edge across the direction of reading; grows upwards.
        height: height of the font.
        turn: 0 for upright text, 1 for text that runs up the page, -1 for down.
    """

    text: str
    left: float
    right: float
    base: float
    height: float
    turn: int = 0


class _Piece:
    """Consecutive words of one line: a line of prose, a cell or a row of cells."""

    __slots__ = ("base", "cells", "height", "left", "numeric", "prose", "right", "turn", "words")

    def __init__(self, words: list[Word]) -> None:
        heights = sorted(word.height for word in words)
        self.height = heights[len(heights) // 2] or 1.0
        self.left = words[0].left
        self.right = max(word.right for word in words)
        self.base = words[0].base
        self.turn = words[0].turn
        self.words = len(words)
        self.cells = _cells(words, self.height)
        self.numeric = all(map(_NUMBER.fullmatch, " ".join(self.cells).split()))
        self.prose = False

    @property
    def short(self) -> bool:
        """Whether every cell is a number or a few words."""
        return self.numeric or all(
            len(cell) <= _CELL_CHARACTERS and cell.count(" ") < _CELL_WORDS for cell in self.cells
        )

    @property
    def goes_on(self) -> bool:
        """Whether it starts as the middle of a sentence does."""
        return self.cells[0][0].islower()

    def below(self, above: _Piece) -> bool:
        """Whether it stands under another piece, near enough to belong to it."""
        step = above.base - self.base
        return (
            self.turn == above.turn
            and (len(self.cells) > 1) == (len(above.cells) > 1)
            and SAME_BASE * above.height < step < _STACK_GAP * max(self.height, above.height)
            and self._aligned(above)
        )

    def _aligned(self, other: _Piece) -> bool:
        """Whether two pieces of a column have the same left edge, right edge or middle."""
        left, right = self.left - other.left, self.right - other.right
        return min(abs(left), abs(right), abs(left + right) / 2) < max(self.height, other.height)

    def beside(self, other: _Piece) -> bool:
        """Whether it stands on the same line as another piece, without overlap."""
        room = _OVERLAP * self.height
        return (
            self.turn == other.turn
            and abs(other.base - self.base) < SAME_BASE * max(self.height, other.height)
            and (self.left >= other.right - room or self.right <= other.left + room)
        )


def lay_out(lines: Iterable[list[Word]]) -> str:
    """The text of a page, from its words in the order of the content stream.

    A divided word keeps its `DIVIDED` mark, followed by a line break; see `hyphens`.
    """
    rows: list[list[_Piece]] = []
    for stack in _stacks(_pieces(lines)):
        _mark_prose(stack)
        for piece, row in zip(stack, _rows_to_join(stack, rows), strict=True):
            if row is None:
                rows.append([piece])
            else:
                row.append(piece)
    return "\n".join(map(_line, rows))


def _line(row: list[_Piece]) -> str:
    ordered = sorted(row, key=lambda piece: piece.left) if len(row) > 1 else row
    return CELL_SEPARATOR.join(cell for piece in ordered for cell in piece.cells)


def _pieces(lines: Iterable[list[Word]]) -> Iterable[_Piece]:
    """Lines as pieces; pdfium goes on in the same line after a divided word, and sometimes before a bullet."""
    for line in lines:
        start = 0
        for end in range(1, len(line) + 1):
            if end == len(line) or _breaks(line[end - 1], line[end]):
                piece = _Piece(line[start:end])
                if piece.cells:
                    yield piece
                start = end


def _breaks(word: Word, following: Word) -> bool:
    """Whether a line ends between two words."""
    if word.text.endswith(DIVIDED) or word.turn != following.turn or word.height <= 0:
        return True
    down = (word.base - following.base) / word.height
    return abs(down) >= LINE_STEP or (down > SAME_BASE and following.left < word.right)


def _cells(words: list[Word], height: float) -> list[str]:
    """Split the words of a line into cells at wide gaps and dotted leaders; leaders are dropped."""
    cells: list[list[str]] = []
    fresh = True
    for index, word in enumerate(words):
        text = _without_leader(words, index)
        if index and not fresh:
            fresh = starts_cell(words, index, height) and not _clings(cells[-1], text)
        if text and fresh:
            cells.append([text])
        elif text:
            cells[-1].append(text)
        fresh = (fresh and not text) or len(text) < len(word.text)
    texts = [" ".join(cell) for cell in cells]
    return [_SHORT_LEADER.sub("", text) or text for text in texts[:-1]] + texts[-1:]


def _without_leader(words: list[Word], index: int) -> str:
    """A word without the dots that lead from it to the next cell, which may be words of their own."""
    text = words[index].text
    if text[-1] not in ".…_":
        return text
    dots_follow = index + 1 < len(words) and words[index + 1].text == "."
    if dots_follow or (text == "." and index and words[index - 1].text == "."):
        return text[:-1]
    return _LEADER.sub("", text)


def starts_cell(words: list[Word], index: int, height: float) -> bool:
    """Whether the gap before a word of a line ends a cell; `height` is that of the line's font."""
    before, word = words[index - 1], words[index]
    gap = (word.left - before.right) / height
    if gap >= _CELL_GAP:
        return True
    if _CURRENCY.fullmatch(word.text) and index + 1 < len(words):
        # `$` at the left edge of a column and its number at the right edge
        return gap >= _NUMBER_GAP or (words[index + 1].left - word.right) / height >= _CELL_GAP
    return gap >= _NUMBER_GAP and bool(_NUMBER.fullmatch(before.text) and _NUMBER.fullmatch(word.text))


def _clings(cell: list[str], text: str) -> bool:
    """Whether a word belongs to the cell before it however wide the gap: `$ 5`, `14 %`, `(3 )`, `• item`."""
    return text in _CLOSING or (len(cell) == 1 and _OPENING.fullmatch(cell[0]) is not None)


def _stacks(pieces: Iterable[_Piece]) -> Iterable[list[_Piece]]:
    """Runs of consecutive pieces that go down the page."""
    stack: list[_Piece] = []
    for piece in pieces:
        if stack and not piece.below(stack[-1]):
            yield stack
            stack = []
        stack.append(piece)
    if stack:
        yield stack


def _mark_prose(stack: list[_Piece]) -> None:
    """Find the lines of a stack that are running text."""
    for piece in stack:
        piece.prose = len(piece.cells) == 1 and piece.words >= _SURE_PROSE_WORDS
        piece.prose |= piece.cells[-1].endswith(DIVIDED)
    for above, piece in pairwise(stack):
        if _running(above) and _running(piece) and (above.goes_on or piece.goes_on):
            above.prose = piece.prose = True
    for above, piece in pairwise(stack):  # the last line of a paragraph may be short
        if above.prose and len(piece.cells) == 1 and _same_paragraph(above, piece):
            piece.prose = True


def _running(piece: _Piece) -> bool:
    return len(piece.cells) == 1 and piece.words >= _PROSE_WORDS


def _same_paragraph(above: _Piece, piece: _Piece) -> bool:
    near = above.base - piece.base < _PARAGRAPH_STEP * above.height
    return near and abs(above.left - piece.left) < _ALIGNED * above.height


def _rows_to_join(stack: list[_Piece], rows: list[list[_Piece]]) -> list[list[_Piece] | None]:
    """For each piece of a stack, the row that it belongs to, or `None` to start a row of its own."""
    found = _column_rows(stack, rows)
    if found[0] is None and rows and stack[0].numeric and stack[0].beside(rows[-1][-1]):
        # Numbers right after their label, where a raised footnote mark has ended pdfium's line.
        found[0] = rows[-1]
    return found


def _column_rows(stack: list[_Piece], rows: list[list[_Piece]]) -> list[list[_Piece] | None]:
    if any(piece.prose for piece in stack) or _wrapped(stack):
        return [None] * len(stack)
    short = all(piece.short for piece in stack)
    found = [_row_beside(piece, rows, short) for piece in stack]
    if sum(row is not None for row in found) >= _STACK_FIT * len(stack):
        return found
    # Labels of rows that have none, where other labels of the stack belong elsewhere.
    return [
        row if row is not None and not piece.numeric and _numeric(row) else None
        for piece, row in zip(stack, found, strict=True)
    ]


def _wrapped(stack: list[_Piece]) -> bool:
    """Whether a stack is a narrow column of running text, the cell of a text table for example."""
    return len(stack) > 1 and sum(piece.goes_on for piece in stack[1:]) >= _WRAPPED * (len(stack) - 1)


def _row_beside(piece: _Piece, rows: list[list[_Piece]], short: bool) -> list[_Piece] | None:
    for row in reversed(rows[-_LOOK_BACK:]):
        if (short or _numeric(row)) and all(not other.prose and piece.beside(other) for other in row):
            return row
    return None


def _numeric(row: list[_Piece]) -> bool:
    return all(piece.numeric for piece in row)
