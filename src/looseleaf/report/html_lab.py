"""The lab's parts of the HTML report; each is absent where the run has no such readings."""

from __future__ import annotations

from looseleaf.lab.anytime import Anytime
from looseleaf.lab.intervention import Intervention, Rate
from looseleaf.lab.robustness import Agreement
from looseleaf.report.cells import interval_text, scored_text, value_text
from looseleaf.report.figures.curves import Line, curves_figure
from looseleaf.report.figures.markup import Markup, tag
from looseleaf.report.html_extras import Extras
from looseleaf.report.html_page import section, table

__all__ = ["lab_parts"]


def lab_parts(extras: Extras) -> list[Markup | None]:
    """Anytime memory, intervention, agreement of readers."""
    return [
        _anytime(extras.anytime) if extras.anytime else None,
        _intervention(extras.intervention) if extras.intervention else None,
        _agreements(extras.agreements) if extras.agreements else None,
    ]


def _anytime(found: Anytime) -> Markup | None:
    figures: list[Markup | None] = []
    for curve in found.curves:
        points = [(float(point.x), point.value) for point in curve.points]
        figures.append(tag("h3", f"Memory-only score against {curve.unit}"))
        figures.append(
            curves_figure(f"Memory-only score against {curve.unit}", curve.unit, [Line("memory", points)])
        )
    shares = [found.ever, found.regret]
    rows = [(v.name, value_text(v), interval_text(v), scored_text(v)) for v in shares]
    rows += [
        (f"area under the curve, {c.unit}", value_text(c.area), interval_text(c.area), scored_text(c.area))
        for c in found.curves
    ]
    numbers = [
        (v.name, "–" if v.value is None else f"{v.value:.2f}", scored_text(v))
        for v in (found.first_answerable, found.lag)
    ]
    return section(
        "Anytime memory (answerable questions)",
        *figures,
        table(("", "%", "95 % interval", "n"), rows),
        table(("", "mean, turns", "n"), numbers),
        name="anytime",
    )


def _intervention(found: Intervention) -> Markup | None:
    rows = [("memory alone", name, *_rate(rate)) for name, rate in found.memory.items()]
    rows += [(f"final answer ({found.answerer})", name, *_rate(rate)) for name, rate in found.final.items()]
    transitions = [
        (f"own to {name}", line.cell, line.n, line.before, line.after)
        for name, lines in found.transitions.items()
        for line in lines
    ]
    head = ("rate of", "memory", "%", "clustered interval", "plain Wilson interval", "hits / n")
    return section(
        "Intervention: other memories, same reader",
        tag("p", f"{found.n} of {found.n_rows} answerable questions are scored under every memory."),
        table(head, rows, words=(1,)),
        table(
            ("", "original cell", "n", "own memory answers", "other memory answers"), transitions, words=(1,)
        ),
        name="intervention",
    )


def _rate(rate: Rate) -> tuple[str, ...]:
    plain = rate.independent
    return (
        value_text(rate.clustered),
        interval_text(rate.clustered),
        f"{100 * plain.low:.1f} – {100 * plain.high:.1f}",
        f"{rate.hits} / {rate.n}",
    )


def _agreements(found: list[Agreement]) -> Markup | None:
    rows = [
        (
            f"{each.first} / {each.second}",
            value_text(each.agree),
            interval_text(each.agree),
            "–" if each.kappa is None else f"{each.kappa:.2f}",
            *map(value_text, each.p_mmc),
            value_text(each.flips),
            value_text(each.rescued),
            value_text(each.lost),
            each.n,
        )
        for each in found
    ]
    head = ("readers", "agree, %", "95 % interval", "Cohen's κ", "P_mmc, first", "P_mmc, second", "cells that flip, %",
            "10 to 11, %", "11 to 10, %", "n")  # fmt: skip
    return section("Agreement of readers", table(head, rows), name="readers")
