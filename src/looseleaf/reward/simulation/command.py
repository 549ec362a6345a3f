"""`simulate_command`: everything that `looseleaf simulate` does, from option values to text and files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from looseleaf.errors import ConfigError
from looseleaf.reward.advantages import ADVANTAGE_EPS, Scale
from looseleaf.reward.alden import AldenReward
from looseleaf.reward.cells import AnswerOnlyReward, AWMReward, CellReward, RewardWarning
from looseleaf.reward.record import Reward
from looseleaf.reward.simulation.figure import simulation_svg
from looseleaf.reward.simulation.heatmap import check_quantity, sweep_svg
from looseleaf.reward.simulation.mixture import PAPER_MIXTURES, Mixture, parse_mixture
from looseleaf.reward.simulation.result import Simulation
from looseleaf.reward.simulation.rollouts import mixture_of_run, simulate_run
from looseleaf.reward.simulation.sample import PAPER_GROUP_SIZE, PAPER_GROUPS, TableReward, simulate
from looseleaf.reward.simulation.sweep import Sweep, parse_sweep, sweep
from looseleaf.reward.simulation.tables import (
    as_json,
    simulation_markdown,
    simulation_text,
    sweep_markdown,
    sweep_text,
)
from looseleaf.runstore import Run, write_atomically

__all__ = ["parse_reward", "simulate_command"]

Form = Literal["text", "markdown", "json"]


def simulate_command(
    *,
    run: Path | None = None,
    rewards: Sequence[str] = (),
    mixtures: Sequence[str] = (),
    groups: int = PAPER_GROUPS,
    group_size: int = PAPER_GROUP_SIZE,
    eps: float = ADVANTAGE_EPS,
    ddof: Literal[0, 1] = 0,
    scale: Scale = "group",
    seed: int = 0,
    score_id: str | None = None,
    reading_id: str | None = None,
    threshold: str = ">0",
    sweeps: Sequence[str] | None = None,
    quantity: str = "advantage:10",
    out: Path | None = None,
    form: Form = "text",
) -> str:
    """Simulate and return what to print.

    Args:
        run: a scored RUN folder to take groups from, in place of mixtures.
        rewards: as `parse_reward` reads them; AWM's and the answer-only reward by default.
        mixtures: as `parse_mixture` reads them; the paper's three by default.
        groups: groups sampled for each mixture.
        group_size: members of each.
        eps: as in `group_advantages`.
        ddof: as in `group_advantages`.
        scale: as in `group_advantages`.
        seed: of the sampling.
        score_id: ledger of the run's scores; the only one by default.
        reading_id: reader of the run's memories; the only one by default.
        threshold: name of the binarisation that tells the run's cells apart.
        sweeps: grid as `parse_sweep` reads it, for a sweep in place of a simulation; an empty list takes the
            default grid. It uses the run's cell shares, or the last mixture.
        quantity: what the sweep shows.
        out: folder for the figure and the numbers as SVG, Markdown and JSON.
        form: of the returned text.

    Raises:
        UserError: an option or the run cannot be used.
    """
    if form not in ("text", "markdown", "json"):
        raise ConfigError(f"There is no form {form!r}; use text, markdown or json.")
    stored = None if run is None else Run.open(run)
    chosen = [parse_mixture(text) for text in mixtures] or list(PAPER_MIXTURES)
    options: dict[str, Any] = {"eps": eps, "ddof": ddof, "scale": scale}
    if sweeps is not None:
        check_quantity(quantity)
        mixture = chosen[-1]
        if stored is not None:
            mixture = mixture_of_run(stored, score_id, reading_id, threshold=threshold)
        return _sweep_output(sweep(mixture, parse_sweep(sweeps), **options), quantity, out, form)
    parsed = [parse_reward(text) for text in rewards]
    if stored is not None:
        found = simulate_run(
            stored, parsed, score_id=score_id, reading_id=reading_id, threshold=threshold, **options
        )
    else:
        found = _sampled(parsed, chosen, groups, group_size, seed, options)
    return _simulation_output(found, out, form)


def _sampled(
    rewards: Sequence[Reward],
    mixtures: Sequence[Mixture],
    groups: int,
    group_size: int,
    seed: int,
    options: dict[str, Any],
) -> Simulation:
    tables: list[TableReward] = []
    for reward in rewards:
        if isinstance(reward, AldenReward):
            raise ConfigError("ALDEN's reward looks at pages, which a mixture does not have; give a --run.")
        tables.append(reward)
    return simulate(tables, mixtures, groups=groups, group_size=group_size, seed=seed, **options)


def _simulation_output(found: Simulation, out: Path | None, form: Form) -> str:
    texts: dict[str, Callable[[], str]] = {
        "text": lambda: simulation_text(found),
        "markdown": lambda: simulation_markdown(found),
        "json": lambda: as_json(found),
    }
    if out is not None:
        _write(out, "simulation", texts["json"](), texts["markdown"](), simulation_svg(found))
    return texts[form]()


def _sweep_output(found: Sweep, quantity: str, out: Path | None, form: Form) -> str:
    texts: dict[str, Callable[[], str]] = {
        "text": lambda: sweep_text(found, quantity),
        "markdown": lambda: sweep_markdown(found, quantity),
        "json": lambda: as_json(found),
    }
    if out is not None:
        _write(out, "sweep", texts["json"](), texts["markdown"](), sweep_svg(found, quantity))
    return texts[form]()


def _write(out: Path, name: str, json: str, markdown: str, figure: str) -> None:
    folder = Run.create(out).path
    for suffix, content in (("json", json), ("md", markdown), ("svg", figure)):
        write_atomically(folder / f"{name}.{suffix}", content.encode())


def parse_reward(text: str) -> Reward:
    """Read a reward as one word.

    `awm`, `awm:β,γ,ω` (such as `awm:2,-0.1,-1`), `cells:r11,r10,r01,r00`, `answer-only`, `alden`, `alden:paper`.
    Broken preferences are not warned about here: results carry them as notes.

    Raises:
        ConfigError: there is no such reward, or its values cannot be used.
    """
    name, _, rest = text.strip().partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewardWarning)
        if name == "awm":
            return AWMReward.of_symbols(*_values(text, rest, 3)) if rest else AWMReward()
        if name == "cells":
            r11, r10, r01, r00 = _values(text, rest, 4)
            return CellReward(r11, r10, r01, r00)
        if name == "answer-only" and not rest:
            return AnswerOnlyReward()
        if name == "alden" and rest in ("", "released", "paper"):
            return AldenReward(version="paper" if rest == "paper" else "released")
    raise ConfigError(
        f"There is no reward {text!r}; use awm, awm:2,-0.1,-1, cells:2,0,-0.1,-1, answer-only, alden or alden:paper."
    )


def _values(text: str, numbers: str, wanted: int) -> list[float]:
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if len(values) != wanted:
        raise ConfigError(f"The reward {text!r} needs {wanted} numbers, separated by commas.")
    return values
