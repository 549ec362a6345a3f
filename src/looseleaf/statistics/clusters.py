"""`Clusters`: which rows belong to which document."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Clusters", "Floats"]

Floats = NDArray[np.float64]


class Clusters:
    """Rows grouped by document; documents keep the order of their first row."""

    def __init__(self, labels: Sequence[Hashable]) -> None:
        """Group rows.

        Args:
            labels: document of each row.
        """
        self.names: tuple[Hashable, ...] = tuple(dict.fromkeys(labels))
        index = {name: position for position, name in enumerate(self.names)}
        self._positions = np.fromiter((index[label] for label in labels), dtype=np.intp, count=len(labels))

    def __len__(self) -> int:
        return len(self.names)

    def sums(self, values: ArrayLike) -> Floats:
        """Sums by document.

        Args:
            values: one number a row, shape (…, rows).

        Returns:
            Shape (…, documents).
        """
        rows = np.asarray(values, dtype=np.float64)
        flat = rows.reshape(math.prod(rows.shape[:-1]), len(self._positions))
        sums = [np.bincount(self._positions, weights=row, minlength=len(self)) for row in flat]
        return np.array(sums, dtype=np.float64).reshape(*rows.shape[:-1], len(self))
