"""`Metric`: a ratio Σx/Σy over rows, declared in a few lines, with a canonical printable name.

The name is the object, the table header and the command-line argument.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

import msgspec

from looseleaf.metrics.row import Row

__all__ = ["UNDEFINED", "UNSCORED", "Metric", "Missing", "Ratio"]


class Ratio(NamedTuple):
    """What one row adds to numerator and denominator."""

    x: float
    y: float = 1.0


class Missing(Enum):
    """Why a row adds nothing."""

    UNDEFINED = "undefined"
    """The metric does not apply to the row (e.g. navigation without gold pages); counted apart."""
    UNSCORED = "unscored"
    """The metric applies but there is no score; counted in n, with best and worst bounds."""


Bound = Ratio | Callable[[Row], Ratio] | None
"""What an unscored row could add at most or at least, given what is known of it; `None` where nothing bounds it."""

UNDEFINED = Missing.UNDEFINED
UNSCORED = Missing.UNSCORED


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A declaration.

    Attributes:
        name: canonical printable name.
        doc: what it is and whose rule, in one line.
        of: what a row adds.
        worst: what an unscored row would add at worst, for the bounds.
        best: what it would add at best.
        is_rate: whether the value lies in [0, 1] and takes a logit interval.
        percent: whether it is printed in percent.
    """

    name: str
    doc: str
    of: Callable[[Row], Ratio | Missing]
    worst: Bound = Ratio(0.0)
    best: Bound = Ratio(1.0)
    is_rate: bool = True
    percent: bool = True

    def restricted(self, suffix: str, keep: Callable[[Row], bool]) -> Metric:
        """The same metric on a named part of the rows; the others are undefined."""
        return msgspec.structs.replace(
            self, name=f"{self.name}[{suffix}]", of=lambda row: self.of(row) if keep(row) else UNDEFINED
        )
