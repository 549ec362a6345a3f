"""Several tests at once."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["holm"]


def holm(p_values: Mapping[str, float | None]) -> dict[str, float]:
    """Adjusted p-values of a family that was fixed before looking.

    A test that could not be made stays in the family with p = 1, so that a family cannot shrink by failing.

    Args:
        p_values: of every member of the family, by name.

    Returns:
        Adjusted p-values by name, in the family's order.

    Source: Holm (1979), Scand. J. Stat. 6, 65–70.
    """
    known = {name: 1.0 if p is None else p for name, p in p_values.items()}
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(known, key=lambda member: known[member])):
        largest = max(largest, min(1.0, (len(known) - rank) * known[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in known}
