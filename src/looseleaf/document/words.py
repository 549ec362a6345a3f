"""Words of a page with their places, from pdfium's text layer. Used by the worker only."""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any

import pypdfium2.raw as pdfium

from .limits import MAX_PAGE_CHARACTERS
from .refusal import Refusal
from .rows import DIVIDED, LINE_STEP, Word

__all__ = ["read_lines"]

_WORD = re.compile(rf"[^\s{DIVIDED}]+{DIVIDED}?")

_UPRIGHT = 0.95
"""Cosine of the angle up to which a character counts as upright: 18 degrees."""

_IGNORED = dict.fromkeys([*range(0x09), *range(0x0E, 0x20), 0x7F, 0x200B, 0xFEFF, 0xFFFF])
"""Control characters and zero-width marks: invisible, and they would hide words from a search."""

_SPELLED_OUT = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xAD: "-"}
"""Ligatures and the soft hyphen, which pdfium reports only where it is drawn."""

_CHARACTERS = str.maketrans(_IGNORED | _SPELLED_OUT)


def read_lines(textpage: Any) -> list[list[Word]]:
    """Words of a page, in the lines and the order in which pdfium finds them.

    pdfium follows the order of the content stream, which keeps the columns of a text apart; the words'
    places tell the cells of a table from the words of a sentence (`rows`). One box is asked for at each end
    of a word, not one a character: that costs about as much as finding the text does.

    Raises:
        Refusal: the page has more than `MAX_PAGE_CHARACTERS` characters.
    """
    characters = _characters(textpage)
    box_of = _BoxReader(textpage)
    lines: list[list[Word]] = []
    start = 0
    for line in characters.split("\n"):
        words: list[Word] = []
        for match in _WORD.finditer(line):
            words += box_of.words(match[0], start + match.start())
        if words:
            lines.append(words)
        start += len(line) + 1
    return lines


def _characters(textpage: Any) -> str:
    """The text layer, one character for each of pdfium's: characters beyond U+FFFF stay as two surrogates.

    (On 365 of 1,544 real pages `get_text_bounded` gives something else: it runs words together after a raised
    mark, and its characters do not lead back to their boxes.)
    """
    count = textpage.count_chars()
    if count > MAX_PAGE_CHARACTERS:
        raise Refusal(
            f"has more than {MAX_PAGE_CHARACTERS:,} characters of text; re-save the file without it"
        )
    if count == 0:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(textpage, 0, count, buffer)
    return "".join(map(chr, buffer[: max(written - 1, 0)]))


class _BoxReader:
    """Asks pdfium for character boxes, with one buffer for all answers."""

    def __init__(self, textpage: Any) -> None:
        self._textpage = textpage.raw
        self._box = pdfium.FS_RECTF()
        self._pointer = ctypes.byref(self._box)
        self._turn = 0

    def words(self, text: str, first: int) -> list[Word]:
        """The words that a run of characters without a space is made of, its first character's index given.

        One word nearly always. But pdfium may take columns of short numbers for a script that runs down the
        page, and run them together: characters that stand upright on different bases are different words.
        """
        box, last = self._box, first + len(text) - 1
        self._read(first)
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        if last > first:
            self._read(last)
            step = abs(box.bottom - bottom)
            if step >= LINE_STEP * (top - bottom) and self._upright(first):
                return self._split(text, first)
            self._turn = _turn(box.left - left, box.bottom - bottom)
        text = _clean(text)
        if not text:
            return []
        if self._turn == 0:
            return [Word(text, min(left, box.left), max(right, box.right), bottom, top - bottom, 0)]
        low, high = min(bottom, box.bottom), max(top, box.top)
        if self._turn > 0:
            return [Word(text, low, high, -right, right - left, 1)]
        return [Word(text, -high, -low, left, right - left, -1)]

    def _read(self, index: int) -> None:
        """Put a character's box into `self._box`.

        It is the font's box, not the glyph's, so that all words of a line have the same base.
        """
        pdfium.FPDFText_GetLooseCharBox(self._textpage, index, self._pointer)

    def _upright(self, index: int) -> bool:
        angle: float = pdfium.FPDFText_GetCharAngle(self._textpage, index)
        return math.cos(angle) > _UPRIGHT

    def _split(self, text: str, first: int) -> list[Word]:
        """Upright characters as words, divided where the base changes."""
        words: list[Word] = []
        for offset, character in enumerate(text):
            self._read(first + offset)
            box = self._box
            word = Word(_clean(character), box.left, box.right, box.bottom, box.top - box.bottom, 0)
            if words and abs(words[-1].base - word.base) < LINE_STEP * word.height:
                words[-1] = words[-1]._replace(text=words[-1].text + word.text, right=word.right)
            else:
                words.append(word)
        return [word for word in words if word.text]


def _clean(text: str) -> str:
    return text if text.isascii() and text.isprintable() else text.translate(_CHARACTERS)


def _turn(right: float, up: float) -> int:
    """1 for text that runs up the page, -1 for text that runs down, 0 for the rest."""
    if abs(up) <= abs(right):
        return 0
    return 1 if up > 0 else -1
