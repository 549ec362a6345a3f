"""Simulations and sweeps as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from looseleaf.reward.outcome import CELLS
from looseleaf.reward.simulation.result import CellResult, Simulation, sign_changes
from looseleaf.reward.simulation.sweep import QUANTITIES, Sweep

__all__ = ["as_json", "simulation_markdown", "simulation_text", "sweep_markdown", "sweep_text"]

Rows = Sequence[Sequence[str]]
Render = Callable[[Rows], str]
NOTHING = "–"


def as_json(result: Simulation | Sweep) -> str:
    """Everything, as JSON."""
    return msgspec.json.format(msgspec.json.encode(result), indent=1).decode() + "\n"


def simulation_text(simulation: Simulation) -> str:
    """Tables for a terminal."""
    return _simulation(simulation, _aligned, "{}")


def simulation_markdown(simulation: Simulation) -> str:
    """Tables in Markdown."""
    return _simulation(simulation, _piped, "## {}")


def sweep_text(sweep: Sweep, quantity: str) -> str:
    """One quantity over the grid, for a terminal."""
    return _sweep(sweep, quantity, _aligned, "{}")


def sweep_markdown(sweep: Sweep, quantity: str) -> str:
    """One quantity over the grid, in Markdown."""
    return _sweep(sweep, quantity, _piped, "## {}")


def _simulation(simulation: Simulation, render: Render, heading: str) -> str:
    parts = [
        heading.format(simulation.title),
        _settings(simulation),
        heading.format("Mean advantage by outcome cell (s_ans, s_mem)"),
        render(_advantage_rows(simulation)),
        heading.format("Groups, margins and where the gradient goes"),
        render(_group_rows(simulation)),
        *_signs(simulation),
        *(f"Note: {note}" for note in simulation.notes),
    ]
    return "\n\n".join(parts) + "\n"


def _settings(simulation: Simulation) -> str:
    seed = "" if simulation.seed is None else f", seed {simulation.seed}"
    size = simulation.group_size or "of different sizes"
    unscored = max(arm.n_unscored for arm in simulation.arms)
    small = max(arm.n_too_small for arm in simulation.arms)
    left_out = f" Left out: up to {unscored} unscored members, {small} groups with fewer than 2 scored."
    return (
        f"Groups of {size}, eps {simulation.eps:g}, ddof {simulation.ddof}, scale {simulation.scale}{seed}."
        + (left_out if unscored or small else "")
    )


def _advantage_rows(simulation: Simulation) -> Rows:
    cells = _cells(simulation)
    header = ["mixture", "reward", "", "mean r", *(f"A({cell})" for cell in cells)]
    rows = [header]
    for arm in simulation.arms:
        by_cell = {result.cell: result for result in arm.cells}
        if arm.exact_mean_reward is not None:
            exact = [_signed(by_cell[cell].exact if cell in by_cell else None) for cell in cells]
            rows.append([arm.mixture, arm.reward, "exact", _number(arm.exact_mean_reward), *exact])
        kind = "simulated" if simulation.source == "mixtures" else "measured"
        found = [_with_error(by_cell.get(cell)) for cell in cells]
        rows.append([arm.mixture, arm.reward, kind, _number(arm.mean_reward), *found])
    return rows


def _group_rows(simulation: Simulation) -> Rows:
    cells = _cells(simulation)
    margins = [f"A({margin.better})−A({margin.worse})" for margin in simulation.arms[0].margins]
    rows = [
        [
            *("mixture", "reward", "zero variance", "phantom"),
            *margins,
            *(f"mass({cell})" for cell in cells),
        ]
    ]
    for arm in simulation.arms:
        by_cell = {result.cell: result for result in arm.cells}
        rows.append(
            [
                *(arm.mixture, arm.reward),
                *(_share(_best(arm.exact_zero_variance, arm.zero_variance)),),
                *(_share(_best(arm.exact_phantom, arm.phantom)),),
                *(_signed(_best(margin.exact, margin.margin)) for margin in arm.margins),
                *(_mass(by_cell.get(cell)) for cell in cells),
            ]
        )
    return rows


def _signs(simulation: Simulation) -> list[str]:
    if len({arm.mixture for arm in simulation.arms}) < 2:
        return []
    return [
        f"{change.reward}: the mean advantage of cell {change.cell} changes sign "
        f"({', '.join(map(_signed, change.advantages))})."
        for change in sign_changes(simulation)
        if change.changes
    ]


def _cells(simulation: Simulation) -> list[str]:
    found = {result.cell for arm in simulation.arms for result in arm.cells}
    return [*CELLS, *sorted(found - set(CELLS))]


def _with_error(result: CellResult | None) -> str:
    if result is None or result.advantage is None or result.standard_error is None:
        return NOTHING
    return f"{result.advantage:+.4f} ± {result.standard_error:.4f}"


def _mass(result: CellResult | None) -> str:
    return NOTHING if result is None else _share(_best(result.exact_mass, result.mass))


def _best(exact: float | None, found: float | None) -> float | None:
    return found if exact is None else exact


def _signed(number: float | None) -> str:
    return NOTHING if number is None else f"{round(number, 4) + 0.0:+.4f}"  # no minus before a zero


def _number(number: float) -> str:
    return f"{number:.3f}"


def _share(number: float | None) -> str:
    return NOTHING if number is None else f"{100 * number:.2f} %"


def _sweep(sweep: Sweep, quantity: str, render: Render, heading: str) -> str:
    rows = [["β", "γ", "ω", "G", quantity]]
    for point in sweep.points:
        value = point.quantity(quantity)
        numbers = [f"{number:g}" for number in (point.beta, point.gamma, point.omega, point.group_size)]
        rows.append([*numbers, NOTHING if value is None else f"{value:+.4f}"])
    settings = (
        f"eps {sweep.eps:g}, ddof {sweep.ddof}, scale {sweep.scale}; {sweep.n_invalid} combinations left out."
    )
    title = heading.format(f"{QUANTITIES[quantity]}, {sweep.mixture}")
    return "\n\n".join([title, settings, render(rows)]) + "\n"


def _aligned(rows: Rows) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _piped(rows: Rows) -> str:
    header, *body = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join([header, "|" + "---|" * len(rows[0]), *body])
