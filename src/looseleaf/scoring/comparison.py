"""Two scorers side by side: the rows on which they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from looseleaf.score import Score

__all__ = ["Difference", "ScoredRow", "differences"]

Rule = Callable[[Any, Any, str], Score]


class ScoredRow(NamedTuple):
    """What a scorer needs to know of a row."""

    gold: Any
    prediction: Any
    answer_format: str


class Difference(NamedTuple):
    """A row on which two scorers do not agree.

    Attributes:
        position: place of the row among those given, from 0.
        row: the row.
        first: what the first scorer says.
        second: what the second says.
    """

    position: int
    row: ScoredRow
    first: Score
    second: Score


def differences(rows: Iterable[tuple[Any, Any, str]], first: Rule, second: Rule) -> Iterator[Difference]:
    """The rows on which the two scorers give different values, or on which the official function raises for one.

    Args:
        rows: gold answer, prediction and answer format of each row.
        first: a scorer, e.g. `mmlongbench.score`.
        second: another one, e.g. `mmlongbench.safe`.
    """
    for position, row in enumerate(rows):
        one, other = first(*row), second(*row)
        if (one.value, one.unscored, one.upstream_raises) != (
            other.value,
            other.unscored,
            other.upstream_raises,
        ):
            yield Difference(position, ScoredRow(*row), one, other)
