"""The figure of a simulation: advantages of each cell, one panel a mixture and reward (AWM's Figure 3).

Each cell is drawn as the distribution within itself, since the cells that matter most are rare. Bars are the histogram,
curves the same smoothed by a Gaussian kernel. Only the picture is smoothed, never an advantage. Members of
zero-variance groups would be one spike at 0; their share is printed instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from looseleaf.reward.simulation import svg
from looseleaf.reward.simulation.result import Arm, CellResult, Simulation

__all__ = ["CELL_COLOURS", "simulation_svg"]

CELL_COLOURS = {
    "00": "#D55E00",
    "01": "#CC79A7",
    "10": "#56B4E9",
    "11": "#009E73",
    "0?": "#8C6D31",
    "1?": "#4C72B0",
    "??": "#777777",
}
"""Colour-blind safe (Okabe and Ito)."""
CELL_DASHES = {"00": "", "01": "6 2", "10": "2 2", "11": "", "0?": "6 2", "1?": "2 2", "??": "1 3"}
"""So that the curves can be told apart in grey print."""
CELL_NAMES = {
    "00": "00 unresolved error",
    "01": "01 answering error",
    "10": "10 memory-missing correct",
    "11": "11 memory-supported correct",
    "0?": "wrong, memory unscored",
    "1?": "right, memory unscored",
    "??": "answer unscored",
}
KERNEL_SD = 0.12
"""Standard deviation of the smoothing kernel, in advantages."""
CAPTION = (
    "Distribution within each cell, over members of groups whose rewards differ. Bars: histogram; "
    f"curves: the same, kernel-smoothed (sd {KERNEL_SD:g}).",
    "Triangles: mean advantage over all groups. No gradient: all rewards of a group are equal. "
    "Phantom: every answer is wrong, yet rewards differ.",
)
PANEL_WIDTH, PANEL_HEIGHT, GAP = 250.0, 150.0, 46.0
LEFT, TOP, BOTTOM = 46.0, 66.0, 14.0

Floats = NDArray[np.float64]


def simulation_svg(simulation: Simulation) -> str:
    """The figure as one SVG document, to be saved or put inside HTML."""
    mixtures = list(dict.fromkeys(arm.mixture for arm in simulation.arms))
    rewards = list(dict.fromkeys(arm.reward for arm in simulation.arms))
    densities = {(arm.mixture, arm.reward): _densities(simulation, arm) for arm in simulation.arms}
    tallest = max((float(smooth.max()) for _, smooth in densities.values()), default=0.0) or 1.0
    width = LEFT + len(mixtures) * (PANEL_WIDTH + GAP)
    height = TOP + len(rewards) * (PANEL_HEIGHT + GAP) + BOTTOM
    parts = [svg.text(LEFT, 20, f"Advantages by outcome cell: {simulation.title}", size=14)]
    parts += _legend(simulation)
    for arm in simulation.arms:
        x = LEFT + mixtures.index(arm.mixture) * (PANEL_WIDTH + GAP)
        y = TOP + rewards.index(arm.reward) * (PANEL_HEIGHT + GAP)
        panel = _Panel(simulation, arm, x, y, tallest)
        parts += panel.draw(*densities[arm.mixture, arm.reward])
    parts += [
        svg.text(LEFT, height - 20 + 13 * row, words, size=10, fill="#555")
        for row, words in enumerate(CAPTION)
    ]
    return svg.document(width, height, f"Advantages by outcome cell, {simulation.title}", parts)


def _legend(simulation: Simulation) -> Iterator[str]:
    used = [cell for cell in CELL_NAMES if any(r.cell == cell for arm in simulation.arms for r in arm.cells)]
    x = LEFT
    for cell in used:
        yield svg.path([(x, 36), (x + 22, 36)], stroke=CELL_COLOURS[cell], width=2.5, dash=CELL_DASHES[cell])
        yield svg.text(x + 27, 40, CELL_NAMES[cell], size=10.5)
        x += 42 + 6.1 * len(CELL_NAMES[cell])


def _densities(simulation: Simulation, arm: Arm) -> tuple[Floats, Floats]:
    """Histogram and smoothed density of each cell `[cells, bins]`, per unit of advantage."""
    counts = np.array(arm.histogram, dtype=np.float64)
    step = (simulation.high - simulation.low) / counts.shape[1]
    density = counts / (np.maximum(counts.sum(axis=1, keepdims=True), 1.0) * step)
    reach = int(np.ceil(4 * KERNEL_SD / step))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / KERNEL_SD) ** 2)
    kernel /= kernel.sum()
    smooth = np.array([np.convolve(row, kernel)[reach : reach + len(row)] for row in density])
    return density, smooth


class _Panel:
    """One mixture under one reward; pixel coordinates of its corner and the common height of the axis."""

    def __init__(self, simulation: Simulation, arm: Arm, x: float, y: float, tallest: float) -> None:
        self._simulation = simulation
        self._arm = arm
        self._x = x
        self._y = y
        self._tallest = tallest

    def draw(self, density: Floats, smooth: Floats) -> Iterator[str]:
        """All elements of the panel."""
        bottom = self._y + PANEL_HEIGHT
        yield svg.text(self._x, self._y - 6, f"{self._arm.mixture} · {self._arm.reward}", size=11.5)
        yield svg.line(self._across(0), self._y, self._across(0), bottom, stroke="#bbb", dash="3 3")
        for result, bars, curve in zip(self._arm.cells, density, smooth, strict=True):
            yield from self._cell(result, bars, curve)
        yield svg.line(self._x, bottom, self._x + PANEL_WIDTH, bottom, stroke="#444")
        yield from self._ticks(bottom)
        yield svg.text(self._x + PANEL_WIDTH, self._y + 12, self._shares(), size=10, anchor="end")

    def _cell(self, result: CellResult, bars: Floats, curve: Floats) -> Iterator[str]:
        colour = CELL_COLOURS[result.cell]
        yield svg.path(list(self._steps(bars)), fill=colour, width=0, opacity=0.16)
        centres = self._edges(len(curve))[:-1] + 0.5 * (self._edges(len(curve))[1] - self._simulation.low)
        points = [
            (self._across(a), self._up(v)) for a, v in zip(centres.tolist(), curve.tolist(), strict=True)
        ]
        yield svg.path(points, stroke=colour, dash=CELL_DASHES[result.cell])
        mean = result.advantage if result.exact is None else result.exact
        if mean is not None:
            x, bottom = self._across(mean), self._y + PANEL_HEIGHT
            yield svg.path([(x, bottom - 8), (x - 4, bottom), (x + 4, bottom)], fill=colour, width=0)

    def _steps(self, bars: Floats) -> Iterator[tuple[float, float]]:
        edges = self._edges(len(bars)).tolist()
        yield self._across(edges[0]), self._up(0)
        for start, end, height in zip(edges, edges[1:], bars.tolist(), strict=False):
            yield self._across(start), self._up(height)
            yield self._across(end), self._up(height)
        yield self._across(edges[-1]), self._up(0)

    def _ticks(self, bottom: float) -> Iterator[str]:
        low, high = self._simulation.low, self._simulation.high
        for tick in range(int(np.ceil(low)), int(np.floor(high)) + 1):
            yield svg.line(self._across(tick), bottom, self._across(tick), bottom + 4, stroke="#444")
            yield svg.text(self._across(tick), bottom + 15, f"{tick}", size=9.5, anchor="middle")

    def _shares(self) -> str:
        arm = self._arm
        zero = arm.zero_variance if arm.exact_zero_variance is None else arm.exact_zero_variance
        phantom = arm.phantom if arm.exact_phantom is None else arm.exact_phantom
        return f"no gradient {zero:.1%}, phantom {phantom:.1%}"

    def _edges(self, bins: int) -> Floats:
        return np.linspace(self._simulation.low, self._simulation.high, bins + 1)

    def _across(self, advantage: float) -> float:
        low, high = self._simulation.low, self._simulation.high
        return self._x + PANEL_WIDTH * (advantage - low) / (high - low)

    def _up(self, density: float) -> float:
        return self._y + PANEL_HEIGHT * (1 - min(density / (1.05 * self._tallest), 1.0))
