"""The lab's report as tables of text, for Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from looseleaf.lab.anytime import Anytime
from looseleaf.lab.controls import Control
from looseleaf.lab.intervention import Intervention
from looseleaf.lab.report import LabReport
from looseleaf.metrics import METRICS, MetricTable, MetricValue
from looseleaf.statistics import Interval

__all__ = ["LabTable", "lab_tables"]

Names = Callable[[str], str]
"""Printed name of a reader's ledger, with its mark."""


class LabTable(NamedTuple):
    """A table: title, column heads, rows of text, a remark below, and whether it goes on the terminal too."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    remark: str = ""
    brief: bool = False


def lab_tables(report: LabReport, name: Names, labels: dict[str, str]) -> list[LabTable]:
    """All tables of a report.

    Args:
        report: what the lab found.
        name: printed name of a reader's ledger.
        labels: printed names of metrics, with their marks.
    """
    found = [
        *_answerability(report, name, labels),
        *_breakdowns(report, labels),
        *_readers(report, name),
        *_controls(report, name, labels),
        *_carriers(report, name),
        *(table for part in report.anytime for table in _anytime(part, name)),
        *(_intervention(report.intervention, name) if report.intervention else ()),
        *_audits(report, name),
        *_twins(report),
    ]
    return [table for table in found if table.rows]


# -- cells --------------------------------------------------------------------------------------------------------


def number(value: MetricValue, of: float | None, percent: bool = True) -> str:
    """A number of a metric: in percent unless the metric or the caller says otherwise."""
    if of is None:
        return "–"
    metric = METRICS.get(value.name)
    return f"{100 * of:.1f}" if (percent if metric is None else metric.percent) else f"{of:.2f}"


def cell(value: MetricValue, percent: bool = True) -> str:
    """Value, interval, and the bounds where rows are unscored."""
    text = number(value, value.value, percent)
    if value.interval is not None:
        low, high = (number(value, end, percent) for end in (value.interval.low, value.interval.high))
        text += f" [{low}–{high}]"
    if value.n_scored < value.n:
        text += f" (bounds {number(value, value.lowest, percent)}…{number(value, value.highest, percent)})"
    return text


def plain(value: MetricValue) -> str:
    """The value alone."""
    return number(value, value.value)


def scored_of(value: MetricValue) -> str:
    """How many rows are behind a value."""
    return str(value.n) if value.n == value.n_scored else f"{value.n_scored} / {value.n}"


def line(value: MetricValue, percent: bool = True) -> tuple[str, str, str]:
    """A row that is one measured value."""
    return value.name, cell(value, percent), scored_of(value)


MEASURED = ("", "value, 95 %", "n")


def _interval(interval: Interval) -> str:
    return f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


# -- answerability ------------------------------------------------------------------------------------------------

HEADLINE = (
    *("Acc[answerable]", "MemAcc[answerable]", "P_mmc[answerable]"),
    *("Gap[answerable]", "GradedLoss[answerable]"),
)
ALL_ROWS = ("Acc", "MemAcc", "P_mmc", "Gap", "GradedLoss")
CELLS = ("Cell11", "Cell10", "Cell01", "Cell00")


def _answerability(report: LabReport, name: Names, labels: dict[str, str]) -> Iterator[LabTable]:
    heads = {reader.reading_id: reader.headline for reader in report.readers}
    for title, names, remark, brief in (
        (
            "Memory-only answerability, answerable rows",
            HEADLINE,
            f"correct if score {report.threshold}",
            True,
        ),
        ("The same, all rows", ALL_ROWS, "An empty memory counts as right on unanswerable rows.", True),
        ("Outcome cells (s_ans, s_mem), % of all rows", CELLS, "", True),
    ):
        rows = [
            (name(key), *(cell(head[m]) for m in names), scored_of(head[names[0]]))
            for key, head in heads.items()
        ]
        # The title says which rows: five heads that repeat it are cut off in a terminal of 110 columns.
        shown = (labels.get(m, m).replace("[answerable]", "") for m in names)
        yield LabTable(title, ("reader", *shown, "n"), rows, remark, brief)
    yield LabTable(
        f"{labels['P_mmc[answerable]']} under other thresholds",
        ("reader", *(f"score {threshold}" for threshold in report.readers[0].by_threshold)),
        [
            (name(r.reading_id), *(cell(table["P_mmc[answerable]"]) for table in r.by_threshold.values()))
            for r in report.readers
        ],
        "The paper's is >0.",
    )


def _breakdowns(report: LabReport, labels: dict[str, str]) -> Iterator[LabTable]:
    for breakdown in report.readers[0].breakdowns:
        names = list(breakdown.tables[0].values) if breakdown.tables else []
        yield LabTable(
            f"By {breakdown.name}, headline reader",
            ("", "n", *(labels.get(m, m) for m in names)),
            [_part(table, names) for table in breakdown.tables],
            "A row may be in several parts; never sum them." if breakdown.overlapping else "",
        )


def _part(table: MetricTable, names: Iterable[str]) -> tuple[str, ...]:
    return table.label, str(table.n_rows), *(plain(table[name]) for name in names)


# -- readers ------------------------------------------------------------------------------------------------------


def _readers(report: LabReport, name: Names) -> Iterator[LabTable]:
    yield LabTable(
        "Do readers agree?",
        ("readers", "agree", "κ", "P_mmc of each", "cells that flip", "10 → 11", "11 → 10", "n"),
        [
            (
                f"{name(a.first)} / {name(a.second)}",
                cell(a.agree),
                "–" if a.kappa is None else f"{a.kappa:.2f}",
                f"{plain(a.p_mmc[0])} / {plain(a.p_mmc[1])}",
                cell(a.flips),
                cell(a.rescued),
                cell(a.lost),
                str(a.n),
            )
            for a in report.agreements
        ],
        "Flips are shares of the correct final answers; 10 → 11 of those that the first reader's memory misses.",
        brief=True,
    )
    yield LabTable(
        "Repeated samples of the own memory, answerable rows",
        ("reader", "K", "mean correctness", "unanimous", "P_mmc mean ± sd", "variance a question"),
        [
            (
                name(s.reading_id),
                str(s.samples),
                cell(s.mean_correct),
                cell(s.unanimous),
                _mean_sd(s.p_mmc.mean, s.p_mmc.sd),
                "–" if s.p_mmc.question_variance is None else f"{s.p_mmc.question_variance:.3f}",
            )
            for s in report.samples
        ],
        brief=True,
    )
    yield LabTable(
        "It already knew: the question alone, answerable rows",
        ("reader", "answers without memory", "of rows the memory answers", "P_mmc of the rest"),
        [
            (name(k.reading_id), cell(k.known), cell(k.supported_known), cell(k.p_mmc_unknown))
            for k in report.knowledge
        ],
        brief=True,
    )


def _mean_sd(mean: float | None, sd: float | None) -> str:
    return "–" if mean is None else f"{100 * mean:.1f}" + ("" if sd is None else f" ± {100 * sd:.1f}")


# -- controls -----------------------------------------------------------------------------------------------------


def _controls(report: LabReport, name: Names, labels: dict[str, str]) -> Iterator[LabTable]:
    metrics = ("MemAcc[answerable]", "P_mmc[answerable]", "MemAcc")
    for part in report.controls:
        meanings = [
            f"{c.variant.partition(':')[0]}: {c.what}{_same_gold(c)}" for c in part.controls if c.what
        ]
        yield LabTable(
            f"Controls, reader {name(part.reading_id)}",
            ("memory", *(labels[m] for m in metrics), "n", "lost", "gained"),
            [
                (
                    control.variant,
                    *(cell(control.table[m]) for m in metrics),
                    scored_of(control.table["MemAcc[answerable]"]),
                    plain(control.lost),
                    plain(control.gained),
                )
                for control in part.controls
            ],
            "Lost, gained: of the answerable rows that the own memory answers, or does not. "
            + "; ".join(meanings),
            brief=True,
        )


def _same_gold(control: Control) -> str:
    return f" ({plain(control.same_gold)} % of the donors have the same gold)" if control.same_gold else ""


def _carriers(report: LabReport, name: Names) -> Iterator[LabTable]:
    for found in report.carriers:
        places = ", ".join(f"{place} {count}" for place, count in sorted(found.places.items()))
        values = (found.one_suffices, found.one_needed, found.redundant, found.drowned, found.gold_page)
        yield LabTable(
            f"Which finding carries the answer, reader {name(found.reading_id)}",
            MEASURED,
            [line(value) for value in values],
            f"Sufficient findings by place: {places}." if places else "",
            brief=True,
        )


def _anytime(found: Anytime, name: Names) -> Iterator[LabTable]:
    first = "–" if found.median_first is None else f"{found.median_first:g}"
    yield LabTable(
        f"Anytime memory, reader {name(found.reading_id)}, answerable rows",
        MEASURED,
        [
            line(found.regret),
            line(found.ever),
            line(found.first_answerable, percent=False),
            ("median first answerable turn", first, ""),
            line(found.lag, percent=False),
            *(line(curve.area) for curve in found.curves),
        ],
        f"From stored runs; calls of the policy: {found.policy_calls}. Regret: some prefix answers, the end does not.",
        brief=True,
    )
    for curve in found.curves:
        yield LabTable(
            f"Memory-only accuracy against {curve.unit}, reader {name(found.reading_id)}",
            (f"at most … {curve.unit}", "%", "n"),
            [(str(point.x), f"{100 * point.value:.1f}", str(point.n)) for point in curve.points],
        )


def _intervention(found: Intervention, name: Names) -> Iterator[LabTable]:
    rows = []
    for memory, rate in found.memory.items():
        final = found.final.get(memory)
        rows.append(
            (
                memory,
                "–" if final is None else f"{final.hits}/{final.n} {cell(final.clustered)}",
                "–" if final is None else _interval(final.independent),
                f"{rate.hits}/{rate.n} {cell(rate.clustered)}",
                _interval(rate.independent),
            )
        )
    answered = found.answerer or "not given anew (--answerer)"
    same = "" if found.same_final is None else f" Own memory: {found.same_final} of {found.n} as stored."
    yield LabTable(
        "Controlled intervention: another terminal memory, all else fixed",
        (
            "memory",
            "final, binary %",
            "Wilson*",
            f"memory only, binary % ({name(found.reading_id)})",
            "Wilson*",
        ),
        rows,
        f"Final answers: {answered}. {found.n} of {found.n_rows} answerable rows are scored under every memory.{same} "
        "* assumes independent questions.",
        brief=True,
    )
    for memory, transitions in found.transitions.items():
        yield LabTable(
            f"Memory-only correct by original cell, own → {memory}",
            ("cell (s_ans, s_mem)", "n", "own", memory),
            [(t.cell, str(t.n), str(t.before), str(t.after)) for t in transitions],
        )


# -- audits -------------------------------------------------------------------------------------------------------


def _audits(report: LabReport, name: Names) -> Iterator[LabTable]:
    findings, echoes, headline = report.findings, report.echoes, name(report.ledgers.reading_ids[0])
    yield LabTable(
        "Findings",
        (*MEASURED, "remark"),
        [
            (*line(findings.shown), _cannot_fail(findings.shown_cannot_fail)),
            (*line(findings.gold), _cannot_fail(findings.gold_cannot_fail)),
            (*line(findings.all_gold), ""),
            (*line(findings.over_length), _cannot_fail(findings.over_length_cannot_fail)),
            (*line(findings.words, percent=False), f"longest {findings.longest}"),
            (*line(findings.generic), "says what a page is about, nothing that answers"),
            (*line(findings.nothing_found), ""),
        ],
        f"{findings.findings} findings in {findings.memories} memories; {findings.empty} memories are empty.",
        brief=True,
    )
    yield LabTable(
        "Does the memory say the answer? Rows by how literally",
        ("answer", *echoes.gold),
        [
            ("gold", *map(str, echoes.gold.values())),
            ("the agent's own", *map(str, echoes.predicted.values())),
        ],
        f"{echoes.unremovable} rows say the gold answer only in other words; answer-removed leaves them.",
        brief=True,
    )
    yield LabTable(
        f"Answer echo, reader {headline}",
        MEASURED,
        [
            line(value)
            for value in (
                echoes.paper_filter,
                echoes.without_gold,
                echoes.without_predicted,
                echoes.wrong_echo,
                echoes.bare,
            )
        ],
        brief=True,
    )
    if report.grounding is not None:
        yield from _grounding(report)


def _cannot_fail(why: str) -> str:
    return f"cannot fail: {why}" if why else ""


def _grounding(report: LabReport) -> Iterator[LabTable]:
    found = report.grounding
    assert found is not None
    verdicts = ", ".join(f"{verdict} {count}" for verdict, count in sorted(found.verdicts.items()))
    unchecked = "; ".join(f"{count}: {reason}" for reason, count in found.unchecked.items())
    yield LabTable(
        f"Claim-level grounding: {found.checker}",
        MEASURED,
        [
            line(value)
            for value in (
                found.grounded,
                found.contradicted,
                found.not_found,
                found.answerable_ungrounded,
                found.grounded_insufficient,
            )
        ],
        f"Findings: {verdicts}. Unchecked: {unchecked or 'none'}. On another page: {found.elsewhere}.",
        brief=True,
    )
    yield LabTable(
        "Claims that do not hold, by kind",
        ("claim, verdict", "n"),
        [(kind, str(count)) for kind, count in sorted(found.claims.items())],
    )


def _twins(report: LabReport) -> Iterator[LabTable]:
    for found in (report.twins, report.twins and report.twins.everything):
        if found is None:
            continue
        score = "–" if found.score is None else f"{found.score:.3f}"
        yield LabTable(
            f"Causal memory score on counterfactual twins, {found.rows} rows",
            MEASURED,
            [
                ("score = CF + stability − 1", score, str(found.n_answered)),
                line(found.cf),
                line(found.stability),
                line(found.stuck),
                line(found.p_mmc),
            ],
            f"{found.n_answered} of {found.pairs} questions are answered from the memory of the unchanged document.",
            brief=True,
        )
