"""The best one-to-one matching of two lists (the assignment problem)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

__all__ = ["best_matching"]


def best_matching(profit: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pairs (row, column) with the largest total profit, in order of rows; every row or every column is matched.

    Kuhn's Hungarian method with potentials, in O(rows² · columns).
    """
    if not profit or not profit[0]:
        return []
    if len(profit) > len(profit[0]):
        flipped = best_matching(list(zip(*profit, strict=True)))
        return sorted((row, column) for column, row in flipped)
    owner = [-1] * len(profit[0])
    row_potential = [0.0] * len(profit)
    column_potential = [0.0] * len(profit[0])
    for row in range(len(profit)):
        _augment(profit, row, owner, row_potential, column_potential)
    return sorted((row, column) for column, row in enumerate(owner) if row >= 0)


def _augment(
    profit: Sequence[Sequence[float]],
    row: int,
    owner: list[int],
    row_potential: list[float],
    column_potential: list[float],
) -> None:
    """Match one more row along the cheapest augmenting path (Dijkstra over reduced costs)."""
    columns = range(len(owner))
    slack = [inf] * len(owner)
    came_from = [-1] * len(owner)
    visited = [False] * len(owner)
    current_row, current_column = row, -1
    while True:
        best, step = -1, inf
        for column in columns:
            if visited[column]:
                continue
            cost = -profit[current_row][column] - row_potential[current_row] - column_potential[column]
            if cost < slack[column]:
                slack[column], came_from[column] = cost, current_column
            if slack[column] < step:
                best, step = column, slack[column]
        row_potential[row] += step
        for column in columns:
            if visited[column]:
                row_potential[owner[column]] += step
                column_potential[column] -= step
            else:
                slack[column] -= step
        visited[best] = True
        current_column = best
        if owner[best] < 0:
            break
        current_row = owner[best]
    while current_column >= 0:
        previous = came_from[current_column]
        owner[current_column] = owner[previous] if previous >= 0 else row
        current_column = previous
