"""The reward laboratory: what a reward's advantages would do, before a GPU hour is spent."""

from looseleaf.reward.simulation.command import parse_reward, simulate_command
from looseleaf.reward.simulation.exact import Expectation, expected
from looseleaf.reward.simulation.figure import simulation_svg
from looseleaf.reward.simulation.heatmap import sweep_svg
from looseleaf.reward.simulation.measure import phantom_groups
from looseleaf.reward.simulation.mixture import PAPER_MIXTURES, Mixture, parse_mixture
from looseleaf.reward.simulation.result import (
    Arm,
    CellResult,
    MarginResult,
    SignChange,
    Simulation,
    sign_changes,
)
from looseleaf.reward.simulation.rollouts import mixture_of_run, simulate_run
from looseleaf.reward.simulation.sample import PAPER_GROUP_SIZE, PAPER_GROUPS, simulate
from looseleaf.reward.simulation.sweep import QUANTITIES, SWEEP_GRID, Sweep, SweepPoint, parse_sweep, sweep
from looseleaf.reward.simulation.tables import (
    as_json,
    simulation_markdown,
    simulation_text,
    sweep_markdown,
    sweep_text,
)

__all__ = [
    "PAPER_GROUPS",
    "PAPER_GROUP_SIZE",
    "PAPER_MIXTURES",
    "QUANTITIES",
    "SWEEP_GRID",
    "Arm",
    "CellResult",
    "Expectation",
    "MarginResult",
    "Mixture",
    "SignChange",
    "Simulation",
    "Sweep",
    "SweepPoint",
    "as_json",
    "expected",
    "mixture_of_run",
    "parse_mixture",
    "parse_reward",
    "parse_sweep",
    "phantom_groups",
    "sign_changes",
    "simulate",
    "simulate_command",
    "simulate_run",
    "simulation_markdown",
    "simulation_svg",
    "simulation_text",
    "sweep",
    "sweep_markdown",
    "sweep_svg",
    "sweep_text",
]
