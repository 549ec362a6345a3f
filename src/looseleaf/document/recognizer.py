"""`Recognizer`: rapidocr on one core, with a second look at doubtful lines. Used by the OCR worker only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from .facts import DEFAULT_DPI, OcrLine, OcrWord
from .messages import Scan
from .raster import POINTS_PER_INCH

__all__ = ["Recognizer"]

_FIRST_SCALE = DEFAULT_DPI / POINTS_PER_INCH
"""Pixels a point of the first reading."""

_FIRST_SIDE = 2_000
"""Longest side of the first reading in pixels: what rapidocr itself scales down to (`max_side_len`)."""

_DOUBTFUL = 0.75
"""Lines with a lower score are read again, at another scale."""

_UNREADABLE = 0.5
"""Lines whose best score is lower are dropped: logos, textures, handwriting (rapidocr's `text_score`)."""

_MARGIN = 1 / 3
"""White around a line in one of the second readings, in line heights."""

_TURNED = 1.5
"""From this ratio of height to width a box holds turned text (rapidocr's `get_rotate_crop_image`)."""

_PARAMETERS: dict[str, Any] = {
    "Global.log_level": "critical",
    "Global.text_score": 0.0,  # the second reading comes first
    "Global.use_cls": False,  # looks for upside-down lines in every line, and they hardly exist
    "Global.return_word_box": True,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


class _Reading(NamedTuple):
    """Text of a line, its score, and where its characters (without spaces) start and end, 0 to 1 along it."""

    text: str
    score: float
    turn: int
    spans: list[tuple[float, float]]


class _Quad(NamedTuple):
    """A line's box: its corners in pixels, clockwise from the upper left."""

    corners: tuple[tuple[float, float], ...]

    @property
    def width(self) -> float:
        upper_left, upper_right, lower_right, lower_left = self.corners
        return max(math.dist(upper_left, upper_right), math.dist(lower_left, lower_right))

    @property
    def height(self) -> float:
        upper_left, upper_right, lower_right, lower_left = self.corners
        return max(math.dist(upper_left, lower_left), math.dist(upper_right, lower_right))

    @property
    def turned(self) -> bool:
        return self.height >= _TURNED * self.width

    def extent(self, axis: int) -> tuple[float, float]:
        """Where it starts and ends across (axis 0) or down (1) the picture."""
        places = [corner[axis] for corner in self.corners]
        return min(places), max(places)


class Recognizer:
    """The loaded models."""

    def __init__(self) -> None:
        from rapidocr import RapidOCR

        self._rapid = RapidOCR(params=_PARAMETERS)

    def read(self, scan: Scan) -> tuple[OcrLine, ...]:
        """The lines of a scan, with their places on the page."""
        sharp = Image.frombytes("RGB", (scan.width, scan.height), scan.rgb)
        shrink = min(1.0, _FIRST_SCALE / scan.scale, _FIRST_SIDE / max(sharp.size))
        first = _resized(sharp, shrink)
        lines: list[OcrLine] = []
        for quad, reading in self._first(first, sharp.width / first.width, sharp.height / first.height):
            best = max([reading, *self._again(sharp, quad, reading)], key=lambda one: one.score)
            if best.score >= _UNREADABLE:
                lines.append(_line(best, quad, scan))
        return tuple(lines)

    def _first(self, picture: Image.Image, across: float, down: float) -> Iterator[tuple[_Quad, _Reading]]:
        """All lines; places are multiplied to be those of the sharp picture."""
        found = self._rapid(_bgr(picture), use_det=True)
        if not len(found):
            return
        words = [line for line in found.word_results if line and isinstance(line[0], tuple)]
        for corners, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
            seen = _Quad(tuple((float(x), float(y)) for x, y in corners))
            quad = _Quad(tuple((x * across, y * down) for x, y in seen.corners))
            yield quad, _Reading(text, float(score), -1 if quad.turned else 0, _spans(seen, text, words))

    def _again(self, sharp: Image.Image, quad: _Quad, reading: _Reading) -> Iterator[_Reading]:
        """Second readings of a doubtful line: larger, then with a margin, and upside down if it is turned."""
        if reading.score >= _DOUBTFUL:
            return
        picture = _cut(sharp, quad)
        turns = [(picture, reading.turn)]
        if quad.turned:
            upright = picture.rotate(90, expand=True)
            turns = [(upright, -1), (upright.rotate(180), 1)]
        for line, turn in turns:
            for tried in (line, _with_margin(line)):
                found = self._rapid(_bgr(tried), use_det=False)
                if found.txts and found.txts[0].strip():
                    text = found.txts[0]
                    yield _Reading(text, float(found.scores[0]), turn, _even_spans(text))


def _resized(picture: Image.Image, scale: float) -> Image.Image:
    if scale >= 1:
        return picture
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.BOX)


def _bgr(picture: Image.Image) -> Any:
    """Pixels in the order of the colours that rapidocr takes from arrays."""
    return np.ascontiguousarray(np.asarray(picture)[:, :, ::-1])


def _cut(picture: Image.Image, quad: _Quad) -> Image.Image:
    """A line as a picture of its own, straightened."""
    size = (max(1, round(quad.width)), max(1, round(quad.height)))
    upper_left, upper_right, lower_right, lower_left = quad.corners
    corners = (*upper_left, *lower_left, *lower_right, *upper_right)
    return picture.transform(size, Image.Transform.QUAD, corners, Image.Resampling.BICUBIC)


def _with_margin(line: Image.Image) -> Image.Image:
    margin = math.ceil(line.height * _MARGIN)
    wider = Image.new("RGB", (line.width + 2 * margin, line.height + 2 * margin), "white")
    wider.paste(line, (margin, margin))
    return wider


def _spans(quad: _Quad, text: str, words: list[Any]) -> list[tuple[float, float]]:
    """Where the characters of a line are, from rapidocr's word boxes; lines without boxes are left out there."""
    characters = "".join(text.split())
    if not words or "".join(word for word, _, _ in words[0]) != characters:
        return _even_spans(text)
    axis = 1 if quad.turned else 0
    low, high = quad.extent(axis)
    spans: list[tuple[float, float]] = []
    for word, _, box in words.pop(0):
        places = [(float(corner[axis]) - low) / max(high - low, 1.0) for corner in box]
        spans += _divided(min(places), max(places), len(word))
    return spans


def _even_spans(text: str) -> list[tuple[float, float]]:
    """The same where only the line's box is known: every character is as wide as the others."""
    cells = _divided(0.0, 1.0, len(text))
    return [cell for cell, character in zip(cells, text, strict=True) if not character.isspace()]


def _divided(start: float, end: float, count: int) -> list[tuple[float, float]]:
    step = (end - start) / max(count, 1)
    return [(start + step * index, start + step * (index + 1)) for index in range(count)]


def _line(reading: _Reading, quad: _Quad, scan: Scan) -> OcrLine:
    """A line with its places in points."""
    (left, right), (top, bottom) = quad.extent(0), quad.extent(1)
    if reading.turn == 0:  # a line that is a little askew is no higher for it
        middle = (top + bottom) / 2
        top, bottom = middle - quad.height / 2, middle + quad.height / 2
    across = [round(scan.left + x / scan.scale, 1) for x in (left, right)]
    down = [round(scan.top + y / scan.scale, 1) for y in (top, bottom)]
    ends = {0: (across[0], across[1]), 1: (down[1], down[0]), -1: (down[0], down[1])}[reading.turn]
    words = tuple(_words(reading, *ends))
    return OcrLine(words, across[0], down[0], across[1], down[1], round(reading.score, 3), reading.turn)


def _words(reading: _Reading, start: float, end: float) -> Iterable[OcrWord]:
    at = 0
    for word in reading.text.split():
        first, last = reading.spans[at], reading.spans[at + len(word) - 1]
        at += len(word)
        yield OcrWord(
            word, round(start + first[0] * (end - start), 1), round(start + last[1] * (end - start), 1)
        )
