"""`Recognizer`: rapidocr on one core, with a second look at doubtful lines. Used by the OCR worker only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from .facts import DEFAULT_DPI, OcrLine, OcrWord
from .messages import Scan
from .raster import POINTS_PER_INCH

__all__ = ["Recognizer"]

_SEARCH_SCALE = DEFAULT_DPI / POINTS_PER_INCH
"""Pixels a point of the picture in which lines are looked for; they are read from the sharp one.

That costs no more, as every line is brought to 48 pixels before it is read, and of twelve lines of small print it
read all and not only six.
"""

_SEARCH_SIDE = 2_000
"""Longest side of that picture in pixels: what rapidocr itself scales down to (`max_side_len`)."""

_DOUBTFUL = 0.75
"""Lines with a lower score are read again, at another scale."""

_UNREADABLE = 0.5
"""Lines whose best score is lower are dropped: logos, textures, handwriting (rapidocr's `text_score`)."""

_OTHER_SCALE = 0.5
"""The other scale: a coarse picture hides the raster of a print."""

_MARGIN = 1 / 3
"""White around a line in the last reading, in line heights."""

_TURNED = 1.5
"""From this ratio of height to width a box holds turned text (rapidocr's `get_rotate_crop_image`)."""

_APART = 3.5
"""From this distance between the middles of two characters, in ordinary ones, they are different words."""

_PARAMETERS: dict[str, Any] = {
    "Global.log_level": "critical",
    "Global.text_score": 0.0,  # the second reading comes first
    "Global.use_cls": False,  # looks for upside-down lines in every line, and they hardly exist
    "Global.return_word_box": True,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}

_Span = tuple[float, float]
"""Where something starts and ends along a line, 0 to 1."""


class _Word(NamedTuple):
    text: str
    span: _Span


class _Reading(NamedTuple):
    """The words of a line, their score, and which way the line runs (`OcrLine.turn`)."""

    words: list[_Word]
    score: float
    turn: int


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
        lines: list[OcrLine] = []
        for quad in self._found(sharp, min(1.0, _SEARCH_SCALE / scan.scale, _SEARCH_SIDE / max(sharp.size))):
            best = self._best(_cut(sharp, quad))
            if best and best.score >= _UNREADABLE:
                lines.append(_line(best, quad, scan))
        return tuple(lines)

    def _found(self, sharp: Image.Image, scale: float) -> Iterator[_Quad]:
        """Boxes of the lines, in pixels of the sharp picture."""
        picture = _resized(sharp, scale)
        across, down = sharp.width / picture.width, sharp.height / picture.height
        found = self._rapid(_bgr(picture), use_det=True, use_rec=False)
        for corners in () if found.boxes is None else found.boxes:
            yield _Quad(tuple((float(x) * across, float(y) * down) for x, y in corners))

    def _best(self, line: Image.Image) -> _Reading | None:
        """The best reading of a line; all but the first are made only if those before are doubtful."""
        best: _Reading | None = None
        for picture, turn in _attempts(line):
            reading = self._reading(picture, turn)
            if reading and (best is None or reading.score > best.score):
                best = reading
            if best and best.score >= _DOUBTFUL:
                break
        return best

    def _reading(self, picture: Image.Image, turn: int) -> _Reading | None:
        found = self._rapid(_bgr(picture), use_det=False, use_rec=True)
        if not found.txts or not found.txts[0].strip():
            return None
        text = found.txts[0]
        spans = _spans("".join(text.split()), found.word_results[0] if found.word_results else None)
        return _Reading(list(_words(text, spans)), float(found.scores[0]), turn)


def _attempts(line: Image.Image) -> Iterator[tuple[Image.Image, int]]:
    """Pictures in which to read a line, and which way it runs if that succeeds."""
    ways = [(line, 0)]
    if line.height >= _TURNED * line.width:
        down = line.rotate(90, expand=True)
        ways = [(down, -1), (down.rotate(180), 1)]
    yield from ways
    for picture, turn in ways:
        yield _resized(picture, _OTHER_SCALE), turn
        yield _with_margin(picture), turn


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


def _spans(characters: str, found: Any) -> list[_Span]:
    """Where the characters of a line are, from the steps of the network at which it has seen them."""
    steps = [step for word in getattr(found, "word_cols", ()) for step in word]
    length = float(getattr(found, "line_txt_len", 0.0) or 0.0)
    if len(steps) != len(characters) or length <= 0:
        width = 1 / len(characters)
        return [(width * index, width * (index + 1)) for index in range(len(characters))]
    half = _usual(steps) / 2
    return [((step + 0.5 - half) / length, (step + 0.5 + half) / length) for step in steps]


def _usual(steps: list[int]) -> float:
    """Usual distance of neighbouring characters, in steps."""
    distances = sorted(after - before for before, after in pairwise(steps))
    return float(distances[len(distances) // 2]) if distances else 2.0


def _words(text: str, spans: list[_Span]) -> Iterator[_Word]:
    """Words of a line, divided at spaces and where the white is too wide for one word."""
    usual = spans[0][1] - spans[0][0]
    end = 0
    for part in text.split():
        start, end = end, end + len(part)
        wide = [at for at in range(start + 1, end) if spans[at][0] - spans[at - 1][0] >= _APART * usual]
        for first, last in pairwise([start, *wide, end]):
            yield _Word(part[first - start : last - start], (spans[first][0], spans[last - 1][1]))


def _line(reading: _Reading, quad: _Quad, scan: Scan) -> OcrLine:
    """A line with its places in points."""
    (left, right), (top, bottom) = quad.extent(0), quad.extent(1)
    if reading.turn == 0:  # a line that is a little askew is no higher for it
        middle = (top + bottom) / 2
        top, bottom = middle - quad.height / 2, middle + quad.height / 2
    across = [round(scan.left + x / scan.scale, 1) for x in (left, right)]
    down = [round(scan.top + y / scan.scale, 1) for y in (top, bottom)]
    ends = {0: (across[0], across[1]), 1: (down[1], down[0]), -1: (down[0], down[1])}[reading.turn]
    words = tuple(_placed(reading.words, *ends))
    return OcrLine(words, across[0], down[0], across[1], down[1], round(reading.score, 3), reading.turn)


def _placed(words: Iterable[_Word], start: float, end: float) -> Iterator[OcrWord]:
    for text, (first, last) in words:
        yield OcrWord(text, round(start + first * (end - start), 1), round(start + last * (end - start), 1))
