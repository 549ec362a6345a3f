"""The curve of a training: metrics of several runs over the optimiser step of their policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from looseleaf.report.cells import interval_text, scored_text, value_text
from looseleaf.report.figures.curves import Line, curves_figure
from looseleaf.report.figures.markup import Markup
from looseleaf.report.html_page import section, table
from looseleaf.report.record import Report, TrainingPoint
from looseleaf.runstore import Run

__all__ = ["training_point", "training_section"]

DRAWN = ("Acc", "MemAcc", "P_mmc[answerable]")
"""Metrics by step (AWM, arXiv 2608.25618, Figure 4 draws memory-only accuracy)."""
FEWEST = 2
"""Runs of one training from which a line can be drawn."""


def training_point(run: Run) -> TrainingPoint | None:
    """Where in a training the policy of a run stands; `None` for policies that are not in training."""
    config = run.config
    step = config.get("run", {}).get("step_of_training")
    if step is None:
        return None
    output = str(config.get("train", {}).get("output", ""))
    return TrainingPoint(step=int(step), series=output or run.path.resolve().parent.name)


def training_section(reports: Sequence[Report]) -> Markup | None:
    """Curves and their numbers; `None` where the runs are of no training."""
    points = [_Point(report.training, report) for report in reports if report.training is not None]
    series = {name: _of(points, name) for name in dict.fromkeys(point.at.series for point in points)}
    series = {name: found for name, found in series.items() if len(found) >= FEWEST}
    if not series:
        return None
    names = _short(list(series))
    figures = [_figure(metric, series, names) for metric in DRAWN]
    return section("Training", *figures, _numbers(series, names), name="training")


class _Point(NamedTuple):
    at: TrainingPoint
    report: Report


def _of(points: Sequence[_Point], series: str) -> list[_Point]:
    return sorted((point for point in points if point.at.series == series), key=lambda point: point.at.step)


def _figure(metric: str, series: dict[str, list[_Point]], names: dict[str, str]) -> Markup | None:
    lines = [
        Line(
            f"{metric}, {names[name]}" if len(series) > 1 else metric,
            [
                (float(point.at.step), found.value)
                for point in points
                if (found := point.report.headline.values.get(metric)) is not None and found.value is not None
            ],
        )
        for name, points in series.items()
    ]
    return curves_figure(f"{metric} by step of training", "step of training", lines)


def _numbers(series: dict[str, list[_Point]], names: dict[str, str]) -> Markup | None:
    rows = [
        (
            names[name],
            str(point.at.step),
            *(text for metric in DRAWN for text in _cells(point.report, metric)),
        )
        for name, points in series.items()
        for point in points
    ]
    head = ("training", "step", *(text for metric in DRAWN for text in (metric, "95 % interval", "n")))
    return table(head, rows, words=(0,))


def _cells(report: Report, metric: str) -> tuple[str, str, str]:
    value = report.headline.values.get(metric)
    if value is None:
        return "–", "", ""
    return value_text(value), interval_text(value), scored_text(value)


def _short(series: Sequence[str]) -> dict[str, str]:
    """The last part of each output folder, or the whole where the last parts are alike."""
    last = {name: name.rstrip("/").rpartition("/")[2] for name in series}
    return last if len(set(last.values())) == len(series) else {name: name for name in series}
