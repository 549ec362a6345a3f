"""The figure of a sweep: β down, G across, γ and ω inside each panel, one colour and number a combination."""

from __future__ import annotations

from collections.abc import Iterator

from looseleaf.errors import ConfigError
from looseleaf.reward.simulation import svg
from looseleaf.reward.simulation.sweep import QUANTITIES, Sweep, SweepPoint

__all__ = ["check_quantity", "sweep_svg"]

CELL_WIDTH, CELL_HEIGHT = 42.0, 22.0
LEFT, TOP, GAP_X, GAP_Y = 60.0, 62.0, 50.0, 44.0
POSITIVE, NEGATIVE, WHITE = (0, 114, 178), (213, 94, 0), (255, 255, 255)
"""Blue above 0 and vermilion below (Okabe and Ito); the sign is printed too."""
DEEPEST = 0.75
"""How much of the colour the largest value gets, so that black numbers stay readable."""


def check_quantity(name: str) -> str:
    """The name, if a sweep can show it.

    Raises:
        ConfigError: it cannot.
    """
    if name not in QUANTITIES:
        raise ConfigError(f"A sweep cannot show {name!r}; use one of {', '.join(QUANTITIES)}.")
    return name


def sweep_svg(sweep: Sweep, quantity: str = "advantage:10") -> str:
    """One quantity over the whole grid in one picture.

    Args:
        sweep: the expectations.
        quantity: a key of `QUANTITIES`; by default the cell whose sign depends most on the constants.

    Raises:
        ConfigError: there is no such quantity.
    """
    check_quantity(quantity)
    values = {_key(point): point.quantity(quantity) for point in sweep.points}
    largest = max((abs(value) for value in values.values() if value is not None), default=0.0) or 1.0
    betas, sizes = sweep.grid["beta"], sweep.grid["G"]
    across = len(sweep.grid["gamma"]) * CELL_WIDTH + GAP_X
    down = len(sweep.grid["omega"]) * CELL_HEIGHT + GAP_Y
    title = f"{QUANTITIES[quantity]}, {sweep.mixture}"
    parts = [
        svg.text(LEFT, 20, title[0].upper() + title[1:], size=14),
        svg.text(LEFT, 36, "exact; across: γ = r01; down: ω = r00; blank: not β > 0 > γ > ω", size=10.5),
    ]
    for row, beta in enumerate(betas):
        for column, size in enumerate(sizes):
            corner = LEFT + column * across, TOP + row * down
            parts += _panel(sweep, values, beta, size, corner, largest)
    width = LEFT + len(sizes) * across
    return svg.document(width, TOP + len(betas) * down + 6, title, parts)


Key = tuple[float, float, float, float]


def _key(point: SweepPoint) -> Key:
    return point.beta, point.gamma, point.omega, float(point.group_size)


def _panel(
    sweep: Sweep,
    values: dict[Key, float | None],
    beta: float,
    size: float,
    corner: tuple[float, float],
    largest: float,
) -> Iterator[str]:
    x, y = corner
    gammas, omegas = sweep.grid["gamma"], sweep.grid["omega"]
    yield svg.text(x, y - 5, f"β = {beta:g}, G = {size:g}")
    for down, omega in enumerate(omegas):
        yield svg.text(x - 5, y + (down + 0.7) * CELL_HEIGHT, f"{omega:g}", size=9, anchor="end")
        for across, gamma in enumerate(gammas):
            value = values.get((beta, gamma, omega, float(size)))
            if value is not None:
                yield from _square(x + across * CELL_WIDTH, y + down * CELL_HEIGHT, value, largest)
    bottom = y + len(omegas) * CELL_HEIGHT + 11
    for across, gamma in enumerate(gammas):
        yield svg.text(x + (across + 0.5) * CELL_WIDTH, bottom, f"{gamma:g}", size=9, anchor="middle")


def _square(x: float, y: float, value: float, largest: float) -> Iterator[str]:
    yield svg.rect(x, y, CELL_WIDTH, CELL_HEIGHT, fill=_colour(value / largest), stroke="white")
    yield svg.text(
        x + CELL_WIDTH / 2, y + 0.68 * CELL_HEIGHT, f"{value:+.2f}", size=10, anchor="middle", fill="#000"
    )


def _colour(depth: float) -> str:
    target = POSITIVE if depth >= 0 else NEGATIVE
    share = DEEPEST * abs(depth)
    mixed = [round(white + share * (other - white)) for white, other in zip(WHITE, target, strict=True)]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})"
