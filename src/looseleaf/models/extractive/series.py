"""`Series`: labels and values of a simple chart, read off a text layer.

A chart's text layer gives the printed values and the category labels one block after the other. Where a block of
values meets a block of equally many labels, they are paired in order; axis ticks are told by their even steps.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

import msgspec

from looseleaf.models.extractive.line import Line
from looseleaf.models.extractive.number import parse_number

__all__ = ["Series", "read_series"]

LEAST_VALUES: Final = 3
MOST_VALUES: Final = 30
LEAST_TICKS: Final = 4
LONGEST_LABEL: Final = 6
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


class Series(msgspec.Struct, frozen=True):
    """Labels and the texts of their values, in order; `line` is where the values start, `end` where they end."""

    labels: tuple[str, ...]
    values: tuple[str, ...]
    line: int
    end: int


def read_series(lines: tuple[Line, ...]) -> list[Series]:
    """All series among the lines of a page."""
    found = []
    start = 0
    while start < len(lines):
        end, series = _alternating(lines, start)
        if series is not None:
            found.append(series)
            start = end
            continue
        end = start
        while end < len(lines) and _is_values(lines[end].text):
            end += 1
        if end > start:
            series = _series(lines, start, end)
            found += [series] if series is not None else []
        start = max(end, start + 1)
    return found


def _alternating(lines: tuple[Line, ...], start: int) -> tuple[int, Series | None]:
    """Labels and values line by line from `start` on ("Spring", "31%", "Summer", "42%"), and where they end."""
    end = start
    while end + 1 < len(lines) and _is_entry(lines[end]) and _is_single_value(lines[end + 1].text):
        end += 2
    if end - start < 2 * LEAST_VALUES or (start and _is_single_value(lines[start - 1].text)):
        return start, None
    labels = tuple(line.text for line in lines[start:end:2])
    values = tuple(line.text for line in lines[start + 1 : end : 2])
    return end, Series(labels, values, start, end - 1)


def _is_entry(line: Line) -> bool:
    return line.kind in {"text", "heading"} and line.row is None and _is_label(line.text)


def _is_single_value(text: str) -> bool:
    return parse_number(text) is not None and not _YEAR.fullmatch(text)


def _is_values(text: str) -> bool:
    return all(parse_number(word) is not None for word in text.split())


def _series(lines: tuple[Line, ...], start: int, end: int) -> Series | None:
    """The series whose values stand on lines `start` to `end`, if labels of that number are near."""
    words = [word for line in lines[start:end] for word in line.text.split()]
    words, years = _without_years(words)
    values = _without_ticks(words)
    if not LEAST_VALUES <= len(values) <= MOST_VALUES:
        return None
    if len(years) == len(values):
        return Series(tuple(years), tuple(values), start, end - 1)
    if years:
        return None
    labels, last = _labels_after(lines, end, len(values))
    if not labels and len(values) > LEAST_VALUES:
        values, labels, last = _without_stray_tick(lines, end, values)
    if not labels:
        labels = _labels_before(lines, start, len(values))
    return Series(tuple(labels), tuple(values), start, last) if labels else None


def _without_years(words: list[str]) -> tuple[list[str], list[str]]:
    """The words without the longest run of rising years, and that run."""
    runs: list[tuple[int, int]] = []
    start = 0
    for index in range(len(words) + 1):
        rising = (
            index < len(words)
            and _YEAR.fullmatch(words[index])
            and (index == start or words[index] > words[index - 1])
        )
        if not rising:
            runs.append((start, index))
            start = index if index < len(words) and _YEAR.fullmatch(words[index]) else index + 1
    first, last = max(runs, key=lambda run: run[1] - run[0])
    if last - first < LEAST_VALUES or len(words) == last - first:
        return words, []
    return words[:first] + words[last:], words[first:last]


def _without_ticks(words: list[str]) -> list[str]:
    """The words without a run of evenly stepped numbers at either end that starts or ends at zero."""
    for size in range(len(words), LEAST_TICKS - 1, -1):
        for part, rest in ((words[:size], words[size:]), (words[-size:], words[:-size])):
            if rest and _is_ticks(part):
                return rest
    return words


def _is_ticks(words: list[str]) -> bool:
    numbers = [n.value for word in words if (n := parse_number(word)) is not None]
    steps = {round(b - a, 6) for a, b in pairwise(numbers)}
    return (
        len(numbers) == len(words) and len(steps) == 1 and steps != {0.0} and 0.0 in (numbers[0], numbers[-1])
    )


def _without_stray_tick(
    lines: tuple[Line, ...], end: int, values: list[str]
) -> tuple[list[str], list[str], int]:
    """One value less where it is the next tick of the axis that follows the labels."""
    labels, last = _labels_after(lines, end, len(values) - 1)
    ticks: list[str] = []
    for line in lines[last + 1 :]:
        if not _is_values(line.text):
            break
        ticks += line.text.split()
    if labels and len(ticks) >= LEAST_TICKS and _is_ticks(ticks):
        first, second, end_tick = (
            n.value for t in (ticks[0], ticks[1], ticks[-1]) if (n := parse_number(t)) is not None
        )
        stray = [
            v
            for v in values
            if (n := parse_number(v)) is not None
            and n.value in {end_tick + second - first, first * 2 - second}
        ]
        if stray:
            index = values.index(stray[0])
            return values[:index] + values[index + 1 :], labels, last
    return values, [], end - 1


def _labels_after(lines: tuple[Line, ...], index: int, count: int) -> tuple[list[str], int]:
    """Labels on the next line (one word each) or on the next `count` lines, and the line where they end."""
    if index < len(lines) and len(lines[index].text.split()) == count and _is_label_line(lines[index]):
        return lines[index].text.split(), index
    block = lines[index : index + count]
    if (
        len(block) == count
        and all(_is_label(line.text) for line in block)
        and not _continues(lines, index + count)
    ):
        return [line.text for line in block], index + count - 1
    return [], index - 1


def _labels_before(lines: tuple[Line, ...], index: int, count: int) -> list[str]:
    block = lines[max(0, index - count) : index]
    if (
        len(block) == count
        and all(_is_label(line.text) for line in block)
        and not _continues(lines, index - count - 1)
    ):
        return [line.text for line in block]
    if block and len(block[-1].text.split()) == count and _is_label_line(block[-1]):
        return block[-1].text.split()
    return []


def _continues(lines: tuple[Line, ...], index: int) -> bool:
    """Whether the block of labels goes on: then its number is not the number of values."""
    return 0 <= index < len(lines) and _is_label(lines[index].text) and lines[index].kind == "text"


def _is_label(text: str) -> bool:
    return text[0].isalpha() and len(text.split()) <= LONGEST_LABEL and text[-1] not in ".:;,"


def _is_label_line(line: Line) -> bool:
    return (
        all(word[0].isupper() for word in line.text.split() if word[0].isalpha())
        and line.text[-1] not in ".:;"
    )
